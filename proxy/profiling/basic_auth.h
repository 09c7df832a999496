// HTTP Basic credentials and the slow check of their passwords.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "config/schema/scalars.h"
#include "proxy/base/clock.h"
#include "proxy/base/encoding.h"

namespace flamegate::proxy {

struct BasicCredential {
  std::string user;
  std::string password;
};

// Of an Authorization value (RFC 7617 §2); nothing when it is another scheme or malformed.
std::optional<BasicCredential> parseBasic(std::string_view authorization);

// Whether the password belongs to the crypt(5) hash. Takes a quarter of a second of processor time
// with bcrypt, by design: never on a worker's thread. Thread: any.
bool verifyPassword(const std::string& password, const std::string& hash);

// What is known about passwords without computing a hash again: good ones for 5 minutes, and how
// many an address has had tried in vain within the last second. Passwords are kept as a keyed hash
// only. Owner: the process. Thread: any.
class PasswordCache {
 public:
  static constexpr Duration kGoodFor = std::chrono::minutes(5);
  static constexpr size_t kFailuresPerSecondMax = 5;
  static constexpr size_t kEntriesMax = 1024;

  PasswordCache();

  // Whether this password was found to belong to `hash` within the last five minutes.
  bool isKnownGood(const BasicCredential& credential, std::string_view hash, TimePoint now) const;
  // Whether an address may have another password tried at present. A try counts as failed until
  // note() says otherwise, so that many at once are not more than many in a row.
  bool beginTry(const config::IpBytes& address, TimePoint now);
  // The outcome of verifyPassword() after beginTry().
  void note(const BasicCredential& credential, std::string_view hash,
            const config::IpBytes& address, bool good, TimePoint now);

 private:
  struct Try {
    config::IpBytes address;
    TimePoint at;
  };
  std::string keyOf(const BasicCredential& credential, std::string_view hash) const;

  Sha256 key_;  // random, so that the table tells nothing about passwords
  mutable std::mutex mutex_;
  std::unordered_map<std::string, TimePoint> good_until_;
  std::deque<Try> failed_;  // of the last second, oldest first, at most kEntriesMax
};

}  // namespace flamegate::proxy
