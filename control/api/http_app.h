// What a listener of control's serves: complete HTTP requests as values, answered at once or later.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/api/exchange.h"
#include "proxy/http/head.h"

namespace flamegate::control {

// Bytes and bodies that are in memory before anybody has vouched for them. Shared by the requests
// of one app. Owner: the app. Thread: control's.
class BodyBudget {
 public:
  BodyBudget(size_t bodies_max, size_t bytes_max)
      : bodies_max_(bodies_max), bytes_max_(bytes_max) {}

  size_t bodies() const { return bodies_; }
  size_t bytes() const { return bytes_; }

 private:
  friend class BodyLease;
  const size_t bodies_max_;
  const size_t bytes_max_;
  size_t bodies_ = 0;
  size_t bytes_ = 0;
};

// One body's share of a budget, given back when it goes. Thread: control's.
class BodyLease {
 public:
  explicit BodyLease(BodyBudget& budget) : budget_(budget) { ++budget_.bodies_; }
  BodyLease(const BodyLease&) = delete;
  BodyLease& operator=(const BodyLease&) = delete;
  ~BodyLease() {
    --budget_.bodies_;
    budget_.bytes_ -= bytes_;
  }

  // Null when the budget has no room for another body of (at first) this size.
  static std::unique_ptr<BodyLease> create(BodyBudget& budget, size_t bytes) {
    if (budget.bodies_ >= budget.bodies_max_) return nullptr;
    auto lease = std::make_unique<BodyLease>(budget);
    if (!lease->growTo(bytes)) return nullptr;
    return lease;
  }

  // False when the budget has no room for that.
  bool growTo(size_t bytes) {
    if (bytes <= bytes_) return true;
    if (budget_.bytes_max_ - budget_.bytes_ < bytes - bytes_) return false;
    budget_.bytes_ += bytes - bytes_;
    bytes_ = bytes;
    return true;
  }

 private:
  BodyBudget& budget_;
  size_t bytes_ = 0;
};

// A request as it came. Field names are in lower case.
struct HttpRequest {
  proxy::Method method = proxy::Method::Get;
  std::string method_text;
  std::string target;
  std::vector<HeaderLine> headers;
  std::optional<std::uint64_t> content_length;  // nothing: no body, or a chunked one
  bool chunked = false;
  std::string body;
  std::unique_ptr<BodyLease> lease;  // on the budget that the body was read under

  // The values of all lines of that name, joined by ", " (RFC 9110 §5.3); empty when there is none.
  std::string header(std::string_view name) const;
};

// What to do with a request whose head has come.
struct HeadVerdict {
  std::optional<ApiResponse> answer;  // given at once; the body is not read
  size_t body_bytes_max = 0;          // more is answered 413
  BodyBudget* budget = nullptr;       // null: none
};

// Owner: control's main. Thread: control's. Outlives its server.
class HttpApp {
 public:
  // Once for each request, first.
  virtual HeadVerdict onHead(const HttpRequest& head) = 0;
  // Once for each request whose body has come. Answers through the responder, at once or later.
  virtual void onRequest(HttpRequest request, Responder respond) = 0;

 protected:
  ~HttpApp() = default;
};

}  // namespace flamegate::control
