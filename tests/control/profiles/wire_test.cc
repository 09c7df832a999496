#include "control/profiles/wire.h"

#include <gtest/gtest.h>

#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

using namespace std::string_literals;

constexpr std::string_view kFields[] = {"", "id", "values", "text"};
constexpr MessageNames kNames{"Thing", kFields};

struct Thing {
  uint64_t id = 0;
  std::vector<uint64_t> values;
  std::string_view text;
  std::string fault;
};

Thing readThing(std::string_view bytes) {
  Thing thing;
  WireFault fault;
  fault.input = bytes.data();
  WireReader reader(bytes, kNames, fault);
  while (reader.next()) {
    if (reader.field() == 1) reader.number(&thing.id);
    if (reader.field() == 2) reader.numbers(&thing.values, 4);
    if (reader.field() == 3) reader.bytes(&thing.text);
  }
  thing.fault = fault.reason;
  return thing;
}

TEST(WireReader, ReadsNumbersOfEveryLength) {
  for (int bits = 0; bits < 64; ++bits) {
    const uint64_t value = uint64_t{1} << bits;
    EXPECT_EQ(readThing(wire::number(1, value)).id, value);
  }
  EXPECT_EQ(readThing(wire::number(1, UINT64_MAX)).id, UINT64_MAX);
}

TEST(WireReader, AcceptsVarintsThatAreLongerThanNeeded) {
  EXPECT_EQ(readThing("\x08\x81\x80\x80\x00"s).id, 1U);
  EXPECT_EQ(readThing("\x08\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00"s).id, 1U);
}

TEST(WireReader, AcceptsRepeatedNumbersPackedAndNotMixed) {
  const Thing thing = readThing(wire::number(2, 1) + wire::bytes(2, "\x02\x03") +
                                wire::bytes(2, "") + wire::number(2, 4));
  EXPECT_EQ(thing.fault, "");
  EXPECT_EQ(thing.values, (std::vector<uint64_t>{1, 2, 3, 4}));
}

TEST(WireReader, SkipsUnknownFieldsOfEveryKind) {
  const std::string unknown = wire::number(9, 300) + "\x49" + "12345678" + wire::bytes(9, "abc") +
                              "\x4b" + wire::number(1, 7) + "\x53" + wire::bytes(3, "x") + "\x54" +
                              "\x4c" + "\x4d" + "1234";
  const Thing thing = readThing(unknown + wire::number(1, 5) + unknown);
  EXPECT_EQ(thing.fault, "");
  EXPECT_EQ(thing.id, 5U);
}

TEST(WireReader, SaysWhatIsWrongWhereAndInWhichField) {
  const struct {
    std::string bytes;
    std::string fault;
  } cases[] = {
      {"\x08", "Thing.id at byte 0: the varint is cut short"},
      {"\x08\x01\x08\x80", "Thing.id at byte 2: the varint is cut short"},
      {"\x80", "Thing at byte 0: the varint is cut short"},
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
       "Thing.id at byte 0: the varint is longer than 10 bytes"},
      {"\x1a\x05xx", "Thing.text at byte 0: the value is cut short"},
      {"\x12\x02\x01\x80", "Thing.values at byte 0: the varint is cut short"},
      {"\x12\x05\x01\x01\x01\x01\x01", "Thing.values at byte 0: there are too many values"},
      {"\x0a\x01x", "Thing.id at byte 0: the value is not a varint"},
      {"\x18\x01", "Thing.text at byte 0: the value is not length-delimited"},
      {"\x15\x01\x01\x01\x01", "Thing.values at byte 0: the value is neither a varint nor packed"},
      {"\x00\x01"s, "Thing at byte 0: the field number is out of range"},
      {"\x0e\x01", "Thing at byte 0: there is no such wire type"},
      {"\x4c", "Thing field 9 at byte 0: a group ends that did not begin"},
      {"\x4b", "Thing field 9 at byte 0: the group is cut short"},
      {"\x4b\x54", "Thing field 9 at byte 0: the group ends with another field's number"},
      {"\x49\x01", "Thing field 9 at byte 0: the value is cut short"},
      {std::string(200, '\x4b'), "Thing field 9 at byte 0: groups are nested too deep"},
  };
  for (const auto& [bytes, fault] : cases) EXPECT_EQ(readThing(bytes).fault, fault);
}

TEST(WireWriter, WritesWhatTheReaderReads) {
  std::string out;
  WireWriter writer(&out);
  writer.number(1, int64_t{-1});
  const std::vector<int64_t> values = {0, -5, INT64_MIN, 300};
  writer.packed(2, std::span<const int64_t>(values));
  writer.bytes(3, "text");
  const Thing thing = readThing(out);
  EXPECT_EQ(thing.fault, "");
  EXPECT_EQ(thing.id, UINT64_MAX);
  EXPECT_EQ(std::vector<int64_t>(thing.values.begin(), thing.values.end()), values);
  EXPECT_EQ(thing.text, "text");
}

TEST(WireWriter, LeavesOutZerosAndEmptyRuns) {
  std::string out;
  WireWriter writer(&out);
  writer.number(1, uint64_t{0});
  writer.packed(2, std::span<const int64_t>());
  EXPECT_EQ(out, "");
  writer.bytes(3, "");
  EXPECT_EQ(out, wire::bytes(3, ""));
}

}  // namespace
}  // namespace flamegate::control
