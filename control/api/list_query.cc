#include "control/api/list_query.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/schema/scalars.h"
#include "proxy/base/strings.h"

namespace flamegate::control {
namespace {

using proxy::parseDecimal;

constexpr size_t kTextBytesMax = 1024;  // of one filter

// "404" or "4xx".
std::optional<StatusRange> parseStatus(std::string_view text) {
  if (text.size() != 3 || text[0] < '1' || text[0] > '5') return std::nullopt;
  if (text.substr(1) == "xx") {
    const int low = (text[0] - '0') * 100;
    return StatusRange{low, low + 99};
  }
  const auto code = parseDecimal(text);
  if (!code) return std::nullopt;
  return StatusRange{static_cast<int>(*code), static_cast<int>(*code)};
}

// RFC 3339 or Unix milliseconds.
std::optional<WallTime> parseTime(std::string_view text) {
  constexpr uint64_t kLatest = 253'402'300'799'999;  // the end of year 9999
  if (const auto ms = parseDecimal(text)) {
    if (*ms > kLatest) return std::nullopt;
    return WallTime(Millis(static_cast<int64_t>(*ms)));
  }
  return findRfc3339(text);
}

std::optional<Micros> parseMillisDecimal(std::string_view text) {
  constexpr double kMax = 1e12;
  double ms = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), ms, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(ms >= 0) || ms > kMax) return std::nullopt;
  return Micros(std::llround(ms * 1000));
}

bool parseSort(std::string_view text, ListQuery& query) {
  query.descending = text.starts_with('-');
  if (query.descending) text.remove_prefix(1);
  if (text == "started_at") {
    query.sort = SortField::StartedAt;
  } else if (text == "duration_ms") {
    query.sort = SortField::Duration;
  } else if (text == "samples") {
    query.sort = SortField::Samples;
  } else {
    return false;
  }
  return true;
}

bool parseLimit(std::string_view text, size_t& limit) {
  const auto value = parseDecimal(text);
  if (!value || *value < 1 || *value > kListLimitMax) return false;
  limit = static_cast<size_t>(*value);
  return true;
}

template <typename T>
bool assign(std::optional<T>& to, std::optional<T> value) {
  to = std::move(value);
  return to.has_value();
}

bool takeText(std::string& to, const std::string& value) {
  to = value;
  return value.size() <= kTextBytesMax;
}

struct Filter {
  std::string_view name;
  bool (*apply)(ListQuery&, const std::string&);
  std::string_view expects;
};

constexpr Filter kFilters[] = {
    {"route", [](ListQuery& q, const std::string& v) { return takeText(q.route, v); }, "a label"},
    {"host", [](ListQuery& q, const std::string& v) { return takeText(q.host, v); }, "a name"},
    {"service", [](ListQuery& q, const std::string& v) { return takeText(q.service, v); },
     "a name"},
    {"status", [](ListQuery& q, const std::string& v) { return assign(q.status, parseStatus(v)); },
     "a status like 404 or a class like 4xx"},
    {"state",
     [](ListQuery& q, const std::string& v) { return assign(q.state, findProfileState(v)); },
     "running, waiting, stored or failed"},
    {"trigger",
     [](ListQuery& q, const std::string& v) { return assign(q.trigger, findTrigger(v)); },
     "query, header, referer, session, campaign, path or slow"},
    {"campaign", [](ListQuery& q, const std::string& v) { return takeText(q.campaign, v); },
     "an id"},
    {"min_ms",
     [](ListQuery& q, const std::string& v) {
       return assign(q.min_duration, parseMillisDecimal(v));
     },
     "milliseconds"},
    {"from", [](ListQuery& q, const std::string& v) { return assign(q.from, parseTime(v)); },
     "an RFC 3339 time or Unix milliseconds"},
    {"to", [](ListQuery& q, const std::string& v) { return assign(q.to, parseTime(v)); },
     "an RFC 3339 time or Unix milliseconds"},
    {"q", [](ListQuery& q, const std::string& v) { return takeText(q.q, v); },
     "text of at most 1024 bytes"},
    {"sort", [](ListQuery& q, const std::string& v) { return parseSort(v, q); },
     "started_at, duration_ms or samples, with - first for descending"},
    {"limit", [](ListQuery& q, const std::string& v) { return parseLimit(v, q.limit); },
     "1 to 500"},
    {"cursor", [](ListQuery& q, const std::string& v) { return takeText(q.cursor, v); },
     "the `next` of the page before"},
};

}  // namespace

proxy::Result<ListQuery> parseListQuery(const ApiRequest& request) {
  ListQuery query;
  for (const Filter& filter : kFilters) {
    const std::string* value = request.findQuery(filter.name);
    if (value == nullptr || value->empty()) continue;
    if (!filter.apply(query, *value)) {
      return proxy::fail(proxy::ErrorCode::Malformed, proxy::ErrorSource::Client,
                         std::string(filter.name) + " must be " + std::string(filter.expects));
    }
  }
  return query;
}

std::optional<Millis> parseWait(std::string_view text, Millis max) {
  const std::optional<config::Duration> duration = config::parseDuration(text);
  if (!duration) return std::nullopt;
  return std::min(std::chrono::ceil<Millis>(*duration), max);
}

}  // namespace flamegate::control
