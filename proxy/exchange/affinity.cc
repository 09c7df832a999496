#include "proxy/exchange/affinity.h"

#include "proxy/profiling/own_cookies.h"
#include "proxy/upstream/hash_ring.h"

namespace flamegate::proxy {
namespace {

std::optional<std::string_view> findCookie(const FieldList& fields, std::string_view wanted) {
  std::optional<std::string_view> found;
  for (const Field* field = fields.first(HeaderId::Cookie); field != nullptr && !found;
       field = fields.next(*field)) {
    if (field->removed()) continue;
    forEachCookie(field->value(),
                  [&](std::string_view, std::string_view name, std::string_view value) {
                    if (!found && name == wanted) found = value;
                  });
  }
  return found;
}

}  // namespace

std::optional<uint64_t> affinityKey(const config::Balance& balance, const RequestHead& head,
                                    std::string_view client) {
  std::optional<std::string_view> text;
  switch (balance.kind) {
    case config::Balance::Kind::HashHeader:
      if (const Field* field = head.fields.find(balance.name)) text = field->value();
      break;
    case config::Balance::Kind::HashCookie:
      text = findCookie(head.fields, balance.name);
      break;
    case config::Balance::Kind::HashSource:
      text = client;
      break;
    default:
      break;
  }
  if (!text) return std::nullopt;
  return stableHash(*text);
}

}  // namespace flamegate::proxy
