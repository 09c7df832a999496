#include "control/profiles/pprof_tables.h"

#include <algorithm>
#include <charconv>

#include "control/profiles/limits.h"

namespace flamegate::control {

bool PprofTables::read() {
  return scan() && readValueTypes() && readMappings() && readFunctions() && readLocations() &&
         readScalars();
}

bool PprofTables::keep(WireReader& reader, Messages* messages, size_t count_max,
                       std::string_view too_many) {
  if (messages->size() >= count_max) return fault_.tooLarge(too_many);
  return reader.bytes(&messages->emplace_back());
}

bool PprofTables::scan() {
  WireReader reader(bytes_, kProfile, fault_.wire);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        keep(reader, &value_types_, kValueTypesMax, "more than 16 types of values");
        break;
      case 2:
        keep(reader, &sample_messages_, kSamplesMax, "more than 200,000 samples");
        break;
      case 3:
        keep(reader, &mapping_messages_, kTableEntriesMax, "more than 1,000,000 mappings");
        break;
      case 4:
        keep(reader, &location_messages_, kTableEntriesMax, "more than 1,000,000 locations");
        break;
      case 5:
        keep(reader, &function_messages_, kTableEntriesMax, "more than 1,000,000 functions");
        break;
      case 6:
        keep(reader, &strings_, kTableEntriesMax, "more than 1,000,000 strings");
        break;
      case 9:
        reader.number(&time_ns_);
        break;
      case 10:
        reader.number(&duration_ns_);
        break;
      case 11:
        reader.bytes(&period_type_);
        break;
      case 12:
        reader.number(&period_);
        break;
      case 13:
        reader.numbers(&comments_, kTableEntriesMax);
        break;
      case 14:
        reader.number(&default_type_);
        break;
      default:
        break;
    }
  }
  if (fault_.wire.any()) return false;
  if (!strings_.empty() && !strings_[0].empty()) {
    return fault_.malformed(kProfile, 6, strings_[0].data(), "the first string is not empty");
  }
  string_ids_.assign(std::max<size_t>(strings_.size(), 1), kNoIndex);
  label_keys_.assign(string_ids_.size(), LabelKey::Unseen);
  return true;
}

LabelKey PprofTables::labelKey(uint64_t index) {
  LabelKey& key = label_keys_[index];
  if (key == LabelKey::Unseen) key = findLabelKey(text(index));
  return key;
}

StringId PprofTables::string(uint64_t index) {
  StringId& id = string_ids_[index];
  if (id == kNoIndex) id = builder_.string(text(index));
  return id;
}

bool PprofTables::readScalars() {
  const auto known = [&](uint32_t field, uint64_t index) {
    return index < string_ids_.size() ||
           fault_.malformed(kProfile, field, bytes_.data(), "the text is not in the string table");
  };
  uint64_t type = 0;
  uint64_t unit = 0;
  if (!readValueType(period_type_, &type, &unit) || !known(14, default_type_)) return false;
  builder_.setPeriod(text(type), text(unit), period_);
  builder_.setSpan(time_ns_, duration_ns_);
  builder_.setDefaultType(text(default_type_));
  for (const uint64_t comment : comments_) {
    if (!known(13, comment)) return false;
    builder_.comment(text(comment));
  }
  return true;
}

bool PprofTables::readValueType(std::string_view message, uint64_t* type, uint64_t* unit) {
  WireReader reader(message, kValueType, fault_.wire);
  while (reader.next()) {
    if (reader.field() > 2) continue;
    uint64_t* index = reader.field() == 1 ? type : unit;
    if (!reader.number(index) || !inTable(reader, *index)) return false;
  }
  return !fault_.wire.any();
}

bool PprofTables::readValueTypes() {
  for (const std::string_view message : value_types_) {
    uint64_t type = 0;
    uint64_t unit = 0;
    if (!readValueType(message, &type, &unit)) return false;
    const size_t before = builder_.valueColumnCount();
    const size_t column = builder_.valueColumn(text(type), text(unit));
    if (column < before) {
      return fault_.malformed(kProfile, 1, message.data(), "the type of values is there twice");
    }
    const bool time = text(type) == "wall" || (text(type) == "cpu" && time_column_ == kNoIndex);
    if (time && text(unit) == "nanoseconds") time_column_ = column;
  }
  return true;
}

bool PprofTables::finishIds(IdMap* ids, const Messages& messages, uint32_t field) {
  const std::optional<uint32_t> twice = ids->finish();
  if (!twice) return true;
  return fault_.malformed(kProfile, field, messages[*twice].data(), "the id is there twice");
}

bool PprofTables::readMappings() {
  for (const std::string_view message : mapping_messages_) {
    Mapping mapping;
    uint64_t id = 0;
    uint64_t file = 0;
    WireReader reader(message, kMapping, fault_.wire);
    while (reader.next()) {
      switch (reader.field()) {
        case 1:
          reader.number(&id);
          break;
        case 2:
          reader.number(&mapping.start);
          break;
        case 4:
          reader.number(&mapping.offset);
          break;
        case 5:
          if (reader.number(&file)) inTable(reader, file);
          break;
        default:
          break;
      }
    }
    if (fault_.wire.any()) return false;
    mapping.file = text(file);
    mapping_ids_.add(id);
    mappings_.push_back(mapping);
  }
  return finishIds(&mapping_ids_, mapping_messages_, 3);
}

bool PprofTables::readFunctions() {
  for (const std::string_view message : function_messages_) {
    uint64_t id = 0;
    int64_t line = 0;
    uint64_t texts[3] = {};  // name, system name, file: fields 2 to 4
    WireReader reader(message, kFunction, fault_.wire);
    while (reader.next()) {
      const uint32_t field = reader.field();
      if (field == 1) reader.number(&id);
      if (field >= 2 && field <= 4 && reader.number(&texts[field - 2])) {
        inTable(reader, texts[field - 2]);
      }
      if (field == 5) reader.number(&line);
    }
    if (fault_.wire.any()) return false;
    if (id == 0) return fault_.malformed(kFunction, 1, message.data(), "the id is 0");
    const std::string_view name = text(texts[0]).empty() ? text(texts[1]) : text(texts[0]);
    function_ids_.add(id);
    functions_.push_back(builder_.function(name, text(texts[2]), line));
  }
  return finishIds(&function_ids_, function_messages_, 5);
}

FrameId PprofTables::addressFrame(uint64_t mapping, uint64_t address) {
  const uint32_t known = mapping_ids_.find(mapping);
  char hex[16];
  const auto hexText = [&](uint64_t value) {
    return std::string(hex, std::to_chars(hex, hex + sizeof(hex), value, 16).ptr);
  };
  if (known == kNoIndex) {
    return builder_.frame(builder_.function(address == 0 ? "[unknown]" : "0x" + hexText(address)));
  }
  const Mapping& in = mappings_[known];
  const std::string_view module = in.file.substr(in.file.find_last_of('/') + 1);
  const uint64_t offset = address - in.start + in.offset;
  return builder_.frame(builder_.function(std::string(module) + "+0x" + hexText(offset), in.file));
}

bool PprofTables::readLocations() {
  for (const std::string_view message : location_messages_) {
    if (!readLocation(message)) return false;
  }
  return finishIds(&location_ids_, location_messages_, 4);
}

bool PprofTables::readLocation(std::string_view message) {
  uint64_t id = 0;
  uint64_t mapping = 0;
  uint64_t address = 0;
  Messages lines;
  WireReader reader(message, kLocation, fault_.wire);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        reader.number(&id);
        break;
      case 2:
        reader.number(&mapping);
        break;
      case 3:
        reader.number(&address);
        break;
      case 4:
        reader.bytes(&lines.emplace_back());
        break;
      default:
        break;
    }
  }
  if (fault_.wire.any()) return false;
  if (id == 0) return fault_.malformed(kLocation, 1, message.data(), "the id is 0");
  if (location_frames_.size() + lines.size() >= kNodesMax) {
    return fault_.tooLarge("more than 4,000,000 lines of locations");
  }
  location_ids_.add(id);
  if (lines.empty()) location_frames_.push_back(addressFrame(mapping, address));
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    FrameId frame = kNoIndex;
    if (!readLine(*line, &frame)) return false;
    location_frames_.push_back(frame == kNoIndex ? addressFrame(mapping, address) : frame);
  }
  location_ends_.push_back(location_frames_.size());
  return true;
}

bool PprofTables::readLine(std::string_view message, FrameId* frame) {
  uint64_t function = 0;
  int64_t line = 0;
  int64_t column = 0;
  WireReader reader(message, kLine, fault_.wire);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        if (reader.number(&function) && function != 0 && function_ids_.find(function) == kNoIndex) {
          reader.fail("there is no function " + std::to_string(function));
        }
        break;
      case 2:
        reader.number(&line);
        break;
      case 3:
        reader.number(&column);
        break;
      default:
        break;
    }
  }
  if (fault_.wire.any()) return false;
  if (function == 0) return true;
  *frame = builder_.frame(functions_[function_ids_.find(function)], line, column);
  return true;
}

}  // namespace flamegate::control
