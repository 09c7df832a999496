// Message heads from text, for tests.
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/http/head.h"

namespace flamegate::proxy {

using Lines = std::vector<std::pair<std::string, std::string>>;

// Owns the bytes that its head's views point to.
class TestHead {
 public:
  explicit TestHead(const std::string& target = "/", const Lines& lines = {}) {
    request.target = lines_.emplace_back(target);
    request.method_text = "GET";
    request.authority = "shop.example.com";
    for (const auto& [name, value] : lines) add(name, value);
  }

  void add(const std::string& name, const std::string& value) {
    lines_.push_back(name + ": " + value + "\r\n");
    const std::string& line = lines_.back();
    const std::string_view view(line);
    const HeaderId id = findHeaderId(name);
    request.fields.addParsed(view, name.size(), view.substr(name.size() + 2, value.size()), id);
    response.fields.addParsed(view, name.size(), view.substr(name.size() + 2, value.size()), id);
  }

  TestHead(TestHead&&) = default;

  RequestHead request;
  ResponseHead response;  // with the same fields

 private:
  std::deque<std::string> lines_;  // whose strings stay where they are
};

// All values of a name, in order.
inline std::vector<std::string> valuesOf(const FieldList& fields, std::string_view name) {
  std::vector<std::string> values;
  for (const Field& field : fields) {
    if (field.removed()) continue;
    if (field.name().size() != name.size()) continue;
    bool same = true;
    for (size_t i = 0; i < name.size(); ++i) same &= (field.name()[i] | 0x20) == (name[i] | 0x20);
    if (same) values.emplace_back(field.value());
  }
  return values;
}

}  // namespace flamegate::proxy
