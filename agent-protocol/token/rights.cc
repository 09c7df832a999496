#include "agent-protocol/token/rights.h"

#include <array>
#include <utility>

namespace flamegate::agent {
namespace {

constexpr std::array<std::pair<std::string_view, Right>, 3> kNames = {
    {{"view", Right::View}, {"trigger", Right::Trigger}, {"manage", Right::Manage}}};

}  // namespace

std::optional<Right> parseRight(std::string_view name) {
  for (const auto& [known, right] : kNames) {
    if (name == known) return right;
  }
  return std::nullopt;
}

std::string formatRights(Rights rights) {
  std::string text;
  for (const auto& [name, right] : kNames) {
    if (!rights.has(right)) continue;
    if (!text.empty()) text.push_back(',');
    text.append(name);
  }
  return text;
}

std::optional<Rights> parseRights(std::string_view names) {
  Rights rights;
  if (names.empty()) return rights;
  while (true) {
    const size_t comma = names.find(',');
    const auto right = parseRight(names.substr(0, comma));
    if (!right) return std::nullopt;
    rights |= *right;
    if (comma == std::string_view::npos) return rights;
    names.remove_prefix(comma + 1);
  }
}

}  // namespace flamegate::agent
