#include "proxy/upstream/shared_limit.h"

#include <algorithm>

namespace flamegate::proxy {

size_t SharedLimit::take(size_t wanted) {
  size_t free = free_.load(std::memory_order_relaxed);
  while (free > 0) {
    const size_t taken = std::min(free, wanted);
    if (free_.compare_exchange_weak(free, free - taken, std::memory_order_relaxed)) return taken;
  }
  return 0;
}

}  // namespace flamegate::proxy
