// A streaming tokenizer for HTML that answers one question: would a script element appended after
// the last byte run, and does the document look like one that should get it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/filters/inject/html_context.h"
#include "proxy/filters/inject/meta_facts.h"

namespace flamegate::proxy {

// Whether the first token shows a document: doctype, comment, html, head or body (after an
// optional byte-order mark and white space). JSON, XML and fragments are Other.
enum class DocumentStart : uint8_t { Unknown, Document, Other };

// What the bytes seen so far end in.
enum class EndContext : uint8_t {
  Plain,    // between tags, nothing open that would swallow a script
  Tag,      // inside a tag or declaration
  Comment,  // comment, bogus comment or CDATA section
  Text,     // script, style, title, textarea and other elements that hold text
  Template,
  Foreign,  // SVG or MathML
  Frameset,
  Ambiguous,  // browsers may read the markup before differently
};

// Feed it the decoded bytes of a body in order, in pieces of any size; equal bytes give equal
// answers however they were cut. Works on bytes, so it is right for every encoding whose markup
// characters are ASCII. Memory: one tag's names, and of meta elements the values, each bounded.
class HtmlScanner {
 public:
  void scan(std::string_view bytes);

  DocumentStart start() const { return start_; }
  EndContext endContext() const;

  // A byte-order mark of UTF-16, or a meta element that names an unsafe encoding.
  bool hasUnsafeCharset() const { return utf16_ || meta_.hasUnsafeCharset(); }
  // The html element carries an attribute that declares an AMP document.
  bool isAmp() const { return amp_; }
  // A base element with a href was seen: relative addresses mean something else.
  bool hasBase() const { return base_; }
  const MetaFacts& meta() const { return meta_; }

 private:
  // In groups; endContext() relies on their order.
  enum class State : uint8_t {
    Data,
    // tags
    TagOpen,
    EndTagOpen,
    TagName,
    SelfClosing,
    BeforeAttribute,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    ValueDouble,
    ValueSingle,
    ValueUnquoted,
    AfterValue,
    MarkupDeclaration,
    Doctype,
    // comments
    Bogus,
    CommentStart,
    CommentStartDash,
    Comment,
    CommentBang,
    Cdata,
    // within elements that hold text
    Plaintext,
    RawText,
    TextLess,
    TextEndOpen,
    TextEndName,
    Script,
    ScriptLess,
    ScriptEscapeStart,
    ScriptEscapeStartDash,
    ScriptEscaped,
    ScriptEscapedLess,
    ScriptDoubleStart,
    ScriptDouble,
    ScriptDoubleLess,
    ScriptDoubleEnd,
  };

  // A name of bounded length; a longer one equals nothing that is asked for.
  class ShortName {
   public:
    void clear() { size_ = 0; }
    void append(char c) {
      if (size_ < sizeof bytes_) bytes_[size_] = c;
      if (size_ <= sizeof bytes_) ++size_;
    }
    std::string_view view() const {
      return size_ <= sizeof bytes_ ? std::string_view(bytes_, size_) : std::string_view();
    }
    bool empty() const { return size_ == 0; }

   private:
    char bytes_[32];
    uint8_t size_ = 0;
  };

  size_t skipRun(std::string_view bytes) const;
  bool skipByteOrderMark(char c);
  void consume(char c);
  void consumeData(char c);
  void consumeTagStart(char c);
  void consumeAttributeName(char c);
  void consumeAttributeValue(char c);
  void consumeDeclaration(char c);
  void consumeComment(char c);
  void consumeRawText(char c);
  void consumeScript(char c);
  void consumeScriptEscape(char c);
  void consumeScriptDouble(char c);
  void consumeScriptDash(char c);
  void endText(char c);

  void reconsume(State state, char c);
  void noteStart(DocumentStart start);
  void beginTag(char c, bool end_tag);
  void beginAttribute(char c);
  void appendValue(char c);
  void endAttribute();
  void emitTag();
  void emitStartTag();

  State state_ = State::Data;
  DocumentStart start_ = DocumentStart::Unknown;
  uint8_t mark_bytes_ = 0;  // of a byte-order mark, at the very beginning
  bool mark_possible_ = true;

  // The tag being read.
  bool end_tag_ = false;
  bool self_closing_ = false;
  bool styled_font_ = false;  // an attribute with which font leaves foreign content
  bool keep_values_ = false;
  ShortName tag_;
  bool in_attribute_ = false;
  ShortName attribute_;
  std::string value_;
  bool value_complete_ = true;

  ShortName declaration_;  // what followed `<!`
  uint8_t run_ = 0;        // dashes, or in a CDATA section brackets, just before; at most 2
  ShortName text_name_;    // the element whose end tag ends the text
  ShortName candidate_;    // the name after `<` or `</` within text
  State text_state_ = State::RawText;  // where to go on when the candidate was none

  HtmlContext context_;
  MetaFacts meta_;
  bool utf16_ = false;
  bool amp_ = false;
  bool base_ = false;
};

}  // namespace flamegate::proxy
