#include "proxy/profiling/token_carriers.h"

#include "proxy/base/strings.h"
#include "proxy/profiling/query.h"

namespace flamegate::proxy {
namespace {

// A token of ours in `Bearer`; nothing for the application's own credentials.
std::optional<std::string_view> bearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (!startsWithIgnoreCase(authorization, kScheme)) return std::nullopt;
  const std::string_view token = trimBlanks(authorization.substr(kScheme.size()));
  if (!token.starts_with(agent::kTokenPrefix)) return std::nullopt;
  return token;
}

// All carried texts must be the same.
class Carriers {
 public:
  void offer(std::string_view text) {
    if (text_ && *text_ != text) disputed_ = true;
    if (!text_) text_ = std::string(text);
  }
  std::optional<std::string> get() const { return disputed_ ? std::nullopt : text_; }

 private:
  std::optional<std::string> text_;
  bool disputed_ = false;
};

bool isGenuine(std::string_view token, const agent::SessionKeyRing& keys) {
  return agent::checkToken(token, {}, 0, keys).genuine();
}

}  // namespace

CarriedToken readToken(const RequestHead& head, int64_t now_s, const agent::SessionKeyRing& keys) {
  Carriers carriers;
  CarriedToken carried;
  if (head.fields.has(HeaderId::Authorization) || head.fields.has(HeaderId::FlamegatePrivate)) {
    for (const Field& field : head.fields) {
      if (field.removed()) continue;
      if (field.id() == HeaderId::Authorization) {
        if (const auto token = bearerToken(field.value())) carriers.offer(*token);
      } else if (field.id() == HeaderId::FlamegatePrivate &&
                 equalIgnoreCase(field.name(), kTokenFieldName)) {
        carriers.offer(field.value());
      }
    }
  }
  forEachPair(head.query(), [&](std::string_view, std::string_view name, std::string_view value) {
    if (value.size() > 3 * agent::kTokenBytesMax || !decodesTo(name, kTokenPairName)) return;
    const auto token = decodeQueryText(value);
    if (!token) return;
    carriers.offer(*token);
    carried.in_query |= isGenuine(*token, keys);
  });
  if (const auto token = carriers.get()) {
    carried.check = agent::checkToken(*token, head.authority, now_s, keys);
  }
  return carried;
}

void removeTokenFields(FieldList& fields, const agent::SessionKeyRing& keys) {
  if (!fields.has(HeaderId::Authorization)) return;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].id() != HeaderId::Authorization || fields[i].removed()) continue;
    const auto token = bearerToken(fields[i].value());
    if (token && isGenuine(*token, keys)) fields.remove(i);
  }
}

bool isOwnTokenPair(std::string_view raw_name, std::string_view raw_value,
                    const agent::SessionKeyRing& keys) {
  if (raw_value.size() > 3 * agent::kTokenBytesMax || !decodesTo(raw_name, kTokenPairName)) {
    return false;
  }
  const auto token = decodeQueryText(raw_value);
  return token && isGenuine(*token, keys);
}

}  // namespace flamegate::proxy
