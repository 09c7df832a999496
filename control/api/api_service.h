// What the proxy talks to: the API and the console under the prefix, and its own internal calls.
#pragma once

#include <string>

#include "agent-protocol/token/keys.h"
#include "control/api/http_app.h"
#include "control/api/router.h"
#include "control/api/services.h"

namespace flamegate::control {

// The app of control's private listener. A request that the proxy has not signed is answered 403.
// Paths arrive with the prefix, as the client sent them; `/internal/` is the proxy's own.
// Owner: control's main. Thread: control's. Ends: after its server.
class ApiService final : public HttpApp {
 public:
  static constexpr size_t kBodyBytesMax = 64u << 10;  // of a call under the prefix

  ApiService(ApiServices& services, const agent::SessionKeyRing& keys);

  HeadVerdict onHead(const HttpRequest& head) override;
  void onRequest(HttpRequest request, Responder respond) override;

 private:
  std::optional<agent::ControlCall> verify(const HttpRequest& head) const;
  void dispatchInternal(ApiRequest request, Responder respond);
  // The target below the prefix, or nothing.
  std::optional<std::string_view> belowPrefix(std::string_view target) const;

  ApiServices& services_;
  const agent::SessionKeyRing& keys_;
  const Router router_;
};

}  // namespace flamegate::control
