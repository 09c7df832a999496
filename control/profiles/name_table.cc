#include "control/profiles/name_table.h"

#include "control/profiles/text.h"

namespace flamegate::control {

uint32_t NameTable::stringNumber(StringId id) {
  uint32_t& number = string_numbers_[id];
  if (number == kNoIndex) {
    number = static_cast<uint32_t>(strings_.size());
    strings_.push_back(id);
  }
  return number;
}

uint32_t NameTable::number(FunctionId function) {
  uint32_t& number = function_numbers_[function];
  if (number == kNoIndex) {
    number = static_cast<uint32_t>(names_.size());
    const Function& known = profile_.functions[function];
    names_.push_back(stringNumber(known.name));
    files_.push_back(stringNumber(known.file));
    lines_.push_back(known.line);
  }
  return number;
}

std::vector<int32_t> NameTable::numbers(const std::vector<int32_t>& functions) {
  std::vector<int32_t> out;
  out.reserve(functions.size());
  for (const int32_t function : functions) {
    out.push_back(function < 0 ? function
                               : static_cast<int32_t>(number(static_cast<FunctionId>(function))));
  }
  return out;
}

void NameTable::appendJson(std::string* out) const {
  *out += "\"strings\":[";
  for (size_t i = 0; i < strings_.size(); ++i) {
    if (i > 0) out->push_back(',');
    appendJsonString(out, profile_.text(strings_[i]));
  }
  *out += "],\"functions\":{\"name\":";
  appendJsonArray(out, names_);
  *out += ",\"file\":";
  appendJsonArray(out, files_);
  *out += ",\"line\":";
  appendJsonArray(out, lines_);
  *out += "}";
}

}  // namespace flamegate::control
