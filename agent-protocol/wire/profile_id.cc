#include "agent-protocol/wire/profile_id.h"

#include <algorithm>

#include "proxy/base/encoding.h"

namespace flamegate::agent {
namespace {

constexpr size_t kTimeDigits = 8;
constexpr size_t kHalfDigits = 6;  // random digits taken from each 64-bit half
constexpr uint64_t kTimeLimit = 36ULL * 36 * 36 * 36 * 36 * 36 * 36 * 36;

void writeBase36(char* out, size_t digits, uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  while (digits-- > 0) {
    out[digits] = kDigits[value % 36];
    value /= 36;
  }
}

bool isDigit36(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

}  // namespace

ProfileId ProfileId::create(int64_t unix_ms, const std::array<uint64_t, 2>& random) {
  ProfileId id;
  const uint64_t time = unix_ms < 0 ? 0 : static_cast<uint64_t>(unix_ms);
  writeBase36(id.text_.data(), kTimeDigits, std::min(time, kTimeLimit - 1));
  writeBase36(id.text_.data() + kTimeDigits, kHalfDigits, random[0]);
  writeBase36(id.text_.data() + kTimeDigits + kHalfDigits, kHalfDigits, random[1]);
  return id;
}

ProfileId ProfileId::issue(int64_t unix_ms) {
  std::array<uint64_t, 2> random;
  proxy::fillRandom(reinterpret_cast<char*>(random.data()), sizeof random);
  return create(unix_ms, random);
}

std::optional<ProfileId> ProfileId::parse(std::string_view text) {
  if (text.size() != kSize || !std::all_of(text.begin(), text.end(), isDigit36)) {
    return std::nullopt;
  }
  ProfileId id;
  std::copy(text.begin(), text.end(), id.text_.begin());
  return id;
}

int64_t ProfileId::unixMillis() const {
  int64_t time = 0;
  for (size_t i = 0; i < kTimeDigits; ++i) {
    const char c = text_[i];
    time = time * 36 + (c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return time;
}

}  // namespace flamegate::agent
