// Where profiles lie: what a kind of store has to be able to do. All else is ProfileKeeper's.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/store/record_index.h"
#include "control/store/store.h"
#include "proxy/base/result.h"

namespace flamegate::control {

// One profile as a medium writes it.
struct StoredProfile {
  std::string id;
  std::string document;               // the record as JSON
  Summary summary;                    // its line in the index
  const std::string* body = nullptr;  // borrowed; null: a body that is there stays
  Millis ttl{0};  // how long it may live from now, for media that expire by themselves
};

// Makes the new content from the present document, if there is one. May be called again when the
// document changed in between.
using Modification = std::function<proxy::Result<StoredProfile>(std::optional<std::string_view>)>;

// Blocking calls, made from one thread. Errors: Unavailable, Timeout, Full or Io, and what a
// Modification returned. A medium that is away reconnects or reopens by itself in a later call,
// without trying so often that calls pile up.
// Owner: ProfileKeeper. Thread: the store's. Ends: with the keeper.
class StoreMedium {
 public:
  virtual ~StoreMedium() = default;

  virtual std::string_view kind() const = 0;

  // Before every group of calls: makes sure that the medium can be used. Where it was opened anew,
  // or `rebuild` asks for it, fills the index from what is stored and has not expired.
  virtual proxy::Result<> open(RecordIndex& index, const Cutoff& cutoff, bool rebuild) = 0;

  // Brings in what other processes have changed.
  virtual proxy::Result<> refresh(RecordIndex& index) = 0;

  // Writes between the two take effect together at commit() or, if that fails, not at all; a medium
  // without transactions applies each at once.
  virtual proxy::Result<> begin() = 0;
  virtual proxy::Result<> commit() = 0;

  virtual proxy::Result<> modify(const std::string& id, const Modification& modification) = 0;
  virtual proxy::Result<> erase(std::span<const std::string> ids) = 0;

  // In the order of the ids; nothing where there is none.
  virtual proxy::Result<std::vector<std::optional<std::string>>> documents(
      std::span<const std::string> ids) = 0;
  virtual proxy::Result<std::optional<std::string>> body(const std::string& id) = 0;

  virtual proxy::Result<> revoke(const RevokedToken& token, WallTime now) = 0;
  virtual proxy::Result<std::vector<RevokedToken>> revoked(WallTime now) = 0;

  // Writes something small: whether profiles could be written, while nobody writes any.
  virtual proxy::Result<> probe() = 0;

  // Gives space back, a bounded step at a time; true: there is more to do.
  virtual proxy::Result<bool> tidy(const Cutoff& cutoff) = 0;
};

}  // namespace flamegate::control
