#include "proxy/base/encoding.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>

#include "proxy/base/check.h"

namespace flamegate::proxy {
namespace {

constexpr char kUrlAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<signed char, 256> decodeTable(char c62, char c63) {
  std::array<signed char, 256> table{};
  for (auto& entry : table) entry = -1;
  for (int i = 0; i < 26; ++i) table[static_cast<size_t>('A' + i)] = static_cast<signed char>(i);
  for (int i = 0; i < 26; ++i) table[static_cast<size_t>('a' + i)] = static_cast<signed char>(26 + i);
  for (int i = 0; i < 10; ++i) table[static_cast<size_t>('0' + i)] = static_cast<signed char>(52 + i);
  table[static_cast<unsigned char>(c62)] = 62;
  table[static_cast<unsigned char>(c63)] = 63;
  return table;
}

constexpr auto kUrlTable = decodeTable('-', '_');
constexpr auto kPlainTable = decodeTable('+', '/');

std::optional<std::string> decode(std::string_view text, const std::array<signed char, 256>& table) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  unsigned bits = 0;
  int count = 0;
  for (char c : text) {
    const signed char value = table[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<unsigned>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>((bits >> count) & 0xff));
    }
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace

std::string toHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

std::string toBase64Url(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  unsigned bits = 0;
  int count = 0;
  for (char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      out.push_back(kUrlAlphabet[(bits >> count) & 63]);
    }
  }
  if (count > 0) out.push_back(kUrlAlphabet[(bits << (6 - count)) & 63]);
  return out;
}

std::optional<std::string> fromBase64Url(std::string_view text) { return decode(text, kUrlTable); }

std::optional<std::string> fromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return decode(text, kPlainTable);
}

Sha256 sha256(std::string_view bytes) {
  Sha256 out;
  unsigned size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, EVP_sha256(), nullptr) == 1);
  return out;
}

Sha256 hmacSha256(std::string_view key, std::string_view bytes) {
  Sha256 out;
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(),
             &size) != nullptr);
  return out;
}

bool equalConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void fillRandom(char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(out, size, 0);
    if (got < 0) {
      CHECK(errno == EINTR);
      continue;
    }
    out += got;
    size -= static_cast<size_t>(got);
  }
}

}  // namespace flamegate::proxy
