#include "proxy/profiling/query.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr uint64_t kIntervalUsMin = 100;
constexpr uint64_t kIntervalUsMax = 1'000'000;

constexpr std::array<std::pair<std::string_view, Verb>, 6> kVerbs = {
    {{kAsyncFlamegraph, Verb::AsyncFlamegraph},
     {"flamegraph", Verb::Flamegraph},
     {"help", Verb::Help},
     {"skip", Verb::Skip},
     {"disable", Verb::Disable},
     {"enable", Verb::Enable}}};

constexpr int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = toLowerAscii(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Takes one decoded byte from the front of `raw`, which is not empty; negative on a bad escape.
int takeDecoded(std::string_view& raw) {
  const char c = raw.front();
  if (c != '%') {
    raw.remove_prefix(1);
    return static_cast<unsigned char>(c == '+' ? ' ' : c);
  }
  if (raw.size() < 3) return -1;
  const int high = hexDigit(raw[1]);
  const int low = hexDigit(raw[2]);
  if (high < 0 || low < 0) return -1;
  raw.remove_prefix(3);
  return high * 16 + low;
}

Verb findVerb(std::string_view raw_value) {
  for (const auto& [text, verb] : kVerbs) {
    if (decodesTo(raw_value, text)) return verb;
  }
  return Verb::None;
}

// Milliseconds, `digits` or `digits.digits`, to microseconds within the limits.
std::optional<uint64_t> parseSampleRate(std::string_view text) {
  const size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view fraction =
      dot == std::string_view::npos ? std::string_view("0") : text.substr(dot + 1);
  const auto isDigits = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!isDigits(whole) || !isDigits(fraction)) return std::nullopt;
  uint64_t us = 0;
  for (char c : whole) us = std::min(us * 10 + static_cast<uint64_t>(c - '0'), kIntervalUsMax);
  for (size_t i = 0; i < 3; ++i) {
    us = us * 10 + (i < fraction.size() ? static_cast<uint64_t>(fraction[i] - '0') : 0);
  }
  return std::clamp(us, kIntervalUsMin, kIntervalUsMax);
}

// A value that is given twice with different meanings is not given.
template <typename Value>
class Agreed {
 public:
  void offer(const std::optional<Value>& value) {
    if (!value) return;
    if (value_ && *value_ != *value) disputed_ = true;
    value_ = value;
  }
  std::optional<Value> get() const { return disputed_ ? std::nullopt : value_; }

 private:
  std::optional<Value> value_;
  bool disputed_ = false;
};

std::optional<agent::Mode> parseModeOption(std::string_view raw) {
  if (decodesTo(raw, "wall")) return agent::Mode::Wall;
  if (decodesTo(raw, "cpu")) return agent::Mode::Cpu;
  return std::nullopt;
}

OptionOverrides readOptions(std::string_view query) {
  Agreed<agent::Mode> mode;
  Agreed<uint64_t> interval;
  OptionOverrides options;
  forEachPair(query, [&](std::string_view, std::string_view name, std::string_view value) {
    if (decodesTo(name, "flamegraph_mode")) {
      mode.offer(parseModeOption(value));
    } else if (decodesTo(name, "flamegraph_sample_rate")) {
      const auto text = decodeQueryText(value);
      if (text) interval.offer(parseSampleRate(*text));
    } else if (decodesTo(name, "flamegraph_ignore_gc") && decodesTo(value, "true")) {
      options.ignore_gc = true;
    }
  });
  options.mode = mode.get();
  options.interval_us = interval.get();
  return options;
}

}  // namespace

std::optional<std::string> decodeQueryText(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  while (!raw.empty()) {
    const int byte = takeDecoded(raw);
    if (byte < 0) return std::nullopt;
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

bool decodesTo(std::string_view raw, std::string_view expected) {
  for (char c : expected) {
    if (raw.empty() || takeDecoded(raw) != static_cast<unsigned char>(c)) return false;
  }
  return raw.empty();
}

bool isTriggerPair(std::string_view raw_name, std::string_view raw_value, std::string_view name) {
  return decodesTo(raw_name, name) && findVerb(raw_value) != Verb::None;
}

bool isOptionName(std::string_view raw_name) {
  for (char c : kOptionPrefix) {
    if (raw_name.empty() || takeDecoded(raw_name) != static_cast<unsigned char>(c)) return false;
  }
  return decodeQueryText(raw_name).has_value();
}

QueryMarks readQuery(std::string_view query, std::string_view name) {
  QueryMarks marks;
  bool skips = false;
  forEachPair(query, [&](std::string_view, std::string_view raw_name, std::string_view raw_value) {
    if (!decodesTo(raw_name, name)) return;
    const Verb verb = findVerb(raw_value);
    if (verb == Verb::None) return;
    skips |= verb == Verb::Skip;
    marks.contradictory |= marks.verb != Verb::None && marks.verb != verb;
    marks.verb = verb;
  });
  if (skips) {
    marks.verb = Verb::Skip;
    marks.contradictory = false;
  }
  if (marks.contradictory) marks.verb = Verb::None;
  marks.options = readOptions(query);
  return marks;
}

}  // namespace flamegate::proxy
