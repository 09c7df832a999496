#include "proxy/base/strings.h"
#include "proxy/filters/inject/html_chars.h"
#include "proxy/filters/inject/html_scanner.h"

// Elements that hold text (HTML Standard §13.2.5.2 to .31).
namespace flamegate::proxy {

void HtmlScanner::consumeRawText(char c) {
  switch (state_) {
    case State::RawText:
      if (c != '<') return;
      text_state_ = State::RawText;
      state_ = State::TextLess;
      return;
    case State::TextLess:
      if (c != '/') return reconsume(text_state_, c);
      state_ = State::TextEndOpen;
      return;
    case State::TextEndOpen:
      if (!isAsciiLetter(c)) return reconsume(text_state_, c);
      candidate_.clear();
      return reconsume(State::TextEndName, c);
    default:  // TextEndName
      if (isAsciiLetter(c)) return candidate_.append(toLowerAscii(c));
      if (!endsTagName(c) || candidate_.view() != text_name_.view())
        return reconsume(text_state_, c);
      return endText(c);
  }
}

// The end tag of the element that holds the text; `c` follows its name.
void HtmlScanner::endText(char c) {
  end_tag_ = true;
  self_closing_ = false;
  keep_values_ = false;
  in_attribute_ = false;
  tag_ = text_name_;
  reconsume(State::AfterAttributeName, c);
}

void HtmlScanner::consumeScript(char c) {
  switch (state_) {
    case State::Script:
      if (c == '<') state_ = State::ScriptLess;
      return;
    case State::ScriptLess:
      text_state_ = State::Script;
      if (c != '!') return reconsume(State::TextLess, c);
      state_ = State::ScriptEscapeStart;
      return;
    case State::ScriptEscapeStart:
      if (c != '-') return reconsume(State::Script, c);
      state_ = State::ScriptEscapeStartDash;
      return;
    default:  // ScriptEscapeStartDash
      if (c != '-') return reconsume(State::Script, c);
      run_ = 2;
      state_ = State::ScriptEscaped;
  }
}

// After `<!--` within a script; a further `<script` there hides one `</script>`.
void HtmlScanner::consumeScriptEscape(char c) {
  switch (state_) {
    case State::ScriptEscaped:
      if (c == '<') {
        run_ = 0;
        state_ = State::ScriptEscapedLess;
      } else {
        consumeScriptDash(c);
      }
      return;
    case State::ScriptEscapedLess:
      text_state_ = State::ScriptEscaped;
      if (!isAsciiLetter(c)) return reconsume(State::TextLess, c);
      candidate_.clear();
      return reconsume(State::ScriptDoubleStart, c);
    default:  // ScriptDoubleStart
      if (isAsciiLetter(c)) return candidate_.append(toLowerAscii(c));
      if (!endsTagName(c)) return reconsume(State::ScriptEscaped, c);
      state_ = candidate_.view() == "script" ? State::ScriptDouble : State::ScriptEscaped;
  }
}

void HtmlScanner::consumeScriptDouble(char c) {
  switch (state_) {
    case State::ScriptDouble:
      if (c == '<') {
        run_ = 0;
        state_ = State::ScriptDoubleLess;
      } else {
        consumeScriptDash(c);
      }
      return;
    case State::ScriptDoubleLess:
      if (c != '/') return reconsume(State::ScriptDouble, c);
      candidate_.clear();
      state_ = State::ScriptDoubleEnd;
      return;
    default:  // ScriptDoubleEnd
      if (isAsciiLetter(c)) return candidate_.append(toLowerAscii(c));
      if (!endsTagName(c)) return reconsume(State::ScriptDouble, c);
      state_ = candidate_.view() == "script" ? State::ScriptEscaped : State::ScriptDouble;
  }
}

// `-->` ends both kinds of escape.
void HtmlScanner::consumeScriptDash(char c) {
  if (c == '-') {
    run_ = run_ < 2 ? static_cast<uint8_t>(run_ + 1) : run_;
  } else if (c == '>' && run_ == 2) {
    state_ = State::Script;
  } else {
    run_ = 0;
  }
}

}  // namespace flamegate::proxy
