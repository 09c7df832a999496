#include "proxy/http/head.h"

#include <algorithm>

#include "proxy/base/strings.h"

namespace flamegate::proxy {

const Field* FieldList::find(std::string_view name) const {
  for (const Field& field : *this) {
    if (!field.removed_ && equalIgnoreCase(field.name(), name)) return &field;
  }
  return nullptr;
}

std::optional<std::string_view> FieldList::findSingle(HeaderId id) const {
  const Field* found = nullptr;
  for (const Field* field = first(id); field != nullptr; field = next(*field)) {
    if (field->removed_) continue;
    if (found != nullptr) return std::nullopt;
    found = field;
  }
  if (found == nullptr) return std::nullopt;
  return found->value();
}

const Field* FieldList::findAfter(const Field& field) const {
  const auto same_id = [&](const Field& other) { return other.id_ == field.id_; };
  const Field* found = std::find_if(&field + 1, end(), same_id);
  return found == end() ? nullptr : found;
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
  size_t count = 0;
  for (const Field* field = first(id); field != nullptr; field = next(*field)) {
    if (field->removed_) continue;
    remove(static_cast<size_t>(field - begin()));
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
