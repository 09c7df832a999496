// One request and its response as a handler sees them, whatever the protocol underneath.
//
// A stream is pulled, not pushed: the handler takes content when it has a place for it, and that is
// all the back-pressure there is. After each event the handler does what it can (its "turn") and ends
// with finishTurn(), after which it touches nothing, since the stream may then be over.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/base/arena.h"
#include "proxy/base/result.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

class Transport;

// Who is at the other end of a client connection. A value of its session.
struct Peer {
  std::array<uint8_t, 16> ip{};  // IPv4 as ::ffff:a.b.c.d; zero for a unix-domain peer
  uint16_t port = 0;
  bool is_unix = false;
  bool named = true;  // false: a proxy in front relays for somebody it does not name; no address
  bool secure = false;      // the client's side is TLS
  const Transport* transport = nullptr;  // with TLS: what its handshake showed; the connection's
  size_t listener = 0;      // its owner's number for where the client came in; reloads do not change it
  std::string_view text;    // the address without port; "unix" for a unix-domain peer, "unknown"
};

// The server's end of a stream. Owner: its session. Thread: its loop's.
class ServerStream {
 public:
  virtual RequestHead& request() = 0;
  virtual const RequestHead& request() const = 0;
  virtual const Peer& peer() const = 0;
  // Memory that lasts as long as the request head.
  virtual Arena& arena() = 0;

  // Why the stream cannot go on: the client is gone (Reset, Closed), or sent a malformed body
  // (Malformed). Null while it can. The handler then answers or calls breakOff().
  virtual const Error* failure() const = 0;

  // Request content that is there now, decoded; reads from the client when none is. Empty: nothing
  // now, ended, or failed. Valid until consume(), or the end of the turn.
  virtual std::string_view content() = 0;
  virtual void consume(size_t bytes) = 0;
  // All content was consumed and the body's end seen.
  virtual bool requestEnded() const = 0;
  // After requestEnded(): the trailer fields, or null.
  virtual const FieldList* trailers() const = 0;

  // 1xx other than 101; dropped for HTTP/1.0 clients.
  virtual void sendInterim(const ResponseHead& head) = 0;
  // Once. May change `head.framing` to what the client's protocol can carry.
  virtual void sendHead(ResponseHead& head) = 0;
  // Takes what it can and returns how much; less than offered: the handler gets onProgress() when
  // there is room again. Content of a response that has none by definition is dropped.
  virtual size_t sendContent(std::string_view content) = 0;
  // Once, after all content. `trailers` may be null.
  virtual void sendEnd(const FieldList* trailers) = 0;
  // Before sendHead(): the connection is not used again, for example since the rest of the request is not
  // going to be read.
  virtual void closeAfterResponse() = 0;
  // Ends the stream so that the client sees an incomplete message.
  virtual void breakOff() = 0;
  // After sendHead() of a 101: both directions are bytes without framing from here on; the client's
  // end of input shows as requestEnded().
  virtual void startTunnel() = 0;

  // Sends what has gathered. Last call of each turn.
  virtual void finishTurn() = 0;

  // Bytes of the response given to the client so far, framing included.
  virtual uint64_t bytesSent() const = 0;

 protected:
  ~ServerStream() = default;
};

// Serves one stream. Made and recycled by a HandlerFactory.
class StreamHandler {
 public:
  // Once, first: the request head is complete.
  virtual void onRequest() = 0;
  // Any number of times: content or room may have come, or failure() is set.
  virtual void onProgress() = 0;

 protected:
  ~StreamHandler() = default;
};

// Where sessions get their handlers. Owner: a worker, or control's server. Thread: the loop's.
class HandlerFactory {
 public:
  // The handler stays the factory's; the session borrows it until endHandler().
  virtual StreamHandler& beginHandler(ServerStream& stream) = 0;
  // The stream is over, in whatever state it is. Not called from inside the handler's turn.
  virtual void endHandler(StreamHandler& handler) = 0;
  // The session answered by itself, before a head was complete: for logs and counters. `reason` is
  // one of http1FaultName()'s or "header-timeout".
  virtual void onRefused(const Peer& peer, uint16_t status, std::string_view reason) = 0;
  // Whether connections should end after their present response.
  virtual bool draining() const = 0;

 protected:
  ~HandlerFactory() = default;
};

}  // namespace flamegate::proxy
