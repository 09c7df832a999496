// Contiguous byte buffers on blocks from a per-worker free list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace flamegate::proxy {

// Free lists of two block sizes. A block is given back as soon as its buffer is empty, so an idle
// connection holds none, and a busy worker allocates none.
// Owner: a worker. Thread: its loop's.
class BufferPool {
 public:
  static constexpr size_t kSmallBytes = 16 * 1024;
  static constexpr size_t kLargeBytes = 128 * 1024;

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  // A block of at least `bytes`; `bytes` becomes its true size.
  char* take(size_t& bytes);
  void give(char* block, size_t bytes);

 private:
  static constexpr size_t kSmallKept = 512;  // 8 MiB
  static constexpr size_t kLargeKept = 64;   // 8 MiB
  std::vector<char*> small_;
  std::vector<char*> large_;
};

// Bytes written at the end and consumed at the front. Movable; gives its block back when empty.
class Buffer {
 public:
  explicit Buffer(BufferPool& pool) : pool_(&pool) {}
  Buffer(Buffer&& other) noexcept { take(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~Buffer() { release(); }

  std::string_view view() const { return {block_ + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  // Bytes that can be written without moving what is held.
  size_t room() const { return capacity_ - end_; }
  size_t capacity() const { return capacity_; }
  bool holdsBlock() const { return block_ != nullptr; }

  // Room of at least `bytes`, made by a new block, by moving down, or by a larger block.
  std::span<char> prepare(size_t bytes);
  // `bytes` of the prepared room are now content.
  void commit(size_t bytes) { end_ += static_cast<uint32_t>(bytes); }
  void append(std::string_view bytes);

  // Content that may be overwritten in place.
  char* data() { return block_ + begin_; }
  // Drops bytes at the end, down to `bytes`.
  void truncate(size_t bytes) { end_ = begin_ + static_cast<uint32_t>(bytes); }

  // Drops bytes at the front; keeps the block even when nothing is left.
  void consume(size_t bytes) { begin_ += static_cast<uint32_t>(bytes); }
  // Gives the block back when nothing is held.
  void releaseIfEmpty() {
    if (block_ != nullptr && empty()) release();
  }
  void clear() { begin_ = end_ = 0; }
  void release();

 private:
  void take(Buffer& other) {
    pool_ = other.pool_;
    block_ = std::exchange(other.block_, nullptr);
    capacity_ = std::exchange(other.capacity_, 0);
    begin_ = std::exchange(other.begin_, 0);
    end_ = std::exchange(other.end_, 0);
  }
  void moveTo(size_t capacity);

  BufferPool* pool_;
  char* block_ = nullptr;
  uint32_t capacity_ = 0;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

}  // namespace flamegate::proxy
