#include "proxy/profiling/basic_auth.h"

#include <algorithm>
#include <memory>

#include <crypt.h>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kCredentialBytesMax = 512;
constexpr Duration kFailureWindow = std::chrono::seconds(1);

}  // namespace

std::optional<BasicCredential> parseBasic(std::string_view authorization) {
  constexpr std::string_view kScheme = "basic ";
  if (authorization.size() > kCredentialBytesMax || !startsWithIgnoreCase(authorization, kScheme)) {
    return std::nullopt;
  }
  const auto text = fromBase64(trimBlanks(authorization.substr(kScheme.size())));
  if (!text || text->find('\0') != std::string::npos) return std::nullopt;
  const size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return BasicCredential{text->substr(0, colon), text->substr(colon + 1)};
}

bool verifyPassword(const std::string& password, const std::string& hash) {
  const auto data = std::make_unique<crypt_data>();
  const char* computed = crypt_r(password.c_str(), hash.c_str(), data.get());
  return computed != nullptr && *computed != '*' && equalConstantTime(computed, hash);
}

PasswordCache::PasswordCache() { fillRandom(reinterpret_cast<char*>(key_.data()), key_.size()); }

std::string PasswordCache::keyOf(const BasicCredential& credential, std::string_view hash) const {
  std::string text = credential.user;
  text.push_back('\0');
  text.append(credential.password).push_back('\0');
  text.append(hash);
  return std::string(asView(hmacSha256(asView(key_), text)));
}

bool PasswordCache::isKnownGood(const BasicCredential& credential, std::string_view hash,
                                TimePoint now) const {
  const std::string key = keyOf(credential, hash);
  const std::lock_guard lock(mutex_);
  const auto entry = good_until_.find(key);
  return entry != good_until_.end() && now < entry->second;
}

bool PasswordCache::beginTry(const config::IpBytes& address, TimePoint now) {
  const std::lock_guard lock(mutex_);
  while (!failed_.empty() && now - failed_.front().at >= kFailureWindow) failed_.pop_front();
  const auto of_address =
      std::count_if(failed_.begin(), failed_.end(),
                    [&address](const Try& failed) { return failed.address == address; });
  if (static_cast<size_t>(of_address) >= kFailuresPerSecondMax || failed_.size() >= kEntriesMax) {
    return false;
  }
  failed_.push_back({address, now});
  return true;
}

void PasswordCache::note(const BasicCredential& credential, std::string_view hash,
                         const config::IpBytes& address, bool good, TimePoint now) {
  if (!good) return;
  const std::string key = keyOf(credential, hash);
  const std::lock_guard lock(mutex_);
  const auto begun = std::find_if(failed_.begin(), failed_.end(), [&address](const Try& failed) {
    return failed.address == address;
  });
  if (begun != failed_.end()) failed_.erase(begun);
  std::erase_if(good_until_, [now](const auto& entry) { return now >= entry.second; });
  if (good_until_.size() >= kEntriesMax) good_until_.erase(good_until_.begin());
  good_until_[key] = now + kGoodFor;
}

}  // namespace flamegate::proxy
