// The loop of a thread: descriptors, deadlines, posted work and deferred destruction.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "proxy/base/buffer.h"
#include "proxy/base/clock.h"
#include "proxy/base/fd.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/base/result.h"
#include "proxy/net/timer.h"

struct event;
struct event_base;

namespace flamegate::proxy {

// What deleteLater() takes. Ends: after the current batch of events.
class Deletable {
 public:
  virtual ~Deletable() = default;
};

// An object that asks to be called once after the current batch, to go on with work that it cut
// short for fairness. Unlinks itself when destroyed.
class Resumable : public ListNode<Resumable> {
 public:
  virtual void resume() = 0;

 protected:
  ~Resumable() = default;
};

// Readiness of one descriptor, edge-triggered: bits in EventLoop::kRead… are or'ed by the callback.
// Owner: whoever waits. Ends: unwatched when destroyed, which must come before the close.
class Watch {
 public:
  using Callback = void (*)(void* context, short events);

  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  bool active() const { return event_ != nullptr; }
  void stop();

 private:
  friend class EventLoop;
  static void onEvent(int fd, short events, void* self);

  event* event_ = nullptr;
  Callback callback_ = nullptr;
  void* context_ = nullptr;
};

// One libevent base without locks. Only post() and stop() may be called from other threads.
// Owner: a Worker, control, or a test.
class EventLoop {
 public:
  static constexpr short kRead = 0x02, kWrite = 0x04, kClosed = 0x80;  // libevent's EV_ values

  static Result<std::unique_ptr<EventLoop>> create();
  ~EventLoop();

  // Runs until stop(). Events of one batch are handled, then resumed objects, posted work, and at
  // last the deferred deletions.
  void run();
  // Handles what is ready now, waiting for at most one batch when `wait`; for tests.
  void runOnce(bool wait);
  void stop();

  // Runs `work` on the loop's thread, in the order of posting.
  void post(std::function<void()> work);

  // Watches a descriptor for both directions and for the peer's close, edge-triggered, with one
  // epoll_ctl for its whole life.
  Result<> watch(int fd, Watch& watch, Watch::Callback callback, void* context);
  // The same level-triggered and for reading alone: listeners, eventfds.
  Result<> watchLevel(int fd, Watch& watch, Watch::Callback callback, void* context);

  void resumeLater(Resumable& object) {
    if (!object.linked()) resumed_.pushBack(object);
  }
  void deleteLater(std::unique_ptr<Deletable> object) { deleted_.push_back(std::move(object)); }

  // The time of this batch of events: when it was first asked for.
  TimePoint now() {
    if (!now_.set()) now_ = monotonicNow();
    return now_;
  }
  TimerWheel& timers() { return timers_; }
  BufferPool& buffers() { return buffers_; }
  bool inLoopThread() const { return thread_ == std::this_thread::get_id(); }

 private:
  EventLoop();
  Result<> add(int fd, short events, Watch& watch, Watch::Callback callback, void* context);
  void afterBatch();
  void runPosted();
  void runDeletions();
  void tickAsNeeded();
  void tickTimers();

  event_base* base_ = nullptr;
  std::thread::id thread_ = std::this_thread::get_id();
  TimePoint now_;
  BufferPool buffers_;
  TimerWheel timers_;
  event* tick_ = nullptr;
  bool ticking_ = false;
  IntrusiveList<Resumable, Resumable> resumed_;
  std::vector<std::unique_ptr<Deletable>> deleted_;
  std::atomic<bool> stopped_{false};

  UniqueFd wake_fd_;
  Watch wake_watch_;
  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by posted_mutex_
};

}  // namespace flamegate::proxy
