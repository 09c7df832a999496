#include "proxy/session/websocket.h"

#include <string>

#include <openssl/evp.h>

#include "proxy/base/check.h"
#include "proxy/base/encoding.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kKeyBytes = 16;
constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

// With padding (RFC 4648 §4).
std::string_view toBase64(const unsigned char* bytes, size_t size, Arena& arena) {
  const size_t text_size = (size + 2) / 3 * 4;
  char* const text = arena.take(text_size + 1);  // the encoder ends it with NUL
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text), bytes, static_cast<int>(size));
  return {text, text_size};
}

}  // namespace

std::string_view makeWebSocketKey(Arena& arena) {
  char bytes[kKeyBytes];
  fillRandom(bytes, sizeof bytes);
  return toBase64(reinterpret_cast<const unsigned char*>(bytes), sizeof bytes, arena);
}

std::string_view webSocketAccept(std::string_view key, Arena& arena) {
  const std::string_view text = arena.join({key, kGuid});
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) == 1);
  return toBase64(digest, size, arena);
}

}  // namespace flamegate::proxy
