// A few threads for work that must not hold up an event loop: decoding, merging, hashing.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace flamegate::proxy {

// Runs jobs in the order they were given, each on whichever thread is free.
// Owner: the process. Thread: submit() from any; jobs run on the pool's own.
// Ends: the destructor drops what has not started and waits for what has.
class ThreadPool {
 public:
  using Job = std::function<void()>;

  // At most `queue_max` jobs wait for a thread.
  ThreadPool(size_t threads, size_t queue_max);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  // False when the queue is full; the job is then dropped without having run.
  [[nodiscard]] bool submit(Job job);

  // Jobs that wait for a thread.
  size_t queued() const;

 private:
  void work();

  const size_t queue_max_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace flamegate::proxy
