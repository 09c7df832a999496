// How a line of the access log is written: pairs of key and value, as JSON or as text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "config/schema/config.h"
#include "proxy/base/clock.h"
#include "proxy/http/date.h"

namespace flamegate::proxy {

// A key together with the punctuation around it, made when the program is compiled.
class LogKey {
 public:
  static constexpr size_t kBytes = 32;

  template <size_t size>
  consteval explicit LogKey(const char (&name)[size]) {
    static_assert(size + 4 <= kBytes);
    const std::string_view key(name, size - 1);
    json_size_ = write(json_, {",\"", key, "\":"});
    text_size_ = write(text_, {" ", key, "="});
  }

  // Copies kBytes, of which those up to the returned end count.
  char* write(bool json, char* at) const {
    std::copy_n((json ? json_ : text_).data(), kBytes, at);
    return at + (json ? json_size_ : text_size_);
  }

 private:
  static consteval uint8_t write(std::array<char, kBytes>& out,
                                 std::initializer_list<std::string_view> parts) {
    size_t at = 0;
    for (std::string_view part : parts) {
      for (char c : part) out[at++] = c;
    }
    return static_cast<uint8_t>(at);
  }

  std::array<char, kBytes> json_{};
  std::array<char, kBytes> text_{};
  uint8_t json_size_ = 0;
  uint8_t text_size_ = 0;
};

// Lines that wait to be written out, with the memory that they need and no more than twice it.
// Owner: a worker's log. Thread: its loop's.
class LogLines {
 public:
  std::string_view view() const { return {bytes_.get(), size_}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }

 private:
  friend class LogLine;
  // Where at least `bytes` may be written next.
  char* room(size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return bytes_.get() + size_;
  }
  void end(const char* at) { size_ = static_cast<size_t>(at - bytes_.get()); }
  void grow(size_t bytes);

  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  TimestampCache timestamps_;
};

// One line. It begins with its time and ends with the object, by a newline, and is valid UTF-8
// whatever the bytes of a value are: those that are not text become \u00XX (JSON) or \xXX (text).
// At most 2048 bytes of a value are written.
class LogLine {
 public:
  LogLine(config::AccessLog::Format format, int64_t unix_ms, LogLines& lines);
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine();

  void text(const LogKey& key, std::string_view value);
  void textIfAny(const LogKey& key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  void number(const LogKey& key, uint64_t value);
  // Microseconds between two moments; left out when one was not reached.
  void span(const LogKey& key, TimePoint from, TimePoint to) {
    if (!from.set() || !to.set() || to < from) return;
    number(key, static_cast<uint64_t>((to - from).count() / 1000));
  }

 private:
  const bool json_;
  LogLines& lines_;
};

}  // namespace flamegate::proxy
