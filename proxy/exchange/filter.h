// What features are made of: each sees every exchange at the same few moments.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/http/head.h"

namespace flamegate::proxy {

class Exchange;

// An answer that the proxy gives by itself.
struct LocalReply {
  uint16_t status = 500;
  std::string_view reason;  // for the access log; a literal
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};  // empty: the status, its phrase and the reason
  std::vector<std::pair<std::string, std::string>> fields = {};
};

// What becomes of a request after a filter has seen it.
struct Verdict {
  enum class Kind : uint8_t { GoOn, Wait, Reply };
  Kind kind = Kind::GoOn;
  std::unique_ptr<LocalReply> reply;

  // Stops the chain until Exchange::resumeFilters(); the filter is asked again then.
  static Verdict wait() { return {Kind::Wait, nullptr}; }
  static Verdict answer(LocalReply reply) {
    return {Kind::Reply, std::make_unique<LocalReply>(std::move(reply))};
  }
};

// Changes response content on its way. Owner: its exchange.
class BodyTransform {
 public:
  virtual ~BodyTransform() = default;
  // Appends what `in` becomes to `out`. `end`: nothing follows.
  virtual void transform(std::string_view in, bool end, std::string& out) = 0;
};

// Base of what a filter keeps with one exchange. Owner: the exchange.
class FilterState {
 public:
  virtual ~FilterState() = default;
};

// Immutable, shared by all exchanges of a worker; what belongs to one exchange is kept there.
// Owner: the worker's context. Thread: its loop's.
class Filter {
 public:
  virtual ~Filter() = default;
  // Whether onRequest() has anything to do; asked first, as that costs less than a verdict.
  virtual bool concerns(Exchange&) const { return true; }
  // Once, or again after Wait: the head is complete and the route known. May edit the head.
  virtual Verdict onRequest(Exchange&) { return {}; }

  // The rest is called for exchanges with a filter state; onResponse() for all, if the filter says
  // so.
  virtual bool seesEveryResponse() const { return false; }
  // Before the head is given to a connection, once an attempt: the endpoint is known.
  virtual void onAttempt(Exchange&) {}
  // Once for an answer of the application or of the proxy, before its head is sent. In reverse
  // order.
  virtual void onResponse(Exchange&, ResponseHead&) {}
  // Once, last, whatever the outcome.
  virtual void onDone(Exchange&) {}
};

}  // namespace flamegate::proxy
