#include "proxy/http/head.h"

#include "proxy/base/strings.h"

namespace flamegate::proxy {

const Field* FieldList::find(std::string_view name) const {
  for (const Field& field : *this) {
    if (!field.removed_ && equalIgnoreCase(field.name(), name)) return &field;
  }
  return nullptr;
}

std::optional<std::string_view> FieldList::findSingle(HeaderId id) const {
  if (!has(id)) return std::nullopt;
  const Field* found = nullptr;
  for (const Field& field : *this) {
    if (field.id_ != id || field.removed_) continue;
    if (found != nullptr) return std::nullopt;
    found = &field;
  }
  if (found == nullptr) return std::nullopt;
  return found->value();
}

bool FieldList::add(std::string_view name, std::string_view value) {
  return add(name, value, findHeaderId(name));
}

bool FieldList::add(std::string_view name, std::string_view value, HeaderId id) {
  if (full()) return false;
  addParsed({name.data(), 0}, name.size(), value, id);
  return true;
}

size_t FieldList::removeAll(HeaderId id) {
  if (!has(id)) return 0;
  size_t count = 0;
  for (size_t i = 0; i < size_; ++i) {
    if (fields_[i].id_ != id || fields_[i].removed_) continue;
    fields_[i].removed_ = true;
    ++count;
  }
  return count;
}

void FieldList::setValue(size_t at, std::string_view value) {
  Field& field = fields_[at];
  field.value_ = value.data();
  field.value_size_ = static_cast<uint32_t>(value.size());
  field.line_size_ = 0;
}

}  // namespace flamegate::proxy
