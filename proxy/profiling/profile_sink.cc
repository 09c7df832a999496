#include "proxy/profiling/profile_sink.h"

#include <algorithm>

namespace flamegate::proxy {

void ProfileSink::push(std::string line) {
  line.push_back('\n');
  {
    std::lock_guard lock(mutex_);
    bytes_ += line.size();
    lines_.push_back(std::move(line));
    dropOverflow();
  }
  filled_.notify_one();
}

void ProfileSink::dropOverflow() {
  while (lines_.size() > kLinesMax || bytes_ > kBytesMax) {
    bytes_ -= lines_.front().size();
    dropped_ += static_cast<uint64_t>(
        std::count(lines_.front().begin(), lines_.front().end(), '\n'));
    lines_.pop_front();
  }
}

std::string ProfileSink::take(size_t bytes_max, Duration patience) {
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, patience, [this] { return !lines_.empty() || woken_; });
  woken_ = false;
  std::string batch;
  while (!lines_.empty() && (batch.empty() || batch.size() + lines_.front().size() <= bytes_max)) {
    bytes_ -= lines_.front().size();
    batch += lines_.front();
    lines_.pop_front();
  }
  return batch;
}

void ProfileSink::putBack(std::string lines) {
  std::lock_guard lock(mutex_);
  bytes_ += lines.size();
  lines_.push_front(std::move(lines));
  dropOverflow();
}

void ProfileSink::wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  filled_.notify_one();
}

size_t ProfileSink::lines() const {
  std::lock_guard lock(mutex_);
  return lines_.size();
}

uint64_t ProfileSink::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace flamegate::proxy
