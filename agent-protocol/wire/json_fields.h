// Strict reading of small JSON objects and writing of clean strings. Included by the few .cc files
// of this folder that speak JSON, never by a header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace flamegate::agent {

// Nothing when the text is not one JSON object. Never throws.
std::optional<nlohmann::json> parseJsonObject(std::string_view text);

// Valid UTF-8 of at most `bytes_max` bytes: bytes that are not UTF-8 become %XX, and an ellipsis
// marks a cut.
std::string cleanText(std::string_view text, size_t bytes_max);

// Reads members of one object. A member that is absent leaves its output alone; one of another type
// or over its limit makes ok() false. Owner: a parser's stack, beside the object.
class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& object) : object_(object) {}

  bool ok() const { return ok_; }
  bool has(const char* key) const { return object_.contains(key); }

  void readText(const char* key, size_t bytes_max, std::string& out);
  // Non-negative; a fraction is cut.
  void readNumber(const char* key, uint64_t& out);
  void readNumber(const char* key, std::optional<uint64_t>& out);
  void readFlag(const char* key, bool& out);
  void readTexts(const char* key, size_t count_max, size_t bytes_max,
                 std::vector<std::string>& out);
  // Null when absent or not an object.
  const nlohmann::json* findObject(const char* key);
  void reject() { ok_ = false; }

 private:
  const nlohmann::json* find(const char* key) const;

  const nlohmann::json& object_;
  bool ok_ = true;
};

}  // namespace flamegate::agent
