#include "proxy/http/hpack.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <nghttp2/nghttp2.h>

#include "proxy/base/check.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kSmallestBytes = 32;
constexpr uint32_t kTableBytesMax = 4096;

// Before each block; keeps what follows aligned for any type.
struct alignas(std::max_align_t) BlockHead {
  size_t bytes;  // of what follows
};

BlockHead* headOf(void* block) { return static_cast<BlockHead*>(block) - 1; }

size_t classOf(size_t bytes) {
  return static_cast<size_t>(
      std::bit_width((std::max(bytes, kSmallestBytes) - 1) / kSmallestBytes));
}

std::string_view viewOf(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

uint8_t* bytesOf(std::string_view text) {
  return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
}

}  // namespace

// ---- Memory -------------------------------------------------------------------------------------

struct HpackMemory::Callbacks {
  nghttp2_mem functions;  // coders keep a pointer to it
};

HpackMemory::HpackMemory()
    : callbacks_(std::make_unique<Callbacks>(Callbacks{nghttp2_mem{
          this,
          [](size_t bytes, void* self) { return static_cast<HpackMemory*>(self)->take(bytes); },
          [](void* block, void* self) { static_cast<HpackMemory*>(self)->give(block); },
          [](size_t count, size_t bytes, void* self) {
            void* block = static_cast<HpackMemory*>(self)->take(count * bytes);
            return std::memset(block, 0, count * bytes);
          },
          [](void* block, size_t bytes, void* self) {
            return static_cast<HpackMemory*>(self)->resize(block, bytes);
          },
      }})) {}

HpackMemory::~HpackMemory() {
  for (auto& blocks : kept_) {
    for (void* block : blocks) std::free(headOf(block));
  }
}

void* HpackMemory::take(size_t bytes) {
  const size_t size_class = classOf(bytes);
  if (size_class < kClasses) {
    bytes = kSmallestBytes << size_class;
    auto& blocks = kept_[size_class];
    if (!blocks.empty()) {
      void* block = blocks.back();
      blocks.pop_back();
      return block;
    }
  }
  auto* head = static_cast<BlockHead*>(std::malloc(sizeof(BlockHead) + bytes));
  CHECK(head != nullptr);
  head->bytes = bytes;
  return head + 1;
}

void HpackMemory::give(void* block) {
  if (block == nullptr) return;
  const size_t bytes = headOf(block)->bytes;
  const size_t size_class = classOf(bytes);
  if (size_class < kClasses && kept_[size_class].size() < kKeptBytesMax / bytes) {
    kept_[size_class].push_back(block);
  } else {
    std::free(headOf(block));
  }
}

void* HpackMemory::resize(void* block, size_t bytes) {
  if (block == nullptr) return take(bytes);
  const size_t held = headOf(block)->bytes;
  if (bytes <= held) return block;
  void* larger = take(bytes);
  std::memcpy(larger, block, held);
  give(block);
  return larger;
}

// ---- Decoder ------------------------------------------------------------------------------------

HpackDecoder::HpackDecoder(HpackMemory& memory) {
  nghttp2_hd_inflater* inflater = nullptr;
  CHECK(nghttp2_hd_inflate_new2(&inflater, &memory.callbacks().functions) == 0);
  inflater_.reset(inflater);
}

void HpackDecoder::Delete::operator()(nghttp2_hd_inflater* inflater) const {
  nghttp2_hd_inflate_del(inflater);
}

HpackDecoder::Step HpackDecoder::next(std::string_view& block, HpackField& field) {
  nghttp2_nv pair;
  int flags = 0;
  const ssize_t used = nghttp2_hd_inflate_hd2(inflater_.get(), &pair, &flags, bytesOf(block),
                                              block.size(), /*in_final=*/1);
  if (used < 0) return Step::Bad;
  block.remove_prefix(static_cast<size_t>(used));
  if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
    field = {viewOf(pair.name, pair.namelen), viewOf(pair.value, pair.valuelen),
             (pair.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0};
    return Step::Field;
  }
  if ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) return Step::Bad;
  nghttp2_hd_inflate_end_headers(inflater_.get());
  return Step::End;
}

// ---- Encoder ------------------------------------------------------------------------------------

HpackEncoder::HpackEncoder(HpackMemory& memory) {
  nghttp2_hd_deflater* deflater = nullptr;
  CHECK(nghttp2_hd_deflate_new2(&deflater, kTableBytesMax, &memory.callbacks().functions) == 0);
  deflater_.reset(deflater);
}

void HpackEncoder::Delete::operator()(nghttp2_hd_deflater* deflater) const {
  nghttp2_hd_deflate_del(deflater);
}

void HpackEncoder::setTableBytesMax(uint32_t bytes) {
  nghttp2_hd_deflate_change_table_size(deflater_.get(), std::min(bytes, kTableBytesMax));
}

void HpackEncoder::encode(std::span<const HpackField> fields, Buffer& out) {
  CHECK(fields.size() <= kFieldsMax);
  std::array<nghttp2_nv, kFieldsMax> pairs;
  for (size_t i = 0; i < fields.size(); ++i) {
    const HpackField& field = fields[i];
    pairs[i] = {
        bytesOf(field.name), bytesOf(field.value), field.name.size(), field.value.size(),
        static_cast<uint8_t>(field.sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE)};
  }
  const size_t bound = nghttp2_hd_deflate_bound(deflater_.get(), pairs.data(), fields.size());
  const std::span<char> room = out.prepare(bound);
  const ssize_t written =
      nghttp2_hd_deflate_hd(deflater_.get(), reinterpret_cast<uint8_t*>(room.data()), room.size(),
                            pairs.data(), fields.size());
  CHECK(written >= 0);
  out.commit(static_cast<size_t>(written));
}

}  // namespace flamegate::proxy
