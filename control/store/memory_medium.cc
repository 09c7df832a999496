#include "control/store/memory_medium.h"

namespace flamegate::control {

// Nothing can fail between begin and commit, so that the index never needs to be made again.
proxy::Result<> MemoryMedium::open(RecordIndex&, const Cutoff&, bool) { return {}; }
proxy::Result<> MemoryMedium::refresh(RecordIndex&) { return {}; }
proxy::Result<> MemoryMedium::begin() { return {}; }
proxy::Result<> MemoryMedium::commit() { return {}; }

proxy::Result<> MemoryMedium::modify(const std::string& id, const Modification& modification) {
  const auto present = items_.find(id);
  auto profile = modification(present == items_.end()
                                  ? std::nullopt
                                  : std::optional<std::string_view>(present->second.document));
  if (!profile) return proxy::fail(std::move(profile.error()));
  Item& item = items_[id];
  item.document = std::move(profile->document);
  if (profile->body) item.body = *profile->body;
  return {};
}

proxy::Result<> MemoryMedium::erase(std::span<const std::string> ids) {
  for (const std::string& id : ids) items_.erase(id);
  return {};
}

proxy::Result<std::vector<std::optional<std::string>>> MemoryMedium::documents(
    std::span<const std::string> ids) {
  std::vector<std::optional<std::string>> out;
  out.reserve(ids.size());
  for (const std::string& id : ids) {
    const auto found = items_.find(id);
    out.push_back(found == items_.end() ? std::nullopt : std::optional(found->second.document));
  }
  return out;
}

proxy::Result<std::optional<std::string>> MemoryMedium::body(const std::string& id) {
  const auto found = items_.find(id);
  return found == items_.end() ? std::nullopt : found->second.body;
}

proxy::Result<> MemoryMedium::revoke(const RevokedToken& token, WallTime) {
  revoked_[token.jti] = token.until;
  return {};
}

proxy::Result<std::vector<RevokedToken>> MemoryMedium::revoked(WallTime now) {
  std::erase_if(revoked_, [now](const auto& entry) { return entry.second <= now; });
  std::vector<RevokedToken> out;
  for (const auto& [jti, until] : revoked_) out.push_back({jti, until});
  return out;
}

proxy::Result<> MemoryMedium::probe() { return {}; }

proxy::Result<bool> MemoryMedium::tidy(const Cutoff&) { return false; }

}  // namespace flamegate::control
