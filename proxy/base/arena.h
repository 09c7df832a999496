// Memory for the small strings of one message: taken piecemeal, given back in one go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

namespace flamegate::proxy {

// The first kInlineBytes come without allocation; reset() keeps nothing beyond them.
// Owner: an exchange or stream. Thread: its loop's.
class Arena {
 public:
  static constexpr size_t kInlineBytes = 1536;

  char* take(size_t bytes) {
    if (bytes <= sizeof inline_ - used_) {
      char* at = inline_ + used_;
      used_ += bytes;
      return at;
    }
    more_.push_back(std::make_unique<char[]>(bytes));
    return more_.back().get();
  }

  // One string from several pieces, valid until reset().
  std::string_view join(std::initializer_list<std::string_view> pieces) {
    size_t bytes = 0;
    for (std::string_view piece : pieces) bytes += piece.size();
    char* const start = take(bytes);
    char* at = start;
    for (std::string_view piece : pieces) at = std::copy(piece.begin(), piece.end(), at);
    return {start, bytes};
  }
  std::string_view copy(std::string_view text) { return join({text}); }

  void reset() {
    used_ = 0;
    if (!more_.empty()) more_.clear();
  }

 private:
  size_t used_ = 0;
  std::vector<std::unique_ptr<char[]>> more_;
  char inline_[kInlineBytes];
};

}  // namespace flamegate::proxy
