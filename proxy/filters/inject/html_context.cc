#include "proxy/filters/inject/html_context.h"

#include <algorithm>

namespace flamegate::proxy {
namespace {

// Start tags that leave foreign content (HTML Standard §13.2.6.5). Sorted.
constexpr std::string_view kBreakout[] = {
    "b",      "big",  "blockquote", "body",  "br",   "center", "code",    "dd",   "div",
    "dl",     "dt",   "em",         "embed", "h1",   "h2",     "h3",      "h4",   "h5",
    "h6",     "head", "hr",         "i",     "img",  "li",     "listing", "menu", "meta",
    "nobr",   "ol",   "p",          "pre",   "ruby", "s",      "small",   "span", "strike",
    "strong", "sub",  "sup",        "table", "tt",   "u",      "ul",      "var"};

// Elements without an end tag (HTML Standard §13.1.2). Sorted.
constexpr std::string_view kVoid[] = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                      "input", "link", "meta", "param", "source", "track", "wbr"};

// SVG names that no HTML element has: a stray end tag with one of them changes nothing. Sorted.
constexpr std::string_view kSvgOnly[] = {"animate",
                                         "animatemotion",
                                         "animatetransform",
                                         "circle",
                                         "clippath",
                                         "defs",
                                         "ellipse",
                                         "filter",
                                         "g",
                                         "line",
                                         "lineargradient",
                                         "marker",
                                         "mask",
                                         "metadata",
                                         "path",
                                         "pattern",
                                         "polygon",
                                         "polyline",
                                         "radialgradient",
                                         "rect",
                                         "stop",
                                         "symbol",
                                         "text",
                                         "textpath",
                                         "tspan",
                                         "use",
                                         "view"};

// Elements whose content is text up to their own end tag. Sorted.
constexpr std::string_view kRawText[] = {"iframe", "noembed",  "noframes", "noscript",
                                         "style",  "textarea", "title",    "xmp"};

template <size_t N>
bool contains(const std::string_view (&sorted)[N], std::string_view name) {
  return std::binary_search(std::begin(sorted), std::end(sorted), name);
}

bool isIntegrationPoint(std::string_view name) {
  return name == "foreignobject" || name == "desc" || name == "title";
}

// FNV-1a.
constexpr uint32_t hashName(std::string_view name) {
  uint32_t hash = 2166136261U;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

TextMode htmlTextMode(std::string_view name) {
  if (name == "script") return TextMode::Script;
  if (name == "plaintext") return TextMode::Plaintext;
  return contains(kRawText, name) ? TextMode::RawText : TextMode::Markup;
}

}  // namespace

TextMode HtmlContext::startTag(std::string_view name, bool self_closing, bool styled_font) {
  if (inSvg()) return startSvg(name, self_closing, styled_font);
  if (inMath()) return startMath(name, self_closing);
  return startHtml(name, self_closing);
}

TextMode HtmlContext::startHtml(std::string_view name, bool self_closing) {
  if (name == "svg" || name == "math") {
    if (!self_closing) push(name == "svg" ? Kind::Svg : Kind::Math, name);
    return TextMode::Markup;
  }
  if (name == "template") {
    push(Kind::Template, name);
    return TextMode::Markup;
  }
  if (name == "frameset") frameset_ = true;
  const TextMode mode = htmlTextMode(name);
  noteSelect(name, mode);
  if (inIntegration() && !contains(kVoid, name)) push(Kind::Html, name);
  return mode;
}

TextMode HtmlContext::startSvg(std::string_view name, bool self_closing, bool styled_font) {
  if (contains(kBreakout, name) || styled_font) {
    popForeign();
    return startHtml(name, self_closing);
  }
  if (name == "template") ambiguous_ = true;
  if (self_closing) return TextMode::Markup;
  const bool integration = isIntegrationPoint(name);
  push(name == "svg" ? Kind::Svg : integration ? Kind::Integration : Kind::SvgChild, name);
  return TextMode::Markup;
}

// MathML's text elements take HTML children under rules that need the whole tree.
TextMode HtmlContext::startMath(std::string_view name, bool self_closing) {
  if (contains(kBreakout, name) || htmlTextMode(name) != TextMode::Markup || name == "svg" ||
      name == "template" || name == "font") {
    ambiguous_ = true;
  }
  if (!self_closing) push(name == "math" ? Kind::Math : Kind::MathChild, name);
  return TextMode::Markup;
}

// Browsers differ on what a select element may contain: older ones drop the tag and so read as
// markup what newer ones read as text.
void HtmlContext::noteSelect(std::string_view name, TextMode mode) {
  if (name == "select") {
    in_select_ = !in_select_;
  } else if (name == "input" || name == "textarea") {
    in_select_ = false;
  } else if (in_select_ && mode != TextMode::Markup && mode != TextMode::Script) {
    ambiguous_ = true;
  }
}

void HtmlContext::endTag(std::string_view name) {
  if (name == "select") in_select_ = false;
  if (depth_ == 0) return;
  if (topIs(Kind::Template)) {
    if (name == "template") --depth_;
  } else if (inSvg()) {
    endForeign(name, Kind::Svg, Kind::SvgChild);
  } else if (inMath()) {
    endForeign(name, Kind::Math, Kind::MathChild);
  } else {
    endIntegration(name);
  }
}

// Ends the nearest open element of this name within the foreign content on top.
void HtmlContext::endForeign(std::string_view name, Kind root, Kind child) {
  const uint32_t hash = hashName(name);
  for (size_t at = depth_; at > 0; --at) {
    const Level& level = levels_[at - 1];
    if (level.kind != root && level.kind != child) break;
    if (level.name == hash) {
      depth_ = at - 1;
      return;
    }
  }
  if (!contains(kSvgOnly, name)) ambiguous_ = true;
}

// Only well-nested content is followed: what else closes an HTML element depends on the tree.
void HtmlContext::endIntegration(std::string_view name) {
  if (levels_[depth_ - 1].name == hashName(name)) {
    --depth_;
  } else if (!contains(kVoid, name)) {
    ambiguous_ = true;
  }
}

bool HtmlContext::cdataAllowed() const {
  return depth_ > 0 && !topIs(Kind::Template) && !topIs(Kind::Html);
}

bool HtmlContext::inTemplate() const {
  return std::any_of(levels_.begin(), levels_.begin() + static_cast<std::ptrdiff_t>(depth_),
                     [](const Level& level) { return level.kind == Kind::Template; });
}

void HtmlContext::push(Kind kind, std::string_view name) {
  if (depth_ == levels_.size()) {
    ambiguous_ = true;
    return;
  }
  levels_[depth_++] = {hashName(name), kind};
}

// Up to the integration point or HTML element that holds the foreign content.
void HtmlContext::popForeign() {
  while (inSvg() || inMath()) --depth_;
}

}  // namespace flamegate::proxy
