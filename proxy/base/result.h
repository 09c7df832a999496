// How the project reports failure: values, not exceptions.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace flamegate::proxy {

// Whose fault a failure is. Status code, access-log flag and retry follow from it (exchange/failure).
enum class ErrorSource : unsigned char { Client, Upstream, Agent, Store, Config, Internal };

// Whether the same operation may be tried again.
// IfUnanswered: what was sent may have been processed, but no byte of an answer came.
enum class Retry : unsigned char { No, Yes, IfUnanswered };

// What went wrong. One line of reason each.
enum class ErrorCode : unsigned char {
  Malformed,    // input that its grammar forbids
  TooLarge,     // input over a limit
  Unsupported,  // valid, but a kind that is not served
  Refused,      // the peer said no, or a check failed
  NotFound,     // no such thing
  Conflict,     // the thing exists with other content
  Closed,       // the peer ended the conversation in order
  Reset,        // the peer broke it off, or the system call failed
  Timeout,      // a deadline passed
  Unavailable,  // a resource that should be there is not, at present
  Full,         // a bound of our own is reached
  Io,           // a file or descriptor failed
  Untrusted,    // the peer could not prove who it is
  Handshake,    // the peers found no way to speak with each other
};

// The name of a code as logs and metrics print it: "malformed", "too-large", …
std::string_view errorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Io;
  ErrorSource source = ErrorSource::Internal;
  Retry retry = Retry::No;
  std::string detail;  // for people; never holds secrets
};

template <typename T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

// `return fail(ErrorCode::Malformed, ErrorSource::Client, "two Host fields");`
inline tl::unexpected<Error> fail(ErrorCode code, ErrorSource source, std::string detail = {},
                                  Retry retry = Retry::No) {
  return tl::unexpected<Error>(Error{code, source, retry, std::move(detail)});
}

// Passes a failure on: `if (!r) return fail(std::move(r.error()));`
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace flamegate::proxy
