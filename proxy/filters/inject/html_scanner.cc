#include "proxy/filters/inject/html_scanner.h"

#include <algorithm>

#include "proxy/base/strings.h"
#include "proxy/filters/inject/html_chars.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

// `amp` or the lightning sign (U+26A1, with or without a variation selector), alone or with the
// name of a flavour.
bool declaresAmp(std::string_view attribute) {
  constexpr std::string_view kSign = "\xE2\x9A\xA1";
  constexpr std::string_view kSelector = "\xEF\xB8\x8F";
  if (attribute.starts_with("amp")) {
    attribute.remove_prefix(3);
  } else if (attribute.starts_with(kSign)) {
    attribute.remove_prefix(kSign.size());
    if (attribute.starts_with(kSelector)) attribute.remove_prefix(kSelector.size());
  } else {
    return false;
  }
  return attribute.empty() || attribute == "4ads" || attribute == "4email";
}

}  // namespace

void HtmlScanner::scan(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t run = skipRun(bytes);
    bytes.remove_prefix(run);
    if (bytes.empty()) break;
    consume(bytes.front());
    bytes.remove_prefix(1);
  }
}

// How many bytes from here on change nothing.
size_t HtmlScanner::skipRun(std::string_view bytes) const {
  char stop = 0;
  switch (state_) {
    case State::Data:
      if (start_ == DocumentStart::Unknown) return 0;
      stop = '<';
      break;
    case State::RawText:
    case State::Script:
      stop = '<';
      break;
    case State::Comment:
      if (run_ > 0) return 0;
      stop = '-';
      break;
    case State::Doctype:
    case State::Bogus:
      stop = '>';
      break;
    case State::ValueDouble:
    case State::ValueSingle:
      if (keep_values_) return 0;
      stop = state_ == State::ValueDouble ? '"' : '\'';
      break;
    case State::Plaintext:
      return bytes.size();
    default:
      return 0;
  }
  return std::min(bytes.find(stop), bytes.size());
}

void HtmlScanner::reconsume(State state, char c) {
  state_ = state;
  consume(c);
}

void HtmlScanner::consume(char c) {
  switch (state_) {
    case State::Data:
      return consumeData(c);
    case State::TagOpen:
    case State::EndTagOpen:
    case State::TagName:
    case State::SelfClosing:
      return consumeTagStart(c);
    case State::BeforeAttribute:
    case State::AttributeName:
    case State::AfterAttributeName:
      return consumeAttributeName(c);
    case State::BeforeValue:
    case State::ValueDouble:
    case State::ValueSingle:
    case State::ValueUnquoted:
    case State::AfterValue:
      return consumeAttributeValue(c);
    case State::MarkupDeclaration:
    case State::Doctype:
    case State::Bogus:
    case State::Cdata:
      return consumeDeclaration(c);
    case State::CommentStart:
    case State::CommentStartDash:
    case State::Comment:
    case State::CommentBang:
      return consumeComment(c);
    case State::Plaintext:
      return;
    case State::RawText:
    case State::TextLess:
    case State::TextEndOpen:
    case State::TextEndName:
      return consumeRawText(c);
    case State::Script:
    case State::ScriptLess:
    case State::ScriptEscapeStart:
    case State::ScriptEscapeStartDash:
      return consumeScript(c);
    case State::ScriptEscaped:
    case State::ScriptEscapedLess:
    case State::ScriptDoubleStart:
      return consumeScriptEscape(c);
    case State::ScriptDouble:
    case State::ScriptDoubleLess:
    case State::ScriptDoubleEnd:
      return consumeScriptDouble(c);
  }
}

// The document's beginning -------------------------------------------------------------------

void HtmlScanner::noteStart(DocumentStart start) {
  if (start_ == DocumentStart::Unknown) start_ = start;
}

// Whether the byte belongs to a byte-order mark. A UTF-16 mark is found by its first byte: no
// ASCII-compatible document can begin with it.
bool HtmlScanner::skipByteOrderMark(char c) {
  if (mark_bytes_ == 0 && (c == '\xFE' || c == '\xFF')) utf16_ = true;
  if (c != kUtf8Mark[mark_bytes_]) {
    mark_possible_ = false;
    if (mark_bytes_ > 0) noteStart(DocumentStart::Other);
    return false;
  }
  if (++mark_bytes_ == kUtf8Mark.size()) mark_possible_ = false;
  return true;
}

void HtmlScanner::consumeData(char c) {
  if (mark_possible_ && skipByteOrderMark(c)) return;
  if (c == '<') {
    state_ = State::TagOpen;
  } else if (!isHtmlSpace(c)) {
    noteStart(DocumentStart::Other);
  }
}

// Tags (HTML Standard §13.2.5.6 to .8 and .32 to .40) --------------------------------------------

void HtmlScanner::beginTag(char c, bool end_tag) {
  end_tag_ = end_tag;
  self_closing_ = false;
  styled_font_ = false;
  keep_values_ = false;
  in_attribute_ = false;
  tag_.clear();
  reconsume(State::TagName, c);
}

void HtmlScanner::consumeTagStart(char c) {
  switch (state_) {
    case State::TagOpen:
      if (isAsciiLetter(c)) return beginTag(c, false);
      if (c == '/') {
        state_ = State::EndTagOpen;
      } else if (c == '!') {
        declaration_.clear();
        state_ = State::MarkupDeclaration;
      } else {
        noteStart(DocumentStart::Other);
        reconsume(c == '?' ? State::Bogus : State::Data, c);
      }
      return;
    case State::EndTagOpen:
      noteStart(DocumentStart::Other);
      if (isAsciiLetter(c)) return beginTag(c, true);
      return reconsume(State::Bogus, c);
    case State::TagName:
      if (!endsTagName(c)) return tag_.append(toLowerAscii(c));
      keep_values_ = !end_tag_ && tag_.view() == "meta" && context_.plain();
      if (keep_values_) meta_.beginElement();
      return reconsume(State::AfterAttributeName, c);
    default:  // SelfClosing
      if (c != '>') return reconsume(State::BeforeAttribute, c);
      self_closing_ = true;
      return emitTag();
  }
}

void HtmlScanner::beginAttribute(char c) {
  endAttribute();
  in_attribute_ = true;
  attribute_.clear();
  value_.clear();
  value_complete_ = true;
  attribute_.append(toLowerAscii(c));
  state_ = State::AttributeName;
}

void HtmlScanner::consumeAttributeName(char c) {
  if (state_ == State::AttributeName) {
    if (c == '=') {
      state_ = State::BeforeValue;
    } else if (endsTagName(c)) {
      reconsume(State::AfterAttributeName, c);
    } else {
      attribute_.append(toLowerAscii(c));
    }
    return;
  }
  if (isHtmlSpace(c)) return;
  if (c == '>') return emitTag();
  if (c == '/') {
    state_ = State::SelfClosing;
  } else if (c == '=' && state_ == State::AfterAttributeName && in_attribute_) {
    state_ = State::BeforeValue;
  } else {
    beginAttribute(c);
  }
}

void HtmlScanner::consumeAttributeValue(char c) {
  switch (state_) {
    case State::BeforeValue:
      if (isHtmlSpace(c)) return;
      if (c == '>') return emitTag();
      if (c == '"') {
        state_ = State::ValueDouble;
      } else if (c == '\'') {
        state_ = State::ValueSingle;
      } else {
        reconsume(State::ValueUnquoted, c);
      }
      return;
    case State::ValueDouble:
    case State::ValueSingle:
      if (c != (state_ == State::ValueDouble ? '"' : '\'')) return appendValue(c);
      state_ = State::AfterValue;
      return;
    case State::ValueUnquoted:
      if (isHtmlSpace(c)) {
        state_ = State::BeforeAttribute;
      } else if (c == '>') {
        emitTag();
      } else {
        appendValue(c);
      }
      return;
    default:  // AfterValue: `/`, `>`, white space, or at once the next attribute
      return reconsume(State::BeforeAttribute, c);
  }
}

void HtmlScanner::appendValue(char c) {
  if (!keep_values_) return;
  if (value_.size() < MetaFacts::kValueMax) {
    value_ += c;
  } else {
    value_complete_ = false;
  }
}

void HtmlScanner::endAttribute() {
  if (!in_attribute_) return;
  in_attribute_ = false;
  if (end_tag_) return;
  const std::string_view name = attribute_.view();
  if (keep_values_) {
    meta_.attribute(name, value_, value_complete_);
  } else if (tag_.view() == "html") {
    amp_ = amp_ || declaresAmp(name);
  } else if (tag_.view() == "base") {
    base_ = base_ || name == "href";
  } else if (tag_.view() == "font") {
    styled_font_ = styled_font_ || name == "color" || name == "face" || name == "size";
  }
}

void HtmlScanner::emitTag() {
  endAttribute();
  state_ = State::Data;
  if (end_tag_) {
    context_.endTag(tag_.view());
  } else {
    emitStartTag();
  }
}

void HtmlScanner::emitStartTag() {
  const std::string_view name = tag_.view();
  noteStart(name == "html" || name == "head" || name == "body" ? DocumentStart::Document
                                                               : DocumentStart::Other);
  if (keep_values_) meta_.endElement();
  switch (context_.startTag(name, self_closing_, styled_font_)) {
    case TextMode::Markup:
      return;
    case TextMode::Plaintext:
      state_ = State::Plaintext;
      return;
    case TextMode::RawText:
      state_ = State::RawText;
      break;
    case TextMode::Script:
      state_ = State::Script;
      break;
  }
  text_name_ = tag_;
}

// Declarations and comments (§13.2.5.41 to .53 and .69) -------------------------------------------

void HtmlScanner::consumeDeclaration(char c) {
  if (state_ == State::Cdata) {
    if (c == '>' && run_ == 2) {
      state_ = State::Data;
    } else {
      run_ = c == ']' ? std::min<uint8_t>(static_cast<uint8_t>(run_ + 1), 2) : 0;
    }
    return;
  }
  if (state_ != State::MarkupDeclaration) {
    if (c == '>') state_ = State::Data;
    return;
  }
  constexpr std::string_view kComment = "--";
  constexpr std::string_view kDoctype = "doctype";
  constexpr std::string_view kCdata = "[CDATA[";
  declaration_.append(c);
  const std::string_view text = declaration_.view();
  if (text == kComment || equalIgnoreCase(text, kDoctype)) {
    noteStart(DocumentStart::Document);
    state_ = text == kComment ? State::CommentStart : State::Doctype;
  } else if (text == kCdata && context_.cdataAllowed()) {
    run_ = 0;
    state_ = State::Cdata;
  } else if (text == kCdata || !(kComment.starts_with(text) || kCdata.starts_with(text) ||
                                 startsWithIgnoreCase(kDoctype, text))) {
    noteStart(DocumentStart::Other);
    reconsume(State::Bogus, c);
  }
}

void HtmlScanner::consumeComment(char c) {
  switch (state_) {
    case State::CommentStart:
    case State::CommentStartDash:
      run_ = 0;
      if (c == '>') {
        state_ = State::Data;
      } else if (c == '-' && state_ == State::CommentStart) {
        state_ = State::CommentStartDash;
      } else {
        run_ = c == '-' ? 2 : 0;
        state_ = State::Comment;
      }
      return;
    case State::Comment:
      if (c == '-') {
        run_ = run_ < 2 ? static_cast<uint8_t>(run_ + 1) : run_;
      } else if (run_ == 2 && (c == '>' || c == '!')) {
        state_ = c == '>' ? State::Data : State::CommentBang;
      } else {
        run_ = 0;
      }
      return;
    default:  // CommentBang: `--!` was seen
      if (c == '>') {
        state_ = State::Data;
      } else {
        run_ = 0;
        reconsume(State::Comment, c);
      }
  }
}

// The answer --------------------------------------------------------------------------------------

EndContext HtmlScanner::endContext() const {
  if (context_.ambiguous()) return EndContext::Ambiguous;
  if (context_.frameset()) return EndContext::Frameset;
  if (state_ >= State::Plaintext) return EndContext::Text;
  if (state_ >= State::Bogus) return EndContext::Comment;
  if (state_ != State::Data) return EndContext::Tag;
  if (context_.plain()) return EndContext::Plain;
  return context_.inTemplate() ? EndContext::Template : EndContext::Foreign;
}

}  // namespace flamegate::proxy
