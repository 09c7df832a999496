#include "proxy/profiling/own_cookies.h"

namespace flamegate::proxy {

std::optional<std::string_view> findSessionId(std::string_view name, std::string_view value,
                                              const agent::SessionKeyRing& keys) {
  if (name != agent::kSecureCookieName && name != agent::kPlainCookieName) return std::nullopt;
  return agent::verifySessionCookie(value, keys);
}

OwnCookies readOwnCookies(const FieldList& fields, const agent::SessionKeyRing& keys) {
  OwnCookies own;
  if (!fields.has(HeaderId::Cookie)) return own;
  for (const Field& field : fields) {
    if (field.id() != HeaderId::Cookie || field.removed()) continue;
    forEachCookie(field.value(),
                  [&](std::string_view, std::string_view name, std::string_view value) {
                    if (name == kOffCookieName) own.off = true;
                    if (!own.session_id.empty()) return;
                    if (const auto id = findSessionId(name, value, keys)) own.session_id = *id;
                  });
  }
  return own;
}

void cutSessionCookies(FieldList& fields, const agent::SessionKeyRing& keys, Arena& arena) {
  if (!fields.has(HeaderId::Cookie)) return;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].id() != HeaderId::Cookie || fields[i].removed()) continue;
    std::string kept;
    bool cut = false;
    forEachCookie(fields[i].value(),
                  [&](std::string_view pair, std::string_view name, std::string_view value) {
                    if (findSessionId(name, value, keys)) {
                      cut = true;
                      return;
                    }
                    if (!kept.empty()) kept.append("; ");
                    kept.append(pair);
                  });
    if (!cut) continue;
    if (kept.empty()) {
      fields.remove(i);
    } else {
      fields.setValue(i, arena.copy(kept));
    }
  }
}

std::string offCookie(bool off, bool secure) {
  std::string text(kOffCookieName);
  text.append(off ? "=1; Path=/; Max-Age=86400" : "=; Path=/; Max-Age=0");
  text.append("; HttpOnly; SameSite=Lax");
  if (secure) text.append("; Secure");
  return text;
}

}  // namespace flamegate::proxy
