// The keys of session tickets (RFC 5077, RFC 8446 §4.6.1), for all workers and listeners of a
// process.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "proxy/base/clock.h"

namespace flamegate::proxy {

struct TlsTicketKey {
  std::array<unsigned char, 16> name{};    // sent in the clear with each ticket
  std::array<unsigned char, 32> cipher{};  // AES-256-CBC
  std::array<unsigned char, 32> mac{};     // HMAC-SHA256
  TimePoint made;
};

// Makes a new key each hour and keeps the last twelve beside it, so that a ticket can be used for
// twelve hours and a key that leaks opens no more than thirteen hours of TLS 1.2 sessions (those of
// TLS 1.3 have a key exchange of their own). Keys live in memory alone: they outlive reloads, not
// the process. Owner: the process; listeners' contexts share it. Thread: any, locked; handshakes
// alone come here.
class TlsTicketKeys {
 public:
  static constexpr Duration kRotation = std::chrono::hours(1);
  static constexpr size_t kOldKeys = 12;
  // How long a ticket may be used; at least one key of that age is kept.
  static constexpr std::chrono::seconds kTicketLifetime = std::chrono::hours(12);

  // The key for new tickets, made now if the last one is too old. Nothing: the system has no
  // randomness.
  std::optional<TlsTicketKey> current(TimePoint now);

  struct Found {
    TlsTicketKey key;
    bool renew = false;  // not the newest: the client gets a new ticket
  };
  std::optional<Found> find(const unsigned char* name, TimePoint now);

 private:
  bool rotateIfDue(TimePoint now);

  std::mutex mutex_;
  std::array<TlsTicketKey, kOldKeys + 1> keys_;  // a ring
  size_t count_ = 0;
  size_t newest_ = 0;
};

}  // namespace flamegate::proxy
