#include "agent-protocol/wire/request_header.h"

#include <array>

#include "agent-protocol/wire/pairs.h"
#include "proxy/base/encoding.h"

namespace flamegate::agent {
namespace {

constexpr size_t kSignatureSize = 22;  // 16 bytes in base64url

enum Key : size_t { kV, kId, kTs, kTtl, kSvc, kKid, kMode, kUs, kMax, kSig, kKeyCount };
constexpr std::array<std::string_view, kKeyCount> kKeys = {"v",   "id",   "ts", "ttl", "svc",
                                                           "kid", "mode", "us", "max", "sig"};
using Values = std::array<std::optional<std::string_view>, kKeyCount>;

bool isSignature(std::string_view text) {
  return text.size() == kSignatureSize && proxy::fromBase64Url(text).has_value();
}

// All ten fields; false when one is missing or breaks its grammar. `header.id` is set before.
bool readFields(const Values& values, RequestHeader& header) {
  for (const auto& value : values) {
    if (!value) return false;
  }
  const auto ts = parseStrictDecimal(*values[kTs]);
  const auto ttl = parseStrictDecimal(*values[kTtl]);
  const auto interval = parseStrictDecimal(*values[kUs]);
  const auto max = parseStrictDecimal(*values[kMax]);
  const auto mode = parseMode(*values[kMode]);
  if (!ts || !ttl || !interval || !max || !mode || *interval == 0 || *max == 0) return false;
  if (!isServiceName(*values[kSvc]) || !isKid(*values[kKid]) || !isSignature(*values[kSig])) {
    return false;
  }
  header.ts_ms = *ts;
  header.ttl_ms = *ttl;
  header.interval_us = *interval;
  header.max_ms = *max;
  header.mode = *mode;
  header.service = *values[kSvc];
  header.kid = *values[kKid];
  header.signature = *values[kSig];
  return true;
}

}  // namespace

std::string_view modeName(Mode mode) {
  switch (mode) {
    case Mode::Wall:
      return "wall";
    case Mode::Cpu:
      return "cpu";
    case Mode::Both:
      return "both";
  }
  return "wall";
}

std::optional<Mode> parseMode(std::string_view text) {
  for (Mode mode : {Mode::Wall, Mode::Cpu, Mode::Both}) {
    if (text == modeName(mode)) return mode;
  }
  return std::nullopt;
}

bool isServiceName(std::string_view text) { return isWord(text, 1, 64, "._-"); }

std::string RequestHeader::signedText(std::string_view method) const {
  std::string text = "FG1-REQ\n";
  text.append(kid).append("\n").append(id.text()).append("\n");
  text.append(std::to_string(ts_ms)).append("\n").append(std::to_string(ttl_ms)).append("\n");
  text.append(service).append("\n").append(method).append("\n").append(modeName(mode));
  text.append("\n").append(std::to_string(interval_us));
  text.append("\n").append(std::to_string(max_ms));
  return text;
}

std::string RequestHeader::format() const {
  std::string text = "v=1;id=";
  text.append(id.text()).append(";ts=").append(std::to_string(ts_ms));
  text.append(";ttl=").append(std::to_string(ttl_ms)).append(";svc=").append(service);
  text.append(";kid=").append(kid).append(";mode=").append(modeName(mode));
  text.append(";us=").append(std::to_string(interval_us));
  text.append(";max=").append(std::to_string(max_ms)).append(";sig=").append(signature);
  return text;
}

RequestHeaderParse parseRequestHeader(std::string_view text) {
  RequestHeaderParse parse;
  Values values;
  if (!splitPairs(text, kKeys, values) || !values[kV] || !values[kId]) return parse;
  const auto version = parseStrictDecimal(*values[kV]);
  const auto id = ProfileId::parse(*values[kId]);
  if (!version || !id) return parse;
  parse.header.id = *id;
  if (*version != 1) {
    parse.outcome = RequestHeaderParse::Outcome::OtherVersion;
  } else if (readFields(values, parse.header)) {
    parse.outcome = RequestHeaderParse::Outcome::Ok;
  }
  return parse;
}

}  // namespace flamegate::agent
