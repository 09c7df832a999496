#include <algorithm>

#include "control/profiles/call_tree.h"
#include "control/profiles/exporters.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

constexpr double kWidth = 1200;
constexpr double kMargin = 10;
constexpr double kHeadHeight = 44;
constexpr double kRowHeight = 18;
constexpr double kCharacterWidth = 7.25;  // of 12 px monospace
constexpr double kFrameWidthMin = 0.3;    // narrower frames are left out, with all below them
constexpr size_t kLabelCharactersMin = 3;

// One of a few warm fills, the same for all functions of a file and in every picture.
std::string_view fillOf(std::string_view file) {
  static constexpr std::string_view kFills[] = {"#f2c14e", "#f0a868", "#e8b08a", "#d9b44a",
                                                "#f3cf7a", "#e6a57e", "#cdb46e", "#f7b267"};
  uint32_t hash = 2166136261;
  for (const char c : file) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return kFills[(hash >> 16) % std::size(kFills)];
}

// The last `count` characters, with a mark in front when some are missing.
std::string shortened(std::string_view name, size_t count) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  const auto characters = static_cast<size_t>(std::ranges::count_if(name, begins));
  if (characters <= count) return std::string(name);
  size_t skip = characters - count + 1;
  size_t at = 0;
  for (; at < name.size(); ++at) {
    if (begins(name[at]) && skip-- == 0) break;
  }
  return "…" + std::string(name.substr(at));
}

class FlameGraph {
 public:
  FlameGraph(std::string* out, const Profile& profile, const ExportContext& context)
      : out_(out),
        profile_(profile),
        context_(context),
        column_(shownColumn(profile)),
        tree_(pruneTree(foldTree(profile, column_, Granularity::Functions), kTreeNodesDefault)) {}

  void append() {
    layOut();
    appendHead();
    for (size_t node = 0; node < tree_.size(); ++node) {
      if (width_[node] >= kFrameWidthMin) appendFrame(node);
    }
    *out_ += "</svg>\n";
  }

 private:
  void layOut();
  void appendHead();
  void appendFrame(size_t node);
  void appendTitle(size_t node, std::string_view name);
  std::string nameOf(size_t node) const;
  void attribute(std::string_view name, double value) {
    *out_ += name;
    appendFixed(out_, value, 1);
    out_->push_back('"');
  }

  std::string* out_;
  const Profile& profile_;
  const ExportContext& context_;
  size_t column_;
  PrunedTree tree_;
  std::vector<double> x_, width_;
  std::vector<uint32_t> depth_;
  uint32_t depth_max_ = 0;
};

// A node's children stand side by side from its left edge, the largest first.
void FlameGraph::layOut() {
  const double total = std::max(1.0, static_cast<double>(tree_.total[0]));
  const double scale = (kWidth - 2 * kMargin) / total;
  std::vector<double> next(tree_.size(), kMargin);
  x_.assign(tree_.size(), kMargin);
  width_.assign(tree_.size(), 0);
  depth_.assign(tree_.size(), 0);
  for (size_t node = 0; node < tree_.size(); ++node) {
    width_[node] = std::max(0.0, static_cast<double>(tree_.total[node])) * scale;
    if (node > 0) {
      const auto parent = static_cast<size_t>(tree_.parent[node]);
      x_[node] = next[parent];
      next[parent] += width_[node];
      depth_[node] = depth_[parent] + 1;
    }
    next[node] = x_[node];
    if (width_[node] >= kFrameWidthMin) depth_max_ = std::max(depth_max_, depth_[node]);
  }
}

void FlameGraph::appendHead() {
  const double height = kHeadHeight + kRowHeight * (depth_max_ + 1) + kMargin;
  *out_ += "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" ";
  attribute("width=\"", kWidth);
  attribute(" height=\"", height);
  *out_ += " viewBox=\"0 0 ";
  appendFixed(out_, kWidth, 1);
  out_->push_back(' ');
  appendFixed(out_, height, 1);
  *out_ +=
      "\">\n<style>text{font:12px ui-monospace,monospace;fill:#1b1b1b}"
      ".page{fill:#fffdf8}.frame{stroke:#fffdf8;stroke-width:.6}.head{font-size:15px}</style>\n"
      "<rect class=\"page\" ";
  attribute("width=\"", kWidth);
  attribute(" height=\"", height);
  *out_ += "/>\n<text class=\"head\" x=\"10\" y=\"19\">";
  appendXmlText(out_, context_.label.empty() ? "flamegate" : context_.label);
  *out_ += "</text>\n<text x=\"10\" y=\"36\">";
  std::string facts = context_.id.empty() ? "" : context_.id + ", ";
  appendValue(&facts, profile_, column_, tree_.total[0]);
  facts += ", ";
  appendNumber(&facts, tree_.samples[0]);
  facts += " samples";
  appendXmlText(out_, facts);
  *out_ += "</text>\n";
}

std::string FlameGraph::nameOf(size_t node) const {
  const int32_t function = tree_.function[node];
  if (function == kRootFunction) return "all";
  if (function == kPrunedFunction) return "[too small to show]";
  const std::string_view name =
      profile_.text(profile_.functions[static_cast<FunctionId>(function)].name);
  return std::string(name.empty() ? "[no name]" : name);
}

void FlameGraph::appendFrame(size_t node) {
  const std::string name = nameOf(node);
  const int32_t function = tree_.function[node];
  const double y = kHeadHeight + kRowHeight * depth_[node];
  *out_ += "<g><title>";
  appendTitle(node, name);
  *out_ += "</title><rect class=\"frame\" ";
  attribute("x=\"", x_[node]);
  attribute(" y=\"", y);
  attribute(" width=\"", width_[node]);
  attribute(" height=\"", kRowHeight);
  *out_ += " fill=\"";
  *out_ += function < 0
               ? "#d8d4cc"
               : fillOf(profile_.text(profile_.functions[static_cast<FunctionId>(function)].file));
  *out_ += "\"/>";
  const auto room = static_cast<size_t>(std::max(0.0, (width_[node] - 6) / kCharacterWidth));
  if (room >= kLabelCharactersMin) {
    *out_ += "<text ";
    attribute("x=\"", x_[node] + 3);
    attribute(" y=\"", y + 13);
    out_->push_back('>');
    appendXmlText(out_, shortened(name, room));
    *out_ += "</text>";
  }
  *out_ += "</g>\n";
}

void FlameGraph::appendTitle(size_t node, std::string_view name) {
  std::string title(name);
  if (tree_.function[node] >= 0) {
    const auto& function = profile_.functions[static_cast<FunctionId>(tree_.function[node])];
    if (function.file != 0) {
      title += " (";
      title += profile_.text(function.file);
      if (tree_.line[node] > 0) title += ":" + std::to_string(tree_.line[node]);
      title += ")";
    }
  }
  title += ", ";
  appendValue(&title, profile_, column_, tree_.total[node]);
  if (tree_.total[0] > 0) {
    title += ", ";
    appendFixed(
        &title,
        100.0 * static_cast<double>(tree_.total[node]) / static_cast<double>(tree_.total[0]), 1);
    title += " %";
  }
  title += ", ";
  appendNumber(&title, tree_.samples[node]);
  title += " samples";
  appendXmlText(out_, title);
}

}  // namespace

void appendSvg(std::string* out, const Profile& profile, const ExportContext& context) {
  FlameGraph(out, profile, context).append();
}

proxy::Result<std::string> exportSvg(const Profile& profile, const ExportContext& context) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  appendSvg(&out, profile, context);
  return out;
}

}  // namespace flamegate::control
