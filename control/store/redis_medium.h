// Profiles in one Redis server that several control processes may share.
#pragma once

#include <string>

#include "config/schema/config.h"
#include "control/store/medium.h"
#include "control/store/redis_connection.h"

namespace flamegate::control {

// Keys, all under the configured prefix (P) and each written together with its TTL:
//   P{ID}:meta        the record as JSON
//   P{ID}:pprof       the body, as it was put
//   P{index}:rows     hash: ID to its summary
//   P{index}:changes  sorted set: ID by the version of its latest change
//   P{index}:gone     sorted set: the latest IDs that were erased, by version
//   P{index}:revoked  sorted set: jti by the time when the token expires (Unix ms)
//   P{index}:probe    written to see whether writing works
// A profile's two keys share a hash tag, and so do the index's keys. Versions grow by at least one
// and never fall behind the server's clock in microseconds; each process brings its own RecordIndex
// up to date from what is newer than it has seen. The index lives as long as the longest-lived
// profile in it; lines whose profile has expired are removed when a list or a sweep meets them. No
// command walks over keys of others (KEYS, SCAN, FLUSH).
class RedisMedium final : public StoreMedium {
 public:
  explicit RedisMedium(const config::Redis& config);

  std::string_view kind() const override { return "redis"; }
  proxy::Result<> open(RecordIndex& index, const Cutoff& cutoff, bool rebuild) override;
  proxy::Result<> refresh(RecordIndex& index) override;
  proxy::Result<> begin() override;
  proxy::Result<> commit() override;
  proxy::Result<> modify(const std::string& id, const Modification& modification) override;
  proxy::Result<> erase(std::span<const std::string> ids) override;
  proxy::Result<std::vector<std::optional<std::string>>> documents(
      std::span<const std::string> ids) override;
  proxy::Result<std::optional<std::string>> body(const std::string& id) override;
  proxy::Result<> revoke(const RevokedToken& token, WallTime now) override;
  proxy::Result<std::vector<RevokedToken>> revoked(WallTime now) override;
  proxy::Result<> probe() override;
  proxy::Result<bool> tidy(const Cutoff& cutoff) override;

 private:
  // Latest versions seen in `changes` and `gone`, as the server writes them.
  struct Seen {
    std::string changes = "0";
    std::string gone = "0";
  };
  // Whether another process changed the record before us.
  enum class Written : unsigned char { Yes, Conflict };

  std::string profileKey(const std::string& id, std::string_view part) const;
  std::string indexKey(std::string_view part) const;
  proxy::Result<std::vector<RespValue>> call(const RespCommands& commands);
  proxy::Result<std::optional<std::string>> watchDocument(const std::string& id);
  proxy::Result<Written> write(const StoredProfile& profile, bool is_new);
  proxy::Result<uint64_t> catchUp(RecordIndex& index);
  proxy::Result<> fetchRows(RecordIndex& index, const std::vector<std::string>& ids);

  const std::string prefix_;
  RedisConnection connection_;
  Seen seen_;
  int64_t known_gap_ = 0;  // lines on the server that cannot be read, as of the last full reading
};

}  // namespace flamegate::control
