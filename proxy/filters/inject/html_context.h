// Where in the tree of an HTML document the end of the bytes seen so far lies, as far as that
// decides whether a script element appended there would run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace flamegate::proxy {

// How the tokenizer reads what follows a start tag (HTML Standard §13.2.5).
enum class TextMode : uint8_t { Markup, RawText, Script, Plaintext };

// Follows the start and end tags of a document. It keeps only those elements that change how
// bytes are read or whether scripts run: templates, SVG and MathML with what is inside them.
// Markup on whose reading browsers differ, or that would need the whole tree, makes it ambiguous
// for good: then nobody may conclude anything.
// Tag names are lower case. Owner: an HtmlScanner.
class HtmlContext {
 public:
  TextMode startTag(std::string_view name, bool self_closing, bool styled_font);
  void endTag(std::string_view name);

  // Whether `<![CDATA[` begins a CDATA section here, not a comment.
  bool cdataAllowed() const;

  // Neither template nor foreign content is open.
  bool plain() const { return depth_ == 0; }
  bool inTemplate() const;
  bool ambiguous() const { return ambiguous_; }
  // A frameset was seen: such documents have no body.
  bool frameset() const { return frameset_; }

 private:
  static constexpr size_t kDepthMax = 256;

  enum class Kind : uint8_t {
    Template,
    Svg,          // an svg element
    SvgChild,     // any other element of the SVG namespace
    Integration,  // an SVG element whose content is HTML again
    Html,         // an HTML element inside an integration point
    Math,
    MathChild,
  };
  struct Level {
    uint32_t name;  // hash
    Kind kind;
  };

  bool topIs(Kind kind) const { return depth_ > 0 && levels_[depth_ - 1].kind == kind; }
  bool inSvg() const { return topIs(Kind::Svg) || topIs(Kind::SvgChild); }
  bool inMath() const { return topIs(Kind::Math) || topIs(Kind::MathChild); }
  bool inIntegration() const { return topIs(Kind::Integration) || topIs(Kind::Html); }

  void push(Kind kind, std::string_view name);
  void popForeign();
  TextMode startHtml(std::string_view name, bool self_closing);
  TextMode startSvg(std::string_view name, bool self_closing, bool styled_font);
  TextMode startMath(std::string_view name, bool self_closing);
  void noteSelect(std::string_view name, TextMode mode);
  void endForeign(std::string_view name, Kind root, Kind child);
  void endIntegration(std::string_view name);

  std::array<Level, kDepthMax> levels_;  // only the first depth_ are ever read
  size_t depth_ = 0;
  bool ambiguous_ = false;
  bool frameset_ = false;
  bool in_select_ = false;
};

}  // namespace flamegate::proxy
