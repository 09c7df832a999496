#include "control/store/summary.h"

#include <charconv>

namespace flamegate::control {
namespace {

constexpr char kSeparator = '\x1f';

class Encoder {
 public:
  void text(std::string_view value) {
    separate();
    for (char c : value) out_.push_back(static_cast<unsigned char>(c) < 0x20 ? '?' : c);
  }
  void number(int64_t value) {
    separate();
    out_ += std::to_string(value);
  }
  template <typename T>
  void optional(const std::optional<T>& value) {
    if (value) {
      number(static_cast<int64_t>(*value));
    } else {
      separate();
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!out_.empty()) out_.push_back(kSeparator);
  }
  std::string out_;
};

// Takes fields off the front; after the first fault all are empty and ok() is false.
class Decoder {
 public:
  explicit Decoder(std::string_view text) : rest_(text) {}

  std::string text() { return std::string(field()); }

  std::optional<int64_t> optional(int64_t low, int64_t high) {
    const std::string_view digits = field();
    if (digits.empty()) return std::nullopt;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < low ||
        value > high) {
      ok_ = false;
      return std::nullopt;
    }
    return value;
  }

  int64_t number(int64_t low, int64_t high) {
    const auto value = optional(low, high);
    if (!value) ok_ = false;
    return value.value_or(low);
  }

  bool ok() const { return ok_ && ended_; }

 private:
  std::string_view field() {
    if (ended_) ok_ = false;
    if (!ok_) return {};
    const size_t end = rest_.find(kSeparator);
    const std::string_view field = rest_.substr(0, end);
    ended_ = end == std::string_view::npos;
    rest_.remove_prefix(ended_ ? rest_.size() : end + 1);
    return field;
  }

  std::string_view rest_;
  bool ended_ = false;
  bool ok_ = true;
};

// Year 9999 in Unix milliseconds.
constexpr int64_t kTimeMax = 253402300799999;
constexpr int64_t kNumberMax = INT64_MAX;

std::optional<int64_t> millisOf(const std::optional<WallTime>& time) {
  return time ? std::optional(time->time_since_epoch().count()) : std::nullopt;
}

WallTime wallTime(int64_t millis) { return WallTime(Millis(millis)); }

}  // namespace

Summary summarize(const ProfileRecord& record, uint64_t bytes) {
  Summary out;
  out.id = record.id;
  out.kind = record.kind;
  out.state = record.state;
  out.trigger = record.trigger;
  out.status = record.status;
  out.started_at = record.started_at;
  out.duration = record.duration;
  out.samples = record.samples;
  out.stored_at = record.stored_at.value_or(WallTime{});
  out.pinned_until = record.pinned_until;
  out.bytes = bytes;
  out.method = record.method;
  out.path = record.path;
  out.route = record.route;
  out.host = record.host;
  out.service = record.service;
  out.campaign = record.campaign;
  return out;
}

std::string encodeSummary(const Summary& summary) {
  Encoder out;
  out.text(summary.id);
  out.number(static_cast<int64_t>(summary.kind));
  out.number(static_cast<int64_t>(summary.state));
  out.optional(summary.trigger);
  out.optional(summary.status);
  out.number(summary.started_at.time_since_epoch().count());
  out.optional(summary.duration ? std::optional(summary.duration->count()) : std::nullopt);
  out.optional(summary.samples);
  out.number(summary.stored_at.time_since_epoch().count());
  out.optional(millisOf(summary.pinned_until));
  out.number(static_cast<int64_t>(summary.bytes));
  out.text(summary.method);
  out.text(summary.path);
  out.text(summary.route);
  out.text(summary.host);
  out.text(summary.service);
  out.text(summary.campaign);
  return out.take();
}

std::optional<Summary> findSummary(std::string_view text) {
  if (text.size() > kSummaryBytesMax) return std::nullopt;
  Decoder in(text);
  Summary out;
  out.id = in.text();
  out.kind = static_cast<ProfileKind>(in.number(0, static_cast<int>(ProfileKind::Continuous)));
  out.state = static_cast<ProfileState>(in.number(0, static_cast<int>(ProfileState::Failed)));
  if (const auto trigger = in.optional(0, static_cast<int>(Trigger::Slow))) {
    out.trigger = static_cast<Trigger>(*trigger);
  }
  if (const auto status = in.optional(0, 999)) out.status = static_cast<int>(*status);
  out.started_at = wallTime(in.number(0, kTimeMax));
  if (const auto duration = in.optional(0, kNumberMax)) out.duration = Micros(*duration);
  if (const auto samples = in.optional(0, kNumberMax)) {
    out.samples = static_cast<uint64_t>(*samples);
  }
  out.stored_at = wallTime(in.number(0, kTimeMax));
  if (const auto pinned = in.optional(0, kTimeMax)) out.pinned_until = wallTime(*pinned);
  out.bytes = static_cast<uint64_t>(in.number(0, kNumberMax));
  out.method = in.text();
  out.path = in.text();
  out.route = in.text();
  out.host = in.text();
  out.service = in.text();
  out.campaign = in.text();
  if (!in.ok() || !isProfileId(out.id)) return std::nullopt;
  return out;
}

}  // namespace flamegate::control
