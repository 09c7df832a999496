#include "control/profiles/pprof.h"

#include <gtest/gtest.h>

#include "control/profiles/builder.h"
#include "control/profiles/compression.h"
#include "control/profiles/limits.h"
#include "tests/control/profiles/profile_fixtures.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using wire::bytes;
using wire::number;
using wire::varint;

// A file of strings 1…n after the empty one, before or after the rest.
std::string stringTable(std::initializer_list<std::string_view> texts) {
  std::string out = bytes(6, "");
  for (const std::string_view text : texts) out += bytes(6, text);
  return out;
}

const std::string kStrings = stringTable({"samples", "count", "f", "g", "f.c"});
const std::string kType = bytes(1, number(1, 1) + number(2, 2));
const std::string kFunctionF = bytes(5, number(1, 1) + number(2, 3) + number(4, 5) + number(5, 9));
const std::string kFunctionG = bytes(5, number(1, 2) + number(2, 4));
const std::string kLocationF = bytes(4, number(1, 1) + bytes(4, number(1, 1) + number(2, 12)));
const std::string kLocationG = bytes(4, number(1, 2) + bytes(4, number(1, 2)));
const std::string kTables = kStrings + kType + kFunctionF + kFunctionG + kLocationF + kLocationG;

// How the only fault of the file reads; "" for none.
std::string faultOf(const std::string& file) {
  const auto profile = decodePprof(file);
  return profile ? "" : profile.error().detail;
}

std::vector<std::string> samplesOf(const std::string& file) {
  const auto profile = decodePprof(file);
  if (!profile) return {"fault: " + profile.error().detail};
  return describeSamples(*profile);
}

TEST(Pprof, GivesBackWhatWasEncoded) {
  const Profile profile = requestProfile();
  const auto again = decodePprof(encodePprof(profile));
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(describeSamples(*again), describeSamples(profile));
  EXPECT_EQ(again->start_unix_ns, profile.start_unix_ns);
  EXPECT_EQ(again->duration_ns, profile.duration_ns);
  EXPECT_EQ(again->period, profile.period);
  EXPECT_EQ(again->text(again->period_type.type), "wall");
  EXPECT_EQ(again->text(again->default_type), "wall");
  ASSERT_EQ(again->comments.size(), 1U);
  EXPECT_EQ(again->text(again->comments[0]), profile.text(profile.comments[0]));
}

TEST(Pprof, EncodesADecodedFileToTheSameSize) {
  const std::string once = encodePprofPlain(*decodePprof(encodePprofPlain(requestProfile())));
  const std::string twice = encodePprofPlain(*decodePprof(once));
  EXPECT_EQ(once.size(), twice.size());
}

TEST(Pprof, KeepsAProfileWithoutSamples) {
  ProfileBuilder builder;
  builder.valueColumn("wall", "nanoseconds");
  builder.comment("nothing happened");
  const auto again = decodePprof(encodePprof(*builder.take()));
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->samples.size(), 0U);
  ASSERT_EQ(again->value_types.size(), 1U);
  EXPECT_EQ(again->text(again->value_types[0].type), "wall");
}

TEST(Pprof, ReadsPackedAndUnpackedNumbers) {
  const std::vector<std::string> wanted = {"0   /g(:0)@0/f(f.c:9)@12 samples=7count"};
  EXPECT_EQ(samplesOf(kTables + bytes(2, bytes(1, "\x01\x02") + bytes(2, "\x07"))), wanted);
  EXPECT_EQ(samplesOf(kTables + bytes(2, number(1, 1) + number(1, 2) + number(2, 7))), wanted);
  EXPECT_EQ(samplesOf(kTables + bytes(2, number(1, 1) + number(2, 7) + bytes(1, "\x02"))), wanted);
}

TEST(Pprof, AcceptsTablesInAnyOrder) {
  const std::string sample = bytes(2, bytes(1, "\x01\x02") + bytes(2, "\x07"));
  EXPECT_EQ(
      samplesOf(sample + kLocationG + kLocationF + kFunctionG + kType + kFunctionF + kStrings),
      samplesOf(kTables + sample));
}

TEST(Pprof, SkipsUnknownFields) {
  const std::string unknown = number(99, 5) + bytes(98, "future");
  const std::string sample = bytes(2, unknown + bytes(1, "\x01") + bytes(2, "\x07") + unknown);
  EXPECT_EQ(samplesOf(unknown + kTables + sample + unknown),
            (std::vector<std::string>{"0   /f(f.c:9)@12 samples=7count"}));
}

TEST(Pprof, KeepsNegativeValues) {
  EXPECT_EQ(samplesOf(kTables + bytes(2, bytes(1, "\x01") + bytes(2, varint(UINT64_MAX)))),
            (std::vector<std::string>{"0   /f(f.c:9)@12 samples=-1count"}));
}

TEST(Pprof, MakesInlinedCallsFramesOfTheirOwn) {
  const std::string inlined = bytes(4, number(1, 3) + bytes(4, number(1, 1) + number(2, 5)) +
                                           bytes(4, number(1, 2) + number(2, 6)));
  EXPECT_EQ(samplesOf(kTables + inlined + bytes(2, number(1, 3) + number(2, 1))),
            (std::vector<std::string>{"0   /g(:0)@6/f(f.c:9)@5 samples=1count"}));
}

TEST(Pprof, NamesLocationsWithoutFunctionsByModuleAndOffset) {
  const std::string file =
      stringTable({"samples", "count", "/usr/lib/libz.so.1"}) + kType +
      bytes(3, number(1, 4) + number(2, 0x400000) + number(4, 0x1000) + number(5, 3)) +
      bytes(4, number(1, 1) + number(2, 4) + number(3, 0x400abc)) +
      bytes(4, number(1, 2) + number(3, 0xdead)) + bytes(4, number(1, 3)) +
      bytes(2, bytes(1, "\x01\x02\x03") + number(2, 1));
  EXPECT_EQ(samplesOf(file),
            (std::vector<std::string>{
                "0   /[unknown](:0)@0/0xdead(:0)@0/libz.so.1+0x1abc(/usr/lib/libz.so.1:0)@0 "
                "samples=1count"}));
}

TEST(Pprof, FindsLocationsWithIdsOfAnySize) {
  const std::string far = bytes(4, number(1, 0xfeedfacecafe) + bytes(4, number(1, 1)));
  EXPECT_EQ(samplesOf(kTables + far + bytes(2, number(1, 0xfeedfacecafe) + number(2, 1))),
            (std::vector<std::string>{"0   /f(f.c:9)@0 samples=1count"}));
}

TEST(Pprof, ReadsTheLabelsThatHaveColumns) {
  const std::string file =
      stringTable({"wall", "nanoseconds", "timestamp_ns", "thread", "worker-1", "state", "gil",
                   "endpoint", "GET /", "end_timestamp_ns", "thread name", "odd"}) +
      kType +
      bytes(2, number(2, 50) + bytes(3, number(1, 3) + number(3, 1000) + number(4, 2)) +
                   bytes(3, number(1, 4) + number(2, 5)) + bytes(3, number(1, 6) + number(2, 7)) +
                   bytes(3, number(1, 8) + number(2, 9))) +
      bytes(2, number(2, 50) + bytes(3, number(1, 10) + number(3, 2000)) +
                   bytes(3, number(1, 11) + number(2, 5)) +
                   bytes(3, number(1, 6) + number(2, 12))) +
      bytes(2, number(2, 50) + bytes(3, number(1, 4) + number(3, 17)));
  EXPECT_EQ(samplesOf(file),
            (std::vector<std::string>{"1000 worker-1 gil  wall=50nanoseconds [endpoint=GET /0]",
                                      "1950 worker-1   wall=50nanoseconds [state=odd0]",
                                      "0 17   wall=50nanoseconds"}));
}

TEST(Pprof, SaysWhatIsWrongWithAFile) {
  const std::string sample = bytes(2, bytes(1, "\x01") + bytes(2, "\x07"));
  const size_t end = kTables.size();
  const auto at = [&](size_t offset) { return std::to_string(end + offset); };
  const struct {
    std::string file;
    std::string fault;
  } cases[] = {
      {"", "the file is empty"},
      {"GIF89a", "Profile at byte 0: there is no such wire type"},
      {kTables + bytes(2, number(1, 9) + number(2, 1)),
       "Sample.location_id at byte " + at(2) + ": there is no location 9"},
      {kTables + bytes(2, number(1, 1)),
       "Sample.value at byte " + at(2) + ": 0 values for 1 types of values"},
      {kTables + bytes(2, bytes(2, "\x01\x02")),
       "Sample.value at byte " + at(2) + ": 2 values for 1 types of values"},
      {kTables + kFunctionF, "Profile.function at byte " + at(2) + ": the id is there twice"},
      {kTables + kLocationF, "Profile.location at byte " + at(2) + ": the id is there twice"},
      {kTables + kType,
       "Profile.sample_type at byte " + at(2) + ": the type of values is there twice"},
      {kTables + bytes(5, number(2, 1)), "Function.id at byte " + at(2) + ": the id is 0"},
      {kTables + bytes(4, number(2, 1)), "Location.id at byte " + at(2) + ": the id is 0"},
      {kTables + bytes(5, number(1, 3) + number(2, 60)),
       "Function.name at byte " + at(4) + ": string 60 is not in the string table"},
      {kTables + bytes(4, number(1, 3) + bytes(4, number(1, 8))),
       "Line.function_id at byte " + at(6) + ": there is no function 8"},
      {kTables + bytes(2, number(2, 1) + bytes(3, number(1, 77))),
       "Label.key at byte " + at(6) + ": string 77 is not in the string table"},
      {bytes(6, "x"), "Profile.string_table at byte 2: the first string is not empty"},
      {kTables + number(14, 99),
       "Profile.default_sample_type at byte 0: the text is not in the string table"},
      {kTables + bytes(9, "x"),
       "Profile.time_nanos at byte " + at(0) + ": the value is not a varint"},
  };
  for (const auto& [file, fault] : cases) {
    EXPECT_EQ(faultOf(file), fault);
    if (const auto result = decodePprof(file); !result) {
      EXPECT_EQ(result.error().code, ErrorCode::Malformed);
    }
  }
}

// A shorter file is either refused or one that ends where a field of the top level ends; nothing
// else may happen, at any length.
TEST(Pprof, RefusesTruncationsAtEveryLength) {
  const std::string plain = encodePprofPlain(requestProfile());
  size_t accepted = 0;
  for (size_t size = 0; size < plain.size(); ++size) {
    const auto result = decodePprof(std::string_view(plain).substr(0, size));
    if (result) {
      ++accepted;
    } else {
      EXPECT_EQ(result.error().detail.find('\n'), std::string::npos);
      EXPECT_EQ(result.error().code, ErrorCode::Malformed);
    }
  }
  EXPECT_LT(accepted, 20U);
  const std::string gzip = encodePprof(requestProfile());
  for (size_t size = 0; size < gzip.size(); ++size) {
    EXPECT_FALSE(decodePprof(std::string_view(gzip).substr(0, size)));
  }
}

TEST(Pprof, SurvivesEveryChangedByte) {
  const std::string plain = encodePprofPlain(requestProfile());
  for (size_t i = 0; i < plain.size(); ++i) {
    for (const char change : {'\x01', '\x80', '\x7f'}) {
      std::string changed = plain;
      changed[i] ^= change;
      const auto result = decodePprof(changed);
      EXPECT_TRUE(!result || result->samples.size() <= 20);
    }
  }
}

TEST(Pprof, CutsDeepStacksBeforeExpandingInlinedCalls) {
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += bytes(4, number(1, 1) + number(2, 12));
  const std::string file =
      kTables + bytes(4, number(1, 3) + lines) +
      bytes(2, bytes(1, "\x01" + std::string(10'000, '\x03') + "\x02") + number(2, 1));
  const auto profile = decodePprof(file);
  ASSERT_TRUE(profile) << profile.error().detail;
  EXPECT_EQ(profile->nodes.size(), kDepthMax + 1);
  EXPECT_EQ(profile->loss.truncated_stacks, 1U);
  EXPECT_EQ(profile->text(profile->functionOf(1).name), "g");
  EXPECT_EQ(profile->text(profile->functionOf(kDepthRootSide + 1).name), kTruncatedName);
}

TEST(Pprof, RefusesFilesOverTheLimits) {
  std::string many = kTables;
  for (size_t i = 0; i <= kSamplesMax; ++i) many += bytes(2, number(2, 1));
  const auto samples = decodePprof(many);
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(samples.error().detail, "more than 200,000 samples");

  std::string labels;
  for (int i = 0; i < 65; ++i) labels += bytes(3, number(1, 1));
  EXPECT_EQ(faultOf(kTables + bytes(2, number(2, 1) + labels)),
            "more than 64 labels at one sample");

  const auto bomb = decodePprof(deflateGzip(std::string(4 << 20, '\0')));
  ASSERT_FALSE(bomb);
  EXPECT_EQ(bomb.error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace flamegate::control
