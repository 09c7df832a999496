#include "control/profiles/model.h"

#include <array>
#include <utility>

namespace flamegate::control {

std::string_view stateName(State state) {
  switch (state) {
    case State::Running:
      return "running";
    case State::Waiting:
      return "waiting";
    case State::Gil:
      return "gil";
    case State::Gc:
      return "gc";
    case State::Unknown:
      return "";
  }
  return "";
}

std::optional<State> findState(std::string_view name) {
  using Entry = std::pair<std::string_view, State>;
  static constexpr std::array kNames = {
      Entry{"running", State::Running},  Entry{"waiting", State::Waiting},
      Entry{"gil", State::Gil},          Entry{"gc", State::Gc},
      Entry{"runnable", State::Waiting}, Entry{"sleeping", State::Waiting},
      Entry{"io", State::Waiting},       Entry{"lock", State::Waiting},
      Entry{"await", State::Waiting},    Entry{"idle", State::Waiting},
      Entry{"gvl", State::Gil},
  };
  for (const auto& [known, state] : kNames) {
    if (known == name) return state;
  }
  return std::nullopt;
}

uint64_t hashItems(std::span<const Label> labels, uint64_t seed) {
  uint64_t hash = mixHash(seed, labels.size());
  for (const Label& label : labels) {
    hash = mixHash(hash ^ label.key, (uint64_t{label.text} << 32) | label.unit);
    hash = mixHash(hash, static_cast<uint64_t>(label.number));
  }
  return hash;
}

}  // namespace flamegate::control
