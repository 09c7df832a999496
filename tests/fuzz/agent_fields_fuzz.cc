// Fields of the agent protocol: what can be read reads the same after it was written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent-protocol/wire/ack.h"
#include "agent-protocol/wire/request_header.h"
#include "agent-protocol/wire/upload.h"
#include "proxy/base/check.h"

using namespace flamegate::agent;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const RequestHeaderParse request = parseRequestHeader(text);
  if (request.outcome == RequestHeaderParse::Outcome::Ok) {
    const RequestHeaderParse again = parseRequestHeader(request.header.format());
    CHECK(again.outcome == RequestHeaderParse::Outcome::Ok);
    CHECK(again.header.signedText("GET") == request.header.signedText("GET"));
  }
  if (const auto ack = parseAck(text)) CHECK(parseAck(ack->format()) == ack);
  if (const auto auth = parseUploadAuth(text)) {
    const auto again = parseUploadAuth(auth->format());
    CHECK(again && again->format() == auth->format());
  }
  if (const auto auth = parseAnswerAuth(text)) {
    const auto again = parseAnswerAuth(auth->format());
    CHECK(again && again->format() == auth->format());
  }
  if (const auto path = parseUploadPath(text)) CHECK(isPart(path->part));
  if (const auto instance = parseHelloPath(text)) CHECK(isInstance(*instance));
  return 0;
}
