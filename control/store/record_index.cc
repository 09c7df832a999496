#include "control/store/record_index.h"

#include <algorithm>
#include <charconv>

#include "proxy/base/encoding.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

// ASCII lower case; control bytes become one that separates nothing.
char fold(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c + ('a' - 'A'));
  return static_cast<unsigned char>(c) < 0x20 ? '?' : c;
}

void appendFolded(std::string& out, std::string_view text) {
  for (char c : text) out.push_back(fold(c));
}

// The fields on lines of their own, so that no search text matches across two of them.
std::string searchText(const Summary& summary) {
  std::string out;
  out.reserve(summary.id.size() + summary.method.size() + summary.path.size() +
              summary.route.size() + summary.host.size() + summary.service.size() + 5);
  appendFolded(out, summary.id);
  out.push_back('\n');
  appendFolded(out, summary.method);
  out.push_back(' ');
  appendFolded(out, summary.path);
  for (const std::string* field : {&summary.route, &summary.host, &summary.service}) {
    out.push_back('\n');
    appendFolded(out, *field);
  }
  return out;
}

// A missing value sorts as the smallest.
int64_t sortKey(const Summary& summary, SortField field) {
  switch (field) {
    case SortField::StartedAt:
      return summary.started_at.time_since_epoch().count();
    case SortField::Duration:
      return summary.duration ? summary.duration->count() : -1;
    case SortField::Samples:
      return summary.samples ? static_cast<int64_t>(*summary.samples) : -1;
  }
  return 0;
}

const std::string& groupName(const Summary& summary, GroupBy by) {
  switch (by) {
    case GroupBy::Route:
      return summary.route;
    case GroupBy::Host:
      return summary.host;
    case GroupBy::Service:
      return summary.service;
  }
  return summary.route;
}

}  // namespace

// Where a page ended: the last record's key and id. As text "ORDER:KEY:ID" in base64url.
struct RecordIndex::Position {
  int64_t key = 0;
  std::string id;

  static std::string order(const ListQuery& query) {
    return std::to_string(static_cast<int>(query.sort)) + (query.descending ? "d" : "a");
  }

  std::string toCursor(const ListQuery& query) const {
    return proxy::toBase64Url(order(query) + ":" + std::to_string(key) + ":" + id);
  }

  static std::optional<Position> find(const ListQuery& query) {
    const auto text = proxy::fromBase64Url(query.cursor);
    const std::string start = order(query) + ":";
    if (!text || !text->starts_with(start)) return std::nullopt;
    Position out;
    const char* begin = text->data() + start.size();
    const char* end = text->data() + text->size();
    const auto [rest, error] = std::from_chars(begin, end, out.key);
    if (error != std::errc() || rest == end || *rest != ':') return std::nullopt;
    out.id.assign(rest + 1, end);
    return isProfileId(out.id) ? std::optional(std::move(out)) : std::nullopt;
  }
};

// The filters of one query, prepared once.
class RecordIndex::Matcher {
 public:
  Matcher(const ListQuery& query, const Cutoff& cutoff) : query_(query), cutoff_(cutoff) {
    appendFolded(needle_, query.q);
  }

  bool matches(const Entry& entry) const {
    const Summary& summary = entry.summary;
    return entry.used && !cutoff_.expired(summary.stored_at, summary.pinned_until) &&
           matchesKinds(summary) && matchesNames(summary) && matchesNumbers(summary) &&
           (needle_.empty() || entry.search.find(needle_) != std::string::npos);
  }

 private:
  bool matchesKinds(const Summary& summary) const {
    return (!query_.kind || summary.kind == *query_.kind) &&
           (!query_.state || summary.state == *query_.state) &&
           (!query_.trigger || summary.trigger == query_.trigger);
  }

  bool matchesNames(const Summary& summary) const {
    return same(query_.route, summary.route) && same(query_.host, summary.host) &&
           same(query_.service, summary.service) && same(query_.campaign, summary.campaign);
  }

  bool matchesNumbers(const Summary& summary) const {
    if (query_.status && (!summary.status || *summary.status < query_.status->low ||
                          *summary.status > query_.status->high)) {
      return false;
    }
    if (query_.min_duration && (!summary.duration || *summary.duration < *query_.min_duration)) {
      return false;
    }
    return (!query_.from || summary.started_at >= *query_.from) &&
           (!query_.to || summary.started_at < *query_.to);
  }

  static bool same(const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  }

  const ListQuery& query_;
  const Cutoff cutoff_;
  std::string needle_;
};

size_t RecordIndex::takeSlot(const std::string& id) {
  size_t slot = entries_.size();
  if (free_slots_.empty()) {
    entries_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_.emplace(id, slot);
  entries_[slot].arrival = next_arrival_++;
  return slot;
}

void RecordIndex::account(const Entry& entry, size_t slot) {
  bytes_ += entry.summary.bytes;
  if (!entry.summary.pinned_until) evictable_.emplace(entry.arrival, slot);
}

void RecordIndex::discount(const Entry& entry, size_t slot) {
  bytes_ -= entry.summary.bytes;
  evictable_.erase({entry.arrival, slot});
}

void RecordIndex::put(Summary summary) {
  const auto known = slots_.find(summary.id);
  const size_t slot = known == slots_.end() ? takeSlot(summary.id) : known->second;
  Entry& entry = entries_[slot];
  if (entry.used) discount(entry, slot);
  entry.search = searchText(summary);
  summary.method = {};
  summary.path = {};
  entry.summary = std::move(summary);
  entry.used = true;
  account(entry, slot);
}

void RecordIndex::erase(std::string_view id) {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return;
  const size_t slot = found->second;
  discount(entries_[slot], slot);
  entries_[slot] = Entry{};
  free_slots_.push_back(slot);
  slots_.erase(found);
}

void RecordIndex::clear() { *this = RecordIndex(); }

std::optional<WallTime> RecordIndex::findOldest() const {
  std::optional<WallTime> oldest;
  for (const Entry& entry : entries_) {
    if (entry.used && (!oldest || entry.summary.stored_at < *oldest)) {
      oldest = entry.summary.stored_at;
    }
  }
  return oldest;
}

proxy::Result<RecordIndex::Page> RecordIndex::list(const ListQuery& query,
                                                   const Cutoff& cutoff) const {
  std::optional<Position> start;
  if (!query.cursor.empty() && !(start = Position::find(query))) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Client, "not a cursor of this list");
  }
  const auto precedes = [descending = query.descending](int64_t key_a, std::string_view id_a,
                                                        int64_t key_b, std::string_view id_b) {
    if (key_a != key_b) return descending ? key_a > key_b : key_a < key_b;
    return descending ? id_a > id_b : id_a < id_b;
  };
  Page page;
  std::vector<std::pair<int64_t, const Entry*>> found;
  const Matcher matcher(query, cutoff);
  for (const Entry& entry : entries_) {
    if (!matcher.matches(entry)) continue;
    ++page.total;
    const int64_t key = sortKey(entry.summary, query.sort);
    if (start && !precedes(start->key, start->id, key, entry.summary.id)) continue;
    found.emplace_back(key, &entry);
  }
  const size_t limit = std::clamp<size_t>(query.limit, 1, kListLimitMax);
  const size_t shown = std::min(limit, found.size());
  const auto before = [&precedes](const auto& a, const auto& b) {
    return precedes(a.first, a.second->summary.id, b.first, b.second->summary.id);
  };
  const auto page_end = found.begin() + static_cast<ptrdiff_t>(shown);
  // Not partial_sort, whose heap is slow when each record precedes the one before, as they do here.
  std::nth_element(found.begin(), page_end, found.end(), before);
  std::sort(found.begin(), page_end, before);
  for (size_t i = 0; i < shown; ++i) page.ids.push_back(found[i].second->summary.id);
  if (found.size() > shown) {
    page.next = Position{found[shown - 1].first, page.ids.back()}.toCursor(query);
  }
  return page;
}

std::vector<Group> RecordIndex::groups(GroupBy by, const ListQuery& filters, size_t limit,
                                       const Cutoff& cutoff) const {
  std::unordered_map<std::string_view, Group> found;
  const Matcher matcher(filters, cutoff);
  for (const Entry& entry : entries_) {
    const Summary& summary = entry.summary;
    const std::string& name = groupName(summary, by);
    if (name.empty() || !matcher.matches(entry)) continue;
    Group& group = found[name];
    ++group.profiles;
    if (summary.state == ProfileState::Stored) ++group.stored;
    group.latest = std::max(group.latest, summary.started_at);
    const Micros duration = summary.duration.value_or(Micros(0));
    group.duration_sum += duration;
    group.duration_max = std::max(group.duration_max, duration);
  }
  std::vector<Group> out;
  out.reserve(found.size());
  for (auto& [name, group] : found) {
    group.name = name;
    out.push_back(std::move(group));
  }
  std::sort(out.begin(), out.end(), [](const Group& a, const Group& b) {
    return a.profiles != b.profiles ? a.profiles > b.profiles : a.name < b.name;
  });
  if (out.size() > limit) out.resize(limit);
  return out;
}

std::vector<std::string> RecordIndex::findIf(const std::function<bool(const Summary&)>& wanted,
                                             size_t limit) const {
  std::vector<std::string> ids;
  for (const Entry& entry : entries_) {
    if (ids.size() == limit) break;
    if (entry.used && wanted(entry.summary)) ids.push_back(entry.summary.id);
  }
  return ids;
}

std::vector<std::string> RecordIndex::findExpired(const Cutoff& cutoff, size_t limit) const {
  return findIf(
      [&cutoff](const Summary& summary) {
        return cutoff.expired(summary.stored_at, summary.pinned_until);
      },
      limit);
}

std::optional<std::string> RecordIndex::findFirstUnpinned() const {
  if (evictable_.empty()) return std::nullopt;
  return entries_[evictable_.begin()->second].summary.id;
}

std::vector<std::string> RecordIndex::findPinnedUntilBefore(WallTime time, size_t limit) const {
  return findIf(
      [time](const Summary& summary) {
        return summary.pinned_until && *summary.pinned_until < time;
      },
      limit);
}

}  // namespace flamegate::control
