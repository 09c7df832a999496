#include "proxy/base/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "proxy/base/check.h"

namespace flamegate::proxy {
namespace {

void giveTo(std::vector<char*>& list, size_t kept, char* block) {
  if (list.size() < kept) {
    list.push_back(block);
  } else {
    std::free(block);
  }
}

}  // namespace

BufferPool::~BufferPool() {
  for (char* block : small_) std::free(block);
  for (char* block : large_) std::free(block);
}

char* BufferPool::take(size_t& bytes) {
  std::vector<char*>* list = nullptr;
  if (bytes <= kSmallBytes) {
    bytes = kSmallBytes;
    list = &small_;
  } else if (bytes <= kLargeBytes) {
    bytes = kLargeBytes;
    list = &large_;
  }
  if (list != nullptr && !list->empty()) {
    char* block = list->back();
    list->pop_back();
    return block;
  }
  char* block = static_cast<char*>(std::malloc(bytes));
  CHECK(block != nullptr);
  return block;
}

void BufferPool::give(char* block, size_t bytes) {
  if (bytes == kSmallBytes) {
    giveTo(small_, kSmallKept, block);
  } else if (bytes == kLargeBytes) {
    giveTo(large_, kLargeKept, block);
  } else {
    std::free(block);
  }
}

std::span<char> Buffer::prepare(size_t bytes) {
  if (room() < bytes) {
    const size_t needed = size() + bytes;
    if (needed <= capacity_) {
      std::memmove(block_, block_ + begin_, size());
      end_ -= begin_;
      begin_ = 0;
    } else {
      moveTo(std::max(needed, 2 * size_t{capacity_}));
    }
  }
  return {block_ + end_, room()};
}

void Buffer::moveTo(size_t capacity) {
  char* block = pool_->take(capacity);
  const size_t held = size();
  if (block_ != nullptr) {
    std::memcpy(block, block_ + begin_, held);
    pool_->give(block_, capacity_);
  }
  block_ = block;
  capacity_ = static_cast<uint32_t>(capacity);
  begin_ = 0;
  end_ = static_cast<uint32_t>(held);
}

void Buffer::append(std::string_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
  commit(bytes.size());
}

void Buffer::release() {
  if (block_ != nullptr) pool_->give(block_, capacity_);
  block_ = nullptr;
  capacity_ = begin_ = end_ = 0;
}

}  // namespace flamegate::proxy
