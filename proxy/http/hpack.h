// Compression of HTTP/2 fields (RFC 7541). The only code that sees nghttp2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "proxy/base/buffer.h"

struct nghttp2_hd_inflater;
struct nghttp2_hd_deflater;

namespace flamegate::proxy {

struct HpackField {
  std::string_view name;
  std::string_view value;
  bool sensitive = false;  // never put into a table, here or further on (RFC 7541 §7.1.3)
};

// Memory for the tables of many connections: blocks that one gives back another takes, so that a
// field which enters or leaves a table costs no allocation in steady traffic.
// Owner: a worker; outlives its coders. Thread: its loop's.
class HpackMemory {
 public:
  HpackMemory();
  HpackMemory(const HpackMemory&) = delete;
  HpackMemory& operator=(const HpackMemory&) = delete;
  ~HpackMemory();

  void* take(size_t bytes);
  void give(void* block);
  // As realloc().
  void* resize(void* block, size_t bytes);

  struct Callbacks;
  Callbacks& callbacks() { return *callbacks_; }

 private:
  static constexpr size_t kClasses = 9;             // 32 bytes to 8 KiB
  static constexpr size_t kKeptBytesMax = 1 << 20;  // of each class
  std::array<std::vector<void*>, kClasses> kept_;
  std::unique_ptr<Callbacks> callbacks_;
};

// The fields of the blocks that one peer sends, in their order. Owner: a codec.
class HpackDecoder {
 public:
  // Table of 4096 bytes, the default that we do not change.
  explicit HpackDecoder(HpackMemory& memory);

  enum class Step : uint8_t { Field, End, Bad };
  // Reads from the front of `block`, which is a whole field block. After Bad the connection cannot
  // go on (§2.2). The views of `field` last until the next call.
  Step next(std::string_view& block, HpackField& field);

 private:
  struct Delete {
    void operator()(nghttp2_hd_inflater* inflater) const;
  };
  std::unique_ptr<nghttp2_hd_inflater, Delete> inflater_;
};

// Owner: a codec.
class HpackEncoder {
 public:
  // Fields of one block at most.
  static constexpr size_t kFieldsMax = 208;

  explicit HpackEncoder(HpackMemory& memory);

  // The peer's SETTINGS_HEADER_TABLE_SIZE; at most 4096 bytes are used of it.
  void setTableBytesMax(uint32_t bytes);
  // Appends a block.
  void encode(std::span<const HpackField> fields, Buffer& out);

 private:
  struct Delete {
    void operator()(nghttp2_hd_deflater* deflater) const;
  };
  std::unique_ptr<nghttp2_hd_deflater, Delete> deflater_;
};

}  // namespace flamegate::proxy
