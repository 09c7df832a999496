#include "proxy/net/tls_tickets.h"

#include <cstring>

#include <openssl/rand.h>

namespace flamegate::proxy {
namespace {

template <size_t N>
bool fillRandomly(std::array<unsigned char, N>& bytes) {
  return RAND_priv_bytes(bytes.data(), static_cast<int>(N)) == 1;
}

}  // namespace

std::optional<TlsTicketKey> TlsTicketKeys::current(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!rotateIfDue(now)) return std::nullopt;
  return keys_[newest_];
}

std::optional<TlsTicketKeys::Found> TlsTicketKeys::find(const unsigned char* name, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!rotateIfDue(now)) return std::nullopt;
  for (size_t i = 0; i < count_; ++i) {
    const size_t at = (newest_ + keys_.size() - i) % keys_.size();
    const TlsTicketKey& key = keys_[at];
    if (std::memcmp(key.name.data(), name, key.name.size()) != 0) continue;
    if (now - key.made > kTicketLifetime + kRotation) return std::nullopt;
    return Found{key, i > 0};
  }
  return std::nullopt;
}

// False when there is no usable key. After a failure to make a new one the old one goes on.
bool TlsTicketKeys::rotateIfDue(TimePoint now) {
  if (count_ > 0 && now - keys_[newest_].made < kRotation) return true;
  TlsTicketKey fresh;
  fresh.made = now;
  if (!fillRandomly(fresh.name) || !fillRandomly(fresh.cipher) || !fillRandomly(fresh.mac)) {
    return count_ > 0;
  }
  newest_ = count_ == 0 ? 0 : (newest_ + 1) % keys_.size();
  keys_[newest_] = fresh;
  if (count_ < keys_.size()) ++count_;
  return true;
}

}  // namespace flamegate::proxy
