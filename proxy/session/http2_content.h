// Content that has come on a stream and has not been taken.
#pragma once

#include <string_view>

#include "proxy/base/buffer.h"

namespace flamegate::proxy {

// Content is offered where it is, in the input of the session; only what the stream's user leaves
// is copied. The stream's window bounds it. Owner: a stream.
class Http2Content {
 public:
  explicit Http2Content(BufferPool& pool) : kept_(pool) {}

  bool empty() const { return kept_.empty() && arrived_.empty(); }
  std::string_view view() const { return kept_.empty() ? arrived_ : kept_.view(); }

  // `content` stays where it is until keep().
  void arrive(std::string_view content) {
    if (kept_.empty()) {
      arrived_ = content;
    } else {
      kept_.append(content);
    }
  }
  void keep() {
    kept_.append(arrived_);
    arrived_ = {};
  }
  // From the front of view().
  void consume(size_t bytes) {
    if (kept_.empty()) {
      arrived_.remove_prefix(bytes);
    } else {
      kept_.consume(bytes);
      kept_.releaseIfEmpty();
    }
  }
  void clear() {
    kept_.release();
    arrived_ = {};
  }

 private:
  Buffer kept_;
  std::string_view arrived_;
};

}  // namespace flamegate::proxy
