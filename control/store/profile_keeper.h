// The rules of the store: records, limits, pins and retention over one medium.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/config.h"
#include "control/store/medium.h"
#include "control/store/record_index.h"

namespace flamegate::control {

// What Store promises, as blocking calls. Reads stand alone; writes stand between begin() and
// commit(), whose failure takes all of them back.
// Owner: Store. Thread: the store's. Ends: with it.
class ProfileKeeper {
 public:
  struct Limits {
    config::Retention retention;
    uint64_t body_bytes_max = 32u << 20;
  };

  ProfileKeeper(std::unique_ptr<StoreMedium> medium, Limits limits, WallClock clock);

  proxy::Result<> begin();
  // Also evicts what the new content pushed over the limits of bytes and number.
  proxy::Result<> commit();

  proxy::Result<> put(ProfileRecord record, const std::optional<std::string>& body);
  proxy::Result<ProfileRecord> update(const std::string& id, const RecordChange& change,
                                      const std::optional<std::string>& body);
  proxy::Result<> erase(const std::string& id);
  proxy::Result<ProfileRecord> pin(const std::string& id);
  proxy::Result<ProfileRecord> unpin(const std::string& id);
  proxy::Result<> revoke(const RevokedToken& token);

  proxy::Result<ProfileRecord> find(const std::string& id);
  proxy::Result<std::string> body(const std::string& id);
  proxy::Result<ListPage> list(const ListQuery& query);
  proxy::Result<std::vector<Group>> groups(GroupBy by, const ListQuery& filters, size_t limit);
  proxy::Result<std::vector<RevokedToken>> revoked();
  // What is stored; without what Store itself counts.
  proxy::Result<StoreStats> stats();
  std::string_view kind() const { return medium_->kind(); }

  // One bounded step of retention, with its own begin and commit; true: there is more to do.
  // `probe`: also tries whether profiles can be written.
  proxy::Result<bool> sweep(bool probe);

 private:
  // Makes the new record from the present one; store-owned fields are the change's to keep.
  using Change = std::function<proxy::Result<ProfileRecord>(std::optional<ProfileRecord>)>;

  Cutoff cutoff() const;
  proxy::Result<> openMedium();
  std::optional<ProfileRecord> readDocument(std::string_view document) const;
  proxy::Result<ProfileRecord> modify(const std::string& id, const Change& change,
                                      const std::optional<std::string>& body);
  proxy::Result<StoredProfile> encode(ProfileRecord& record,
                                      const std::optional<std::string>& body) const;
  Millis timeLeft(const ProfileRecord& record) const;
  proxy::Result<> drop(const std::vector<std::string>& ids);
  void evictOverLimits();
  proxy::Result<bool> evictExpired();
  proxy::Result<> renewPins();
  proxy::Result<> checkBody(const std::optional<std::string>& body) const;

  const std::unique_ptr<StoreMedium> medium_;
  const Limits limits_;
  const WallClock clock_;

  RecordIndex index_;
  bool index_stale_ = false;  // a group was taken back: the index says more than the medium holds
  StoreStats counters_;       // puts and evictions
};

}  // namespace flamegate::control
