#include <algorithm>

#include "control/profiles/call_tree.h"
#include "control/profiles/collapsed_text.h"
#include "control/profiles/exporters.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

proxy::Result<std::string> exportCollapsed(const Profile& profile, const ExportContext&) {
  const FoldedTree tree = foldTree(profile, shownColumn(profile), Granularity::Functions);
  const ChildLists children = childLists(tree.parent);
  std::string out;
  std::string stack;
  std::vector<size_t> lengths;  // of the stack before each frame on the path
  const auto enter = [&](uint32_t node) {
    lengths.push_back(stack.size());
    if (node != 0) {
      if (lengths.size() > 2) stack.push_back(';');
      appendCollapsedName(&stack, profile.text(profile.functions[tree.function[node]].name));
    }
    // A leaf is written whatever its value: a stack without weight is still one that was seen.
    const bool leaf = children.first[node] == kNoIndex && (node != 0 || profile.samples.size() > 0);
    if ((tree.self[node] <= 0 && !leaf) || isOverExportLimit(out)) return;
    out += stack;
    out.push_back(' ');
    appendNumber(&out, std::max<int64_t>(tree.self[node], 0));
    out.push_back('\n');
  };
  const auto leave = [&](uint32_t) {
    stack.resize(lengths.back());
    lengths.pop_back();
  };
  walkTree(children, enter, leave);
  // At a file's very beginning U+FEFF would be taken for a byte-order mark; a name keeps it this
  // way.
  if (out.starts_with(kByteOrderMark)) out.insert(out.begin(), '\n');
  if (isOverExportLimit(out)) return exportTooLarge("collapsed");
  return out;
}

}  // namespace flamegate::control
