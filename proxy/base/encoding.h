// Hexadecimal and base64url (RFC 4648 §5) text for bytes, and HMAC-SHA256.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace flamegate::proxy {

using Sha256 = std::array<unsigned char, 32>;

// Lower-case hexadecimal.
std::string toHex(std::string_view bytes);

// base64url without padding.
std::string toBase64Url(std::string_view bytes);

// Nothing when the text holds a character outside the alphabet, padding, an impossible length or
// non-zero trailing bits: each byte string has one encoding.
std::optional<std::string> fromBase64Url(std::string_view text);

// Standard base64 (RFC 4648 §4), padding required: what HTTP Basic carries.
std::optional<std::string> fromBase64(std::string_view text);

Sha256 sha256(std::string_view bytes);
Sha256 hmacSha256(std::string_view key, std::string_view bytes);

inline std::string_view asView(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Compares in a time that depends on the lengths alone.
bool equalConstantTime(std::string_view a, std::string_view b);

// Bytes from the kernel's generator; for keys, nonces and ids. Never fails after start-up.
void fillRandom(char* out, size_t size);

}  // namespace flamegate::proxy
