// A connection to an application, whatever its protocol: what a pool keeps and lends streams of.
#pragma once

#include <memory>

#include "proxy/base/object_pool.h"
#include "proxy/base/owning_list.h"
#include "proxy/http/http1_parser.h"
#include "proxy/net/address.h"
#include "proxy/net/event_loop.h"
#include "proxy/session/client_stream.h"

namespace flamegate::proxy {

class ClientSession;
struct Http1Response;
struct Http2ClientContext;

// What the sessions of one loop share. Outlives them.
struct ClientSessionContext {
  EventLoop& loop;
  ObjectPool<Http1Response>& responses;
  Http1Limits limits;
  Http2ClientContext* http2 = nullptr;  // null: HTTP/2 is not spoken
};

// Told of events that concern no lent stream. They come from the loop, never from inside a call to
// the session, which must not be destroyed there: hand it to deleteLater.
class ClientSessionOwner {
 public:
  // Once, when no stream is lent and none ever can be again: the application closed the connection
  // or spoke unasked, or the handshake failed. `why` is null unless the session never stood.
  virtual void onSessionLost(ClientSession& session, const Error* why) = 0;
  // Any number of times: more streams can be lent than before (the handshake is over, or the
  // application allows more).
  virtual void onStreamsFree(ClientSession& session) = 0;
  // Once, instead of any further event: the handshake chose a protocol, which `made` speaks on the
  // same connection. It has lent nothing.
  virtual void onSessionReplaced(ClientSession& session, std::unique_ptr<ClientSession> made) = 0;

 protected:
  ~ClientSessionOwner() = default;
};

// Lends one stream (HTTP/1) or several (HTTP/2).
// Owner: an upstream pool. Thread: the loop's. Ends: when the pool drops it; retire() comes first.
class ClientSession : public Deletable, public ListNode<> {
 public:
  // `endpoint` is the owner's name for where the session leads to.
  explicit ClientSession(void* endpoint) : endpoint_(endpoint) {}

  // How many streams can be lent now, beside those that are. It may be 0 for a while (the handshake
  // goes on) or for ever (GOAWAY, or the connection cannot be kept): see spent().
  virtual size_t streamsFree() const = 0;
  // No stream can be lent any more; once the last loan has ended the session is to be dropped.
  virtual bool spent() const = 0;
  // Lends a stream for one request; streamsFree() is not 0.
  virtual ClientStream& begin(ClientStreamEvents& events) = 0;
  // Ends the loan, whatever the state of the request: one that has not ended is given up. Events of
  // the stream cease.
  virtual void end(ClientStream& stream) = 0;
  // The pool is done with it: no event comes any more until it is destroyed.
  virtual void retire() = 0;
  // Whether the application has, as far as the kernel knows by now, left a connection without loans
  // open and quiet. One system call, for requests that may not be sent twice.
  virtual bool probeIdle() const = 0;

  void* endpoint() const { return endpoint_; }
  size_t lent() const { return lent_; }
  // When the last loan ended.
  TimePoint idleSince() const { return idle_since_; }

  // When the owner began to open it.
  TimePoint opened;
  // The owner's list that it is in.
  OwningList<ClientSession>* shelf = nullptr;

 protected:
  void onBegun() { ++lent_; }
  void onEnded(TimePoint now) {
    --lent_;
    idle_since_ = now;
  }

 private:
  void* const endpoint_;
  size_t lent_ = 0;
  TimePoint idle_since_;
};

}  // namespace flamegate::proxy
