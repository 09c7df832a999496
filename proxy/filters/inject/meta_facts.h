// What the meta elements of a document say that matters to an appended script.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flamegate::proxy {

// Owner: an HtmlScanner, which reports each attribute of each meta element once, first one first.
class MetaFacts {
 public:
  static constexpr size_t kValueMax = 8192;
  static constexpr size_t kPoliciesMax = 16;

  void beginElement();
  // `complete`: the value is whole; false when it was longer than kValueMax.
  void attribute(std::string_view name, std::string_view value, bool complete);
  void endElement();

  // The contents of `http-equiv=Content-Security-Policy` elements, character references decoded.
  const std::vector<std::string>& policies() const { return policies_; }
  // There was one that was too long, one too many, or not decodable.
  bool hasUnreadablePolicy() const { return unreadable_policy_; }
  // An encoding was declared in which ASCII bytes do not always mean ASCII.
  bool hasUnsafeCharset() const { return unsafe_charset_; }

 private:
  struct Attribute {
    std::string value;
    bool present = false;
    bool complete = true;
    void set(std::string_view text, bool whole);
  };

  void notePolicy();

  Attribute http_equiv_;
  Attribute content_;
  Attribute charset_;
  std::vector<std::string> policies_;
  bool unreadable_policy_ = false;
  bool unsafe_charset_ = false;
};

}  // namespace flamegate::proxy
