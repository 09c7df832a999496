// Interning: equal values get equal small numbers, in order of first appearance. The hashes are
// seeded at random once a process, so that nobody can prepare colliding names; the numbers do not
// depend on the seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "proxy/base/encoding.h"

namespace flamegate::control {

inline uint64_t hashSeed() {
  static const uint64_t seed = [] {
    uint64_t bits = 0;
    proxy::fillRandom(reinterpret_cast<char*>(&bits), sizeof(bits));
    return bits | 1;
  }();
  return seed;
}

// Folds a 64x64-bit product: one multiplication, and every input bit reaches the low bits.
inline uint64_t mixHash(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9e3779b97f4a7c15U) * (b ^ 0xd1b54a32d192ed03U);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hashItems(std::span<const char> bytes, uint64_t seed) {
  uint64_t hash = mixHash(seed, bytes.size());
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mixHash(hash ^ word, seed);
  }
  if (left > 0) {
    uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = mixHash(hash ^ word, seed);
  }
  return hash;
}

// Open addressing over indices. A slot keeps 32 bits of the hash beside the index, so that growing
// and passing over other values do not touch the values themselves.
class IndexTable {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  // The index under which the value is known, or kNone after entering `fresh` in its place.
  // match(index) says whether the value with that index is the one looked for.
  template <typename Match>
  uint32_t findOrEnter(uint64_t hash, uint32_t fresh, const Match& match) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    const auto tag = static_cast<uint32_t>(hash);
    const size_t mask = slots_.size() - 1;
    size_t at = tag & mask;
    for (; slots_[at].index != kNone; at = (at + 1) & mask) {
      if (slots_[at].tag == tag && match(slots_[at].index)) return slots_[at].index;
    }
    slots_[at] = {fresh, tag};
    ++used_;
    return kNone;
  }

 private:
  struct Slot {
    uint32_t index = kNone;
    uint32_t tag = 0;
  };

  void grow() {
    const size_t mask = (slots_.empty() ? 64 : slots_.size() * 2) - 1;
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(mask + 1));
    for (const Slot& slot : old) {
      if (slot.index == kNone) continue;
      size_t at = slot.tag & mask;
      while (slots_[at].index != kNone) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

// Interns values of a fixed size. T has operator== and `uint64_t hash(uint64_t seed) const`.
template <typename T>
class InternTable {
 public:
  uint32_t intern(const T& value) {
    const auto fresh = static_cast<uint32_t>(values_.size());
    const uint32_t known = table_.findOrEnter(
        value.hash(seed_), fresh, [&](uint32_t index) { return values_[index] == value; });
    if (known != IndexTable::kNone) return known;
    values_.push_back(value);
    return fresh;
  }

  size_t size() const { return values_.size(); }
  const T& operator[](uint32_t index) const { return values_[index]; }
  std::vector<T> take() { return std::exchange(values_, {}); }

 private:
  uint64_t seed_ = hashSeed();
  IndexTable table_;
  std::vector<T> values_;
};

// Sequences of T, back to back. Index 0 is the empty sequence.
template <typename T>
class SequencePool {
 public:
  size_t size() const { return ends_.size(); }
  size_t itemCount() const { return items_.size(); }

  std::span<const T> operator[](uint32_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return {items_.data() + begin, ends_[index] - begin};
  }

  void add(std::span<const T> items) {
    items_.insert(items_.end(), items.begin(), items.end());
    ends_.push_back(items_.size());
  }

 private:
  std::vector<T> items_;
  std::vector<size_t> ends_ = {0};
};

// Interns sequences. There is an overload of hashItems for T.
template <typename T>
class SequenceInterner {
 public:
  SequenceInterner() {
    table_.findOrEnter(hashItems(std::span<const T>{}, seed_), 0, [](uint32_t) { return false; });
  }

  uint32_t intern(std::span<const T> items) {
    const auto fresh = static_cast<uint32_t>(pool_.size());
    const uint32_t known = table_.findOrEnter(hashItems(items, seed_), fresh, [&](uint32_t index) {
      return std::ranges::equal(pool_[index], items);
    });
    if (known != IndexTable::kNone) return known;
    pool_.add(items);
    return fresh;
  }

  const SequencePool<T>& pool() const { return pool_; }
  SequencePool<T> take() { return std::exchange(pool_, {}); }

 private:
  uint64_t seed_ = hashSeed();
  IndexTable table_;
  SequencePool<T> pool_;
};

}  // namespace flamegate::control
