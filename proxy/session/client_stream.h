// The client's end of a stream: a request of ours to an application, and its response.
#pragma once

#include <string_view>

#include "proxy/base/result.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

// Told of events on a lent stream.
class ClientStreamEvents {
 public:
  // Any number of times: something may be read, written, or has failed. Never from inside a call to
  // the stream.
  virtual void onUpstreamReady() = 0;

 protected:
  ~ClientStreamEvents() = default;
};

// Pulled like ServerStream. Owner: a pool, which lends it to one exchange at a time.
// Thread: its loop's.
class ClientStream {
 public:
  // The connection stands (for a new one: the connect has succeeded).
  virtual bool connected() const = 0;
  // This connection has carried a request before, so that it may have been closed meanwhile.
  virtual bool reused() const = 0;
  // Why the stream cannot go on; null while it can. The error says whether a retry is safe.
  virtual const Error* failure() const = 0;

  // Once. The head is serialized at once, so its memory may go afterwards.
  virtual void sendHead(const RequestHead& head) = 0;
  // Takes what it can and returns how much.
  virtual size_t sendContent(std::string_view content) = 0;
  virtual void sendEnd(const FieldList* trailers) = 0;
  // Sends what has gathered.
  virtual void flush() = 0;
  // Everything given to sendHead(), sendContent() and sendEnd() has reached the kernel.
  virtual bool flushed() const = 0;

  // Reads and parses the next response head. True: response() holds it, an interim one or, once,
  // the final one. False: not yet, or failure() is set.
  virtual bool readHead() = 0;
  virtual ResponseHead& response() = 0;
  // Response content, decoded; reads when none is there. Valid until consume() or the next read.
  virtual std::string_view content() = 0;
  virtual void consume(size_t bytes) = 0;
  virtual bool responseEnded() const = 0;
  // After responseEnded(): the trailer fields, or null.
  virtual const FieldList* trailers() const = 0;

  // After a 101: both directions are bytes; responseEnded() is the end of input.
  virtual void startTunnel() = 0;
  // Ends our direction of a tunnel.
  virtual void closeWrite() = 0;

 protected:
  ~ClientStream() = default;
};

}  // namespace flamegate::proxy
