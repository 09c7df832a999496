#include "proxy/profiling/sessions.h"

#include <algorithm>
#include <utility>

#include "agent-protocol/token/session_cookie.h"

namespace flamegate::proxy {

std::string SessionTable::open(Duration lifetime, uint32_t requests,
                               std::optional<SessionGrant> grant, TimePoint now) {
  std::string id = agent::issueSessionId();
  const std::lock_guard lock(mutex_);
  if (sessions_.size() >= kSessionsMax) makeRoom(now);
  sessions_.insert_or_assign(id, Session{now + lifetime, requests, std::move(grant)});
  return id;
}

SessionView SessionTable::find(std::string_view id, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(id);
  if (session == sessions_.end() || session->second.ends_at <= now) return {};
  return {session->second.left == 0 ? SessionState::Exhausted : SessionState::Live,
          session->second.grant};
}

bool SessionTable::spend(std::string_view id, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(id);
  if (session == sessions_.end() || session->second.ends_at <= now || session->second.left == 0) {
    return false;
  }
  --session->second.left;
  return true;
}

void SessionTable::refund(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(id);
  if (session != sessions_.end()) ++session->second.left;
}

void SessionTable::end(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(id);
  if (session != sessions_.end()) sessions_.erase(session);
}

size_t SessionTable::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

void SessionTable::makeRoom(TimePoint now) {
  std::erase_if(sessions_, [now](const auto& entry) { return entry.second.ends_at <= now; });
  if (sessions_.size() < kSessionsMax) return;
  sessions_.erase(std::min_element(
      sessions_.begin(), sessions_.end(),
      [](const auto& a, const auto& b) { return a.second.ends_at < b.second.ends_at; }));
}

}  // namespace flamegate::proxy
