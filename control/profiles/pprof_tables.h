// The parts of a pprof file that stand before its samples, wherever they are in the file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/profiles/builder.h"
#include "control/profiles/pprof_schema.h"
#include "control/profiles/wire.h"

namespace flamegate::control {

// What is wrong with the file. Too large: wire.reason is the limit's name.
struct PprofFault {
  WireFault wire;
  bool too_large = false;

  bool tooLarge(std::string_view limit) {
    too_large = true;
    wire.reason = limit;
    return false;
  }
  // Notes a fault in the message that begins at `at`; false.
  bool malformed(const MessageNames& names, uint32_t field, const char* at, std::string_view what) {
    wire.set(names, field, at, what);
    return false;
  }
};

// Strings, mappings, functions and locations of one file, resolved against a builder.
// Owner: the reader of the file, whose bytes, fault and builder outlive it.
class PprofTables {
 public:
  PprofTables(std::string_view bytes, PprofFault& fault, ProfileBuilder& builder)
      : bytes_(bytes), fault_(fault), builder_(builder) {}

  // Reads everything but the samples. False: see the fault.
  bool read();

  const std::vector<std::string_view>& sampleMessages() const { return sample_messages_; }

  // The text with an index that inTable() has approved; interned on demand.
  std::string_view text(uint64_t index) const {
    return strings_.empty() ? std::string_view{} : strings_[index];
  }
  StringId string(uint64_t index);
  LabelKey labelKey(uint64_t index);
  // False, and a fault at the reader's field, when the string table has no such index.
  bool inTable(WireReader& reader, uint64_t index) const {
    return index < string_ids_.size() ||
           reader.fail("string " + std::to_string(index) + " is not in the string table");
  }

  // kNoIndex when there is none with that id.
  uint32_t findLocation(uint64_t id) const { return location_ids_.find(id); }
  // Root first; at least one.
  std::span<const FrameId> framesOf(uint32_t location) const {
    const size_t begin = location == 0 ? 0 : location_ends_[location - 1];
    return std::span(location_frames_).subspan(begin, location_ends_[location] - begin);
  }

  // The column that says how long a sample lasted, in nanoseconds; kNoIndex when none does.
  size_t timeColumn() const { return time_column_; }

 private:
  using Messages = std::vector<std::string_view>;
  struct Mapping {
    uint64_t start = 0;
    uint64_t offset = 0;
    std::string_view file;
  };

  bool scan();
  void scanField(WireReader& reader);
  bool keep(WireReader& reader, Messages* messages, size_t count_max, std::string_view limit);
  bool finishIds(IdMap* ids, const Messages& messages, uint32_t field);
  bool readValueType(std::string_view message, uint64_t* type, uint64_t* unit);
  bool readValueTypes();
  bool readMappings();
  bool readFunctions();
  bool readLocations();
  bool readLocation(std::string_view message);
  bool readLine(std::string_view message, FrameId* frame);
  bool readScalars();
  FrameId addressFrame(uint64_t mapping, uint64_t address);

  std::string_view bytes_;
  PprofFault& fault_;
  ProfileBuilder& builder_;

  Messages value_types_, sample_messages_, mapping_messages_, location_messages_,
      function_messages_, strings_;
  std::string_view period_type_;
  int64_t time_ns_ = 0, duration_ns_ = 0, period_ = 0;
  uint64_t default_type_ = 0;
  std::vector<uint64_t> comments_;

  std::vector<StringId> string_ids_;  // by index of the string table; kNoIndex: not interned yet
  std::vector<LabelKey> label_keys_;  // by index of the string table
  IdMap mapping_ids_, function_ids_, location_ids_;
  std::vector<Mapping> mappings_;
  std::vector<FunctionId> functions_;
  std::vector<FrameId> location_frames_;
  std::vector<size_t> location_ends_;
  size_t time_column_ = kNoIndex;
};

}  // namespace flamegate::control
