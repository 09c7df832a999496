// One call of control's API as a value, and the answer to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent-protocol/token/control_call.h"
#include "proxy/http/head.h"

namespace flamegate::control {

struct QueryPair {
  std::string name;
  std::string value;
};

struct ApiRequest {
  proxy::Method method = proxy::Method::Get;
  std::vector<std::string> path;  // segments below the prefix, percent-decoded
  std::vector<QueryPair> query;   // decoded, in order
  std::string content_type;
  std::string if_none_match;
  std::string accept_encoding;
  std::string origin;
  std::string sec_fetch_site;
  std::string body;
  agent::ControlCall caller;  // what the proxy vouches for: rights, name, Host, scheme

  // Set by the router: what stood in the place of `*` in the resource's path, in order.
  std::vector<std::string> captured;

  // The first pair of that name; null if there is none.
  const std::string* findQuery(std::string_view name) const {
    for (const QueryPair& pair : query) {
      if (pair.name == name) return &pair.value;
    }
    return nullptr;
  }
};

// Bytes of an answer: its own, shared with others (a stored profile), or static (an asset).
class Body {
 public:
  using Shared = std::shared_ptr<const std::string>;

  Body() = default;
  Body(std::string bytes) : bytes_(std::move(bytes)) {}  // NOLINT: implicit on purpose
  Body(Shared bytes) : bytes_(std::move(bytes)) {}       // NOLINT
  // The bytes live as long as the process.
  static Body fromStatic(std::string_view bytes) {
    Body body;
    body.bytes_ = bytes;
    return body;
  }

  std::string_view view() const {
    if (const auto* own = std::get_if<std::string>(&bytes_)) return *own;
    if (const auto* shared = std::get_if<Shared>(&bytes_)) return **shared;
    return std::get<std::string_view>(bytes_);
  }

 private:
  std::variant<std::string_view, std::string, Shared> bytes_;
};

struct HeaderLine {
  std::string name;
  std::string value;
};

struct ApiResponse {
  std::uint16_t status = 200;
  std::vector<HeaderLine> headers;  // without Content-Length, which the server adds
  Body body;

  void addHeader(std::string_view name, std::string_view value) {
    headers.push_back({std::string(name), std::string(value)});
  }
  const std::string* findHeader(std::string_view name) const {
    for (const HeaderLine& line : headers) {
      if (line.name == name) return &line.value;
    }
    return nullptr;
  }
};

// Gives the answer. Called once, on control's thread; at once or later.
using Responder = std::function<void(ApiResponse)>;

}  // namespace flamegate::control
