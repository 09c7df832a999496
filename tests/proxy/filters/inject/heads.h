// Heads for tests, built from text that lives as long as they do.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "proxy/http/head.h"
#include "proxy/http/header_id.h"

namespace flamegate::proxy {

using FieldTexts = std::initializer_list<std::pair<std::string_view, std::string_view>>;

inline void addFields(FieldList& fields, FieldTexts texts) {
  for (const auto& [name, value] : texts) fields.add(name, value);
}

inline RequestHead makeRequest(FieldTexts texts = {{"Sec-Fetch-Dest", "document"}},
                               Method method = Method::Get) {
  RequestHead head;
  head.method = method;
  addFields(head.fields, texts);
  return head;
}

inline ResponseHead makeResponse(FieldTexts texts = {{"Content-Type", "text/html; charset=utf-8"}},
                                 uint16_t status = 200) {
  ResponseHead head;
  head.status = status;
  addFields(head.fields, texts);
  return head;
}

}  // namespace flamegate::proxy
