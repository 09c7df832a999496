// Profiles in the process's memory: for trials and tests.
#pragma once

#include <map>
#include <unordered_map>

#include "control/store/medium.h"

namespace flamegate::control {

class MemoryMedium final : public StoreMedium {
 public:
  std::string_view kind() const override { return "memory"; }
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
  struct Item {
    std::string document;
    std::optional<std::string> body;
  };

  std::unordered_map<std::string, Item> items_;
  std::map<std::string, WallTime> revoked_;  // until
};

}  // namespace flamegate::control
