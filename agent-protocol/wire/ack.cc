#include "agent-protocol/wire/ack.h"

#include <algorithm>
#include <array>

#include "agent-protocol/wire/pairs.h"

namespace flamegate::agent {
namespace {

constexpr size_t kCapsMax = 16;

constexpr std::array kStates = {AckState::Started,      AckState::Busy,    AckState::Off,
                                AckState::BadSignature, AckState::Expired, AckState::Replay,
                                AckState::Unsupported,  AckState::Error};

enum Key : size_t { kV, kId, kSt, kAgent, kRt, kCaps, kNow, kKeyCount };
constexpr std::array<std::string_view, kKeyCount> kKeys = {"v",  "id",   "st", "agent",
                                                           "rt", "caps", "now"};
using Values = std::array<std::optional<std::string_view>, kKeyCount>;

// `name/version`
bool isProduct(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && isWord(text.substr(0, slash), 1, 32, "._+-") &&
         isWord(text.substr(slash + 1), 1, 32, "._+-");
}

bool isCap(std::string_view text) {
  return isWord(text, 1, 16, "-") &&
         std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool readCaps(std::string_view list, std::vector<std::string>& caps) {
  while (true) {
    const size_t comma = list.find(',');
    const std::string_view cap = list.substr(0, comma);
    if (!isCap(cap) || caps.size() == kCapsMax) return false;
    caps.emplace_back(cap);
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

bool readProduct(const std::optional<std::string_view>& value, std::string& product) {
  if (!value) return true;
  product = *value;
  return isProduct(*value);
}

}  // namespace

std::string_view ackStateName(AckState state) {
  switch (state) {
    case AckState::Started:
      return "started";
    case AckState::Busy:
      return "busy";
    case AckState::Off:
      return "off";
    case AckState::BadSignature:
      return "bad-sig";
    case AckState::Expired:
      return "expired";
    case AckState::Replay:
      return "replay";
    case AckState::Unsupported:
      return "unsupported";
    case AckState::Error:
      return "error";
  }
  return "error";
}

std::optional<AckState> parseAckState(std::string_view text) {
  for (AckState state : kStates) {
    if (text == ackStateName(state)) return state;
  }
  return std::nullopt;
}

std::string Ack::format() const {
  std::string text = "v=1;id=";
  text.append(id.text()).append(";st=").append(ackStateName(state));
  if (!agent.empty()) text.append(";agent=").append(agent);
  if (!runtime.empty()) text.append(";rt=").append(runtime);
  for (size_t i = 0; i < caps.size(); ++i) text.append(i == 0 ? ";caps=" : ",").append(caps[i]);
  if (now_ms) text.append(";now=").append(std::to_string(*now_ms));
  return text;
}

std::optional<Ack> parseAck(std::string_view text) {
  Values values;
  if (!splitPairs(text, kKeys, values)) return std::nullopt;
  if (!values[kV] || *values[kV] != "1" || !values[kId] || !values[kSt]) return std::nullopt;
  const auto id = ProfileId::parse(*values[kId]);
  const auto state = parseAckState(*values[kSt]);
  if (!id || !state) return std::nullopt;

  Ack ack;
  ack.id = *id;
  ack.state = *state;
  if (!readProduct(values[kAgent], ack.agent) || !readProduct(values[kRt], ack.runtime)) {
    return std::nullopt;
  }
  if (values[kCaps] && !readCaps(*values[kCaps], ack.caps)) return std::nullopt;
  if (values[kNow]) {
    ack.now_ms = parseStrictDecimal(*values[kNow]);
    if (!ack.now_ms) return std::nullopt;
  }
  return ack;
}

}  // namespace flamegate::agent
