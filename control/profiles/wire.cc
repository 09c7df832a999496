#include "control/profiles/wire.h"

#include <bit>

namespace flamegate::control {
namespace {

constexpr size_t kGroupDepthMax = 100;

}  // namespace

void WireFault::set(const MessageNames& names, uint32_t field, const char* at,
                    std::string_view what) {
  if (any()) return;
  reason = names.message;
  if (field < names.fields.size() && !names.fields[field].empty()) {
    reason += '.';
    reason += names.fields[field];
  } else if (field != 0) {
    reason += " field " + std::to_string(field);
  }
  reason += " at byte " + std::to_string(at - input) + ": ";
  reason += what;
}

bool WireReader::fail(std::string_view what) {
  fault_.set(names_, field_, begin_, what);
  at_ = end_;
  return false;
}

bool WireReader::readLongVarint(uint64_t* out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) return fail("the varint is cut short");
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) {
      *out = value;
      return true;
    }
  }
  return fail("the varint is longer than 10 bytes");
}

bool WireReader::skipValue(Type type) {
  if (type == Type::Group) return skipGroup(field_);
  if (type == Type::GroupEnd) return fail("a group ends that did not begin");
  const size_t size = type == Type::Fixed64 ? 8 : 4;
  if (size > static_cast<size_t>(end_ - at_)) return fail("the value is cut short");
  at_ += size;
  return true;
}

bool WireReader::skipGroup(uint32_t group) {
  std::vector<uint32_t> open = {group};
  while (!open.empty()) {
    if (at_ == end_) return fail("the group is cut short");
    uint32_t field = 0;
    Type type = Type::Varint;
    if (!readTag(&field, &type)) return false;
    if (type == Type::Group) {
      if (open.size() >= kGroupDepthMax) return fail("groups are nested too deep");
      open.push_back(field);
    } else if (type == Type::GroupEnd) {
      if (field != open.back()) return fail("the group ends with another field's number");
      open.pop_back();
    } else if (!readValue(type)) {
      return false;
    }
  }
  return true;
}

bool WireReader::numbers(std::vector<uint64_t>* out, size_t count_max) {
  if (type_ == Type::Varint) {
    if (out->size() >= count_max) return fail("there are too many values");
    out->push_back(number_);
    return true;
  }
  if (type_ != Type::Bytes) return fail("the value is neither a varint nor packed");
  WireReader run(bytes_, names_, fault_);
  run.field_ = field_;
  run.begin_ = begin_;
  while (run.at_ != run.end_) {
    uint64_t value = 0;
    if (!run.readVarint(&value)) return fail("");
    if (out->size() >= count_max) return fail("there are too many values");
    out->push_back(value);
  }
  return true;
}

size_t WireWriter::varintSize(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

void WireWriter::varint(uint64_t value) {
  while (value >= 0x80) {
    out_->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_->push_back(static_cast<char>(value));
}

void WireWriter::number(uint32_t field, uint64_t value) {
  if (value == 0) return;
  varint(uint64_t{field} << 3);
  varint(value);
}

void WireWriter::bytes(uint32_t field, std::string_view value) {
  varint((uint64_t{field} << 3) | 2);
  varint(value.size());
  out_->append(value);
}

}  // namespace flamegate::control
