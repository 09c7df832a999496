#include "proxy/base/thread_pool.h"

#include <utility>

#include "proxy/base/check.h"

namespace flamegate::proxy {

ThreadPool::ThreadPool(size_t threads, size_t queue_max) : queue_max_(queue_max) {
  CHECK(threads > 0);
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  std::deque<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool ThreadPool::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= queue_max_) return false;
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

size_t ThreadPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void ThreadPool::work() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job();
  }
}

}  // namespace flamegate::proxy
