// The protocol-buffer wire format: a reader for every legal encoding and a writer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flamegate::control {

// The names of a message and of its fields, for the texts of faults. fields[n] is field n's name.
struct MessageNames {
  std::string_view message;
  std::span<const std::string_view> fields;
};

// What is wrong with the input, the first fault only. One fault serves the readers of one input.
struct WireFault {
  const char* input = nullptr;  // where the whole input begins
  std::string reason;           // "Sample.value at byte 17: the varint is cut short"; "": no fault

  bool any() const { return !reason.empty(); }
  void set(const MessageNames& names, uint32_t field, const char* at, std::string_view what);
};

// Walks over the fields of one message. Unknown fields of any kind, groups among them, are visited
// like known ones; whoever does not ask for the value skips it. A known field in another wire type
// than its schema's is a fault, except that repeated numbers come packed or not, mixed at will.
//
//   while (reader.next()) { if (reader.field() == 1) reader.number(&x); }
//   return !fault.any();
class WireReader {
 public:
  WireReader(std::string_view message, const MessageNames& names, WireFault& fault)
      : at_(message.data()), end_(message.data() + message.size()), names_(names), fault_(fault) {}

  // False at the end and from the first fault on.
  bool next() {
    if (at_ == end_ || fault_.any()) return false;
    begin_ = at_;
    field_ = 0;
    return readTag(&field_, &type_) && readValue(type_);
  }
  uint32_t field() const { return field_; }

  // The value of the field that next() found. False, and a fault, when the wire type is another.
  bool number(uint64_t* out) {
    if (type_ != Type::Varint) return fail("the value is not a varint");
    *out = number_;
    return true;
  }
  bool number(int64_t* out) {
    if (type_ != Type::Varint) return fail("the value is not a varint");
    *out = static_cast<int64_t>(number_);
    return true;
  }
  bool bytes(std::string_view* out) {
    if (type_ != Type::Bytes) return fail("the value is not length-delimited");
    *out = bytes_;
    return true;
  }
  // Whether the value is length-delimited: for a repeated number, a packed run.
  bool hasBytes() const { return type_ == Type::Bytes; }
  // Appends one number or a packed run. A fault when *out would grow beyond `count_max`.
  bool numbers(std::vector<uint64_t>* out, size_t count_max);

  // Notes what is wrong with the present field; false.
  bool fail(std::string_view what);

 private:
  enum class Type : uint8_t {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    Group = 3,
    GroupEnd = 4,
    Fixed32 = 5
  };

  bool readVarint(uint64_t* out) {
    if (at_ != end_ && static_cast<signed char>(*at_) >= 0) {
      *out = static_cast<unsigned char>(*at_++);
      return true;
    }
    return readLongVarint(out);
  }
  bool readLongVarint(uint64_t* out);
  bool readTag(uint32_t* field, Type* type);
  bool readValue(Type type) {
    return type == Type::Varint  ? readVarint(&number_)
           : type == Type::Bytes ? readBytes()
                                 : skipValue(type);
  }
  bool readBytes() {
    uint64_t size = 0;
    if (!readVarint(&size)) return false;
    if (size > static_cast<size_t>(end_ - at_)) return fail("the value is cut short");
    bytes_ = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }
  bool skipValue(Type type);
  bool skipGroup(uint32_t group);

  const char* at_;
  const char* end_;
  const MessageNames& names_;
  WireFault& fault_;
  uint32_t field_ = 0;
  Type type_ = Type::Varint;
  const char* begin_ = nullptr;  // of the present field
  uint64_t number_ = 0;
  std::string_view bytes_;
};

inline bool WireReader::readTag(uint32_t* field, Type* type) {
  constexpr uint64_t kFieldMax = (1U << 29) - 1;
  uint64_t tag = 0;
  if (!readVarint(&tag)) return false;
  if (tag >> 3 == 0 || tag >> 3 > kFieldMax) return fail("the field number is out of range");
  if ((tag & 7) > 5) return fail("there is no such wire type");
  *field = static_cast<uint32_t>(tag >> 3);
  *type = static_cast<Type>(tag & 7);
  return true;
}

// Appends fields to a message. Numbers that are 0 and empty texts are left out where the format
// reads absence as that.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

  void number(uint32_t field, uint64_t value);
  void number(uint32_t field, int64_t value) { number(field, static_cast<uint64_t>(value)); }
  void bytes(uint32_t field, std::string_view value);  // also when empty
  template <typename Integer>
  void packed(uint32_t field, std::span<const Integer> values) {
    if (values.empty()) return;
    size_t size = 0;
    for (const Integer value : values) size += varintSize(static_cast<uint64_t>(value));
    varint((uint64_t{field} << 3) | 2);
    varint(size);
    for (const Integer value : values) varint(static_cast<uint64_t>(value));
  }

 private:
  static size_t varintSize(uint64_t value);
  void varint(uint64_t value);

  std::string* out_;
};

}  // namespace flamegate::control
