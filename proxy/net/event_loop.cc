#include "proxy/net/event_loop.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>

#include "proxy/base/check.h"

namespace flamegate::proxy {

static_assert(EventLoop::kRead == EV_READ && EventLoop::kWrite == EV_WRITE &&
              EventLoop::kClosed == EV_CLOSED);

Watch::~Watch() { stop(); }

void Watch::stop() {
  if (event_ == nullptr) return;
  event_free(event_);
  event_ = nullptr;
}

void Watch::onEvent(int, short events, void* self) {
  auto* watch = static_cast<Watch*>(self);
  watch->callback_(watch->context_, events);
}

EventLoop::EventLoop() : timers_(monotonicNow()) {}

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  std::unique_ptr<EventLoop> loop(new EventLoop());
  event_config* config = event_config_new();
  CHECK(config != nullptr);
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  event_config_require_features(config, EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE);
  loop->base_ = event_base_new_with_config(config);
  event_config_free(config);
  if (loop->base_ == nullptr) {
    return fail(ErrorCode::Unsupported, ErrorSource::Internal, "libevent offers no epoll here");
  }
  loop->wake_fd_.reset(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!loop->wake_fd_.valid()) {
    return fail(ErrorCode::Io, ErrorSource::Internal, std::strerror(errno));
  }
  auto watched = loop->watchLevel(
      loop->wake_fd_.get(), loop->wake_watch_,
      [](void* self, short) { static_cast<EventLoop*>(self)->runPosted(); }, loop.get());
  if (!watched) return fail(std::move(watched.error()));
  loop->tick_ = event_new(
      loop->base_, -1, EV_PERSIST,
      [](int, short, void* self) { static_cast<EventLoop*>(self)->tickTimers(); }, loop.get());
  CHECK(loop->tick_ != nullptr);
  return loop;
}

EventLoop::~EventLoop() {
  runDeletions();
  posted_.clear();
  wake_watch_.stop();
  if (tick_ != nullptr) event_free(tick_);
  if (base_ != nullptr) event_base_free(base_);
}

void EventLoop::run() {
  thread_ = std::this_thread::get_id();
  while (!stopped_.load(std::memory_order_relaxed)) runOnce(true);
}

void EventLoop::runOnce(bool wait) {
  tickAsNeeded();
  const bool pending = !resumed_.empty() || !deleted_.empty();
  event_base_loop(base_, EVLOOP_ONCE | (wait && !pending ? 0 : EVLOOP_NONBLOCK));
  afterBatch();
}

void EventLoop::stop() {
  stopped_.store(true, std::memory_order_relaxed);
  post([] {});
}

void EventLoop::afterBatch() {
  IntrusiveList<Resumable, Resumable> due;
  due.takeAll(resumed_);
  while (Resumable* object = due.front()) {
    object->unlink();
    object->resume();
  }
  runDeletions();
  now_ = {};
}

// A destructor may hand over further objects.
void EventLoop::runDeletions() {
  while (!deleted_.empty()) {
    auto object = std::move(deleted_.back());
    deleted_.pop_back();
  }
}

// Timers may have been armed in the last batch, or before the loop ran at all.
void EventLoop::tickAsNeeded() {
  if (ticking_ != timers_.idle()) return;
  ticking_ = !ticking_;
  const timeval every{0, TimerWheel::kTick.count() / 1000};
  if (ticking_) {
    event_add(tick_, &every);
  } else {
    event_del(tick_);
  }
}

void EventLoop::tickTimers() { timers_.advance(now()); }

void EventLoop::post(std::function<void()> work) {
  bool first = false;
  {
    std::lock_guard lock(posted_mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (!first) return;
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the loop is awake anyway.
  [[maybe_unused]] const ssize_t written = write(wake_fd_.get(), &one, sizeof one);
}

void EventLoop::runPosted() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(wake_fd_.get(), &count, sizeof count);
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(posted_mutex_);
    work.swap(posted_);
  }
  for (auto& each : work) each();
}

Result<> EventLoop::watch(int fd, Watch& watch, Watch::Callback callback, void* context) {
  return add(fd, EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, watch, callback, context);
}

Result<> EventLoop::watchLevel(int fd, Watch& watch, Watch::Callback callback, void* context) {
  return add(fd, EV_READ | EV_PERSIST, watch, callback, context);
}

Result<> EventLoop::add(int fd, short events, Watch& watch, Watch::Callback callback,
                        void* context) {
  watch.stop();
  watch.callback_ = callback;
  watch.context_ = context;
  watch.event_ = event_new(base_, fd, events, &Watch::onEvent, &watch);
  CHECK(watch.event_ != nullptr);
  if (event_add(watch.event_, nullptr) != 0) {
    watch.stop();
    return fail(ErrorCode::Io, ErrorSource::Internal, "the descriptor cannot be watched");
  }
  return {};
}

}  // namespace flamegate::proxy
