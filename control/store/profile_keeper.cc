#include "control/store/profile_keeper.h"

#include <algorithm>

#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

// Metadata of one profile as JSON; paths and labels are cut long before.
constexpr size_t kDocumentBytesMax = 64 * 1024;
constexpr size_t kJtiBytesMax = 128;
// Profiles that one sweep step deletes at most, so that calls wait little behind it.
constexpr size_t kSweepStep = 1000;
// A pin is renewed when this much of it has gone.
constexpr std::chrono::hours kPinRenewal{24};
// What a medium that expires by itself is given at least, for records put with a past clock.
constexpr Millis kTtlMin{1000};
// Pages that are drawn again because records had gone in the meantime.
constexpr int kListAttempts = 3;

auto notFound() { return proxy::fail(ErrorCode::NotFound, ErrorSource::Store, "no such profile"); }

auto malformedId() {
  return proxy::fail(ErrorCode::Malformed, ErrorSource::Client, "not a profile's id");
}

void keepOwnFields(const ProfileRecord& from, ProfileRecord& to) {
  to.id = from.id;
  to.bytes = from.bytes;
  to.stored_at = from.stored_at;
  to.pinned_until = from.pinned_until;
}

}  // namespace

ProfileKeeper::ProfileKeeper(std::unique_ptr<StoreMedium> medium, Limits limits, WallClock clock)
    : medium_(std::move(medium)), limits_(std::move(limits)), clock_(std::move(clock)) {}

Cutoff ProfileKeeper::cutoff() const {
  const WallTime now = clock_();
  return {std::chrono::ceil<Millis>(now - limits_.retention.age), now};
}

proxy::Result<> ProfileKeeper::openMedium() {
  auto opened = medium_->open(index_, cutoff(), index_stale_);
  if (opened) index_stale_ = false;
  return opened;
}

proxy::Result<> ProfileKeeper::begin() {
  if (auto opened = openMedium(); !opened) return opened;
  return medium_->begin();
}

proxy::Result<> ProfileKeeper::commit() {
  evictOverLimits();
  auto committed = medium_->commit();
  if (!committed) index_stale_ = true;
  return committed;
}

std::optional<ProfileRecord> ProfileKeeper::readDocument(std::string_view document) const {
  auto record = recordFromJson(document);
  if (!record) {
    proxy::logWarning("store", "skipped a broken record: " + record.error().detail);
    return std::nullopt;
  }
  if (cutoff().expired(record->stored_at.value_or(WallTime{}), record->pinned_until)) {
    return std::nullopt;
  }
  return std::move(*record);
}

Millis ProfileKeeper::timeLeft(const ProfileRecord& record) const {
  const WallTime by_age = std::chrono::ceil<Millis>(*record.stored_at + limits_.retention.age);
  const WallTime end = std::max(by_age, record.pinned_until.value_or(by_age));
  return std::max(kTtlMin, end - clock_());
}

proxy::Result<> ProfileKeeper::checkBody(const std::optional<std::string>& body) const {
  const uint64_t bytes_max = std::min(limits_.body_bytes_max, limits_.retention.bytes_max);
  if (body && body->size() > bytes_max) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Client,
                       "a profile of " + std::to_string(body->size()) + " bytes; at most " +
                           std::to_string(bytes_max) + " are stored");
  }
  return {};
}

proxy::Result<StoredProfile> ProfileKeeper::encode(ProfileRecord& record,
                                                   const std::optional<std::string>& body) const {
  if (body) record.bytes = body->size();
  record.links.clear();
  StoredProfile out;
  out.id = record.id;
  out.document = toJson(record);
  if (out.document.size() > kDocumentBytesMax) {
    return proxy::fail(ErrorCode::TooLarge, ErrorSource::Client, "a record's metadata");
  }
  out.summary = summarize(record, out.document.size() + record.bytes.value_or(0));
  out.body = body ? &*body : nullptr;
  out.ttl = timeLeft(record);
  return out;
}

proxy::Result<ProfileRecord> ProfileKeeper::modify(const std::string& id, const Change& change,
                                                   const std::optional<std::string>& body) {
  if (!isProfileId(id)) return malformedId();
  if (auto checked = checkBody(body); !checked) return proxy::fail(std::move(checked.error()));
  ProfileRecord written;
  Summary summary;
  auto modified = medium_->modify(
      id,
      [this, &change, &body, &written,
       &summary](std::optional<std::string_view> document) -> proxy::Result<StoredProfile> {
        auto record = change(document ? readDocument(*document) : std::nullopt);
        if (!record) return proxy::fail(std::move(record.error()));
        written = std::move(*record);
        auto profile = encode(written, body);
        if (profile) summary = profile->summary;
        return profile;
      });
  if (!modified) return proxy::fail(std::move(modified.error()));
  index_.put(std::move(summary));
  return written;
}

proxy::Result<> ProfileKeeper::put(ProfileRecord record, const std::optional<std::string>& body) {
  const std::string id = record.id;
  const WallTime now = clock_();
  auto written = modify(
      id,
      [&record, now](std::optional<ProfileRecord> present) -> proxy::Result<ProfileRecord> {
        ProfileRecord next = record;
        next.bytes.reset();
        next.stored_at = now;
        next.pinned_until.reset();
        if (present) keepOwnFields(*present, next);
        return next;
      },
      body);
  if (!written) return proxy::fail(std::move(written.error()));
  ++counters_.puts;
  return {};
}

proxy::Result<ProfileRecord> ProfileKeeper::update(const std::string& id,
                                                   const RecordChange& change,
                                                   const std::optional<std::string>& body) {
  return modify(
      id,
      [&change](std::optional<ProfileRecord> present) -> proxy::Result<ProfileRecord> {
        if (!present) return notFound();
        ProfileRecord next = *present;
        change(next);
        keepOwnFields(*present, next);
        return next;
      },
      body);
}

proxy::Result<ProfileRecord> ProfileKeeper::pin(const std::string& id) {
  if (!limits_.retention.pinned) {
    return proxy::fail(ErrorCode::Unsupported, ErrorSource::Store,
                       "pins are switched off (retention.pinned)");
  }
  return modify(
      id,
      [this](std::optional<ProfileRecord> present) -> proxy::Result<ProfileRecord> {
        if (!present) return notFound();
        present->pinned_until = clock_() + kPinTtl;
        return std::move(*present);
      },
      std::nullopt);
}

proxy::Result<ProfileRecord> ProfileKeeper::unpin(const std::string& id) {
  return modify(
      id,
      [](std::optional<ProfileRecord> present) -> proxy::Result<ProfileRecord> {
        if (!present) return notFound();
        present->pinned_until.reset();
        return std::move(*present);
      },
      std::nullopt);
}

proxy::Result<> ProfileKeeper::drop(const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  if (auto erased = medium_->erase(ids); !erased) return erased;
  for (const std::string& id : ids) index_.erase(id);
  return {};
}

proxy::Result<> ProfileKeeper::erase(const std::string& id) {
  if (auto found = find(id); !found) return proxy::fail(std::move(found.error()));
  return drop({id});
}

proxy::Result<> ProfileKeeper::revoke(const RevokedToken& token) {
  if (token.jti.empty() || token.jti.size() > kJtiBytesMax) {
    return proxy::fail(ErrorCode::Malformed, ErrorSource::Client, "not a token's id");
  }
  return medium_->revoke(token, clock_());
}

proxy::Result<ProfileRecord> ProfileKeeper::find(const std::string& id) {
  if (!isProfileId(id)) return malformedId();
  if (auto opened = openMedium(); !opened) return proxy::fail(std::move(opened.error()));
  auto documents = medium_->documents({&id, 1});
  if (!documents) return proxy::fail(std::move(documents.error()));
  auto& document = documents->front();
  auto record = document ? readDocument(*document) : std::nullopt;
  if (!record) return notFound();
  return std::move(*record);
}

proxy::Result<std::string> ProfileKeeper::body(const std::string& id) {
  if (auto found = find(id); !found) return proxy::fail(std::move(found.error()));
  auto body = medium_->body(id);
  if (!body) return proxy::fail(std::move(body.error()));
  if (!*body) return notFound();
  return std::move(**body);
}

proxy::Result<ListPage> ProfileKeeper::list(const ListQuery& query) {
  if (auto opened = openMedium(); !opened) return proxy::fail(std::move(opened.error()));
  if (auto fresh = medium_->refresh(index_); !fresh) return proxy::fail(std::move(fresh.error()));
  ListPage out;
  for (int attempt = 0; attempt < kListAttempts; ++attempt) {
    auto page = index_.list(query, cutoff());
    if (!page) return proxy::fail(std::move(page.error()));
    auto documents = medium_->documents(page->ids);
    if (!documents) return proxy::fail(std::move(documents.error()));
    out = {{}, page->total, std::move(page->next)};
    std::vector<std::string> gone;
    for (size_t i = 0; i < page->ids.size(); ++i) {
      const auto& document = (*documents)[i];
      auto record = document ? readDocument(*document) : std::nullopt;
      if (record) {
        out.records.push_back(std::move(*record));
      } else {
        gone.push_back(page->ids[i]);
      }
    }
    if (gone.empty()) break;
    if (auto dropped = drop(gone); !dropped) return proxy::fail(std::move(dropped.error()));
  }
  return out;
}

proxy::Result<std::vector<Group>> ProfileKeeper::groups(GroupBy by, const ListQuery& filters,
                                                        size_t limit) {
  if (auto opened = openMedium(); !opened) return proxy::fail(std::move(opened.error()));
  if (auto fresh = medium_->refresh(index_); !fresh) return proxy::fail(std::move(fresh.error()));
  return index_.groups(by, filters, limit, cutoff());
}

proxy::Result<std::vector<RevokedToken>> ProfileKeeper::revoked() {
  if (auto opened = openMedium(); !opened) return proxy::fail(std::move(opened.error()));
  return medium_->revoked(clock_());
}

proxy::Result<StoreStats> ProfileKeeper::stats() {
  if (auto opened = openMedium(); !opened) return proxy::fail(std::move(opened.error()));
  if (auto fresh = medium_->refresh(index_); !fresh) return proxy::fail(std::move(fresh.error()));
  StoreStats out = counters_;
  out.profiles = index_.size();
  out.pinned = index_.pinned();
  out.bytes = index_.bytes();
  out.oldest = index_.findOldest();
  return out;
}

// A failure is not the new content's: the index is made again, and the next group evicts.
void ProfileKeeper::evictOverLimits() {
  const config::Retention& retention = limits_.retention;
  std::vector<std::string> ids;
  while (index_.size() > retention.profiles_max || index_.bytes() > retention.bytes_max) {
    const bool too_many = index_.size() > retention.profiles_max;
    auto id = index_.findFirstUnpinned();
    if (!id) break;
    index_.erase(*id);
    ids.push_back(std::move(*id));
    ++(too_many ? counters_.evicted_count : counters_.evicted_bytes);
  }
  if (!ids.empty() && !medium_->erase(ids)) index_stale_ = true;
}

proxy::Result<bool> ProfileKeeper::evictExpired() {
  const auto ids = index_.findExpired(cutoff(), kSweepStep);
  if (auto dropped = drop(ids); !dropped) return proxy::fail(std::move(dropped.error()));
  counters_.evicted_age += ids.size();
  return ids.size() == kSweepStep;
}

proxy::Result<> ProfileKeeper::renewPins() {
  const bool keep = limits_.retention.pinned;
  const WallTime soon = keep ? clock_() + kPinTtl - kPinRenewal : WallTime::max();
  for (const std::string& id : index_.findPinnedUntilBefore(soon, kSweepStep)) {
    auto renewed = keep ? pin(id) : unpin(id);
    if (renewed) continue;
    if (renewed.error().code != ErrorCode::NotFound) {
      return proxy::fail(std::move(renewed.error()));
    }
    index_.erase(id);
  }
  return {};
}

proxy::Result<bool> ProfileKeeper::sweep(bool probe) {
  if (auto begun = begin(); !begun) return proxy::fail(std::move(begun.error()));
  if (auto fresh = medium_->refresh(index_); !fresh) {
    index_stale_ = true;
    static_cast<void>(
        medium_->commit());  // nothing was written; the refresh's error is the one to tell
    return proxy::fail(std::move(fresh.error()));
  }
  auto renewed = probe ? medium_->probe() : proxy::Result<>();
  if (renewed) renewed = renewPins();
  auto expired = renewed ? evictExpired() : proxy::Result<bool>(false);
  if (auto committed = commit(); !committed) return proxy::fail(std::move(committed.error()));
  if (!renewed) return proxy::fail(std::move(renewed.error()));
  if (!expired) return expired;
  auto tidied = medium_->tidy(cutoff());
  if (!tidied) return tidied;
  return *expired || *tidied;
}

}  // namespace flamegate::control
