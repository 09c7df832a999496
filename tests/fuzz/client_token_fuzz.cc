// Tokens, session cookies and calls to control: nobody forges one, and signed nonsense is only
// invalid.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent-protocol/token/client_token.h"
#include "agent-protocol/token/control_call.h"
#include "agent-protocol/token/session_cookie.h"
#include "proxy/base/check.h"
#include "proxy/base/encoding.h"

using namespace flamegate::agent;
namespace proxy = flamegate::proxy;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const SessionKeyRing kKeys(SessionKeys::derive("a session secret of 32 bytes or more"));
  constexpr int64_t kNow = 1760000000;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CHECK(!checkToken(text, "localhost", kNow, kKeys).genuine());
  CHECK(!verifySessionCookie(text, kKeys));
  CHECK(!verifyCall(text, "GET", "/", kNow * 1000, kKeys));

  const std::string payload = proxy::toBase64Url(text);
  const auto mac = proxy::hmacSha256(proxy::asView(kKeys.current().token), "FG1-TOK\n" + payload);
  const std::string token = "fg1." + payload + "." + proxy::toBase64Url(proxy::asView(mac));
  const TokenCheck check = checkToken(token, "localhost", kNow, kKeys);
  CHECK(check.genuine() || token.size() > kTokenBytesMax);
  if (check.state == TokenState::Good) {
    CHECK(check.claims.expires_at_s > kNow && !check.claims.jti.empty());
  }
  return 0;
}
