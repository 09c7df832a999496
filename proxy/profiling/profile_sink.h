// The bounded hand-over of capture records from the workers to whoever carries them to control.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "proxy/base/clock.h"

namespace flamegate::proxy {

// A queue of lines that never blocks a producer: when it is full the oldest line is dropped and counted.
// Owner: the process. Thread: any producer, one consumer.
class ProfileSink {
 public:
  static constexpr size_t kLinesMax = 10'000;
  static constexpr size_t kBytesMax = 8 * 1024 * 1024;

  void push(std::string line);

  // Waits up to `patience` for lines, then takes up to `bytes_max` of them, each with its line feed.
  // Empty after the time, or after wake().
  std::string take(size_t bytes_max, Duration patience);
  // Lines of a batch that could not be handed over; they go back to the front.
  void putBack(std::string lines);
  // Makes a waiting take() return.
  void wake();

  size_t lines() const;
  uint64_t dropped() const;

 private:
  void dropOverflow();

  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::string> lines_;  // oldest first; one putBack() batch is one element
  size_t bytes_ = 0;
  uint64_t dropped_ = 0;
  bool woken_ = false;
};

}  // namespace flamegate::proxy
