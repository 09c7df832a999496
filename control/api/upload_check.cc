#include "control/api/upload_check.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent-protocol/wire/meta.h"
#include "control/profiles/compression.h"
#include "control/profiles/import.h"
#include "proxy/base/strings.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::Result;

UploadFault unsignedFault() {
  return {401, "unsigned", "Flamegate-Auth is absent, malformed, expired or wrong", {}, false};
}

UploadFault tooLargeFault(std::string message) {
  return {413, "too-large", std::move(message), FailReason::Oversized, true};
}

UploadFault undecodableFault(std::string message) {
  return {422, "undecodable", std::move(message), FailReason::Undecodable, true};
}

UploadFault faultOf(const proxy::Error& error) {
  if (error.code == ErrorCode::TooLarge) return tooLargeFault(error.detail);
  return undecodableFault(error.detail);
}

UploadVerdict refused(UploadFault fault) { return {nullptr, std::move(fault)}; }

// What the agent measured tells more than what it was asked for.
int64_t periodNs(const agent::UploadMeta& meta) {
  const uint64_t us = meta.measured_period_us.value_or(meta.period_us.value_or(0));
  constexpr uint64_t kLongest = 3'600'000'000;
  return static_cast<int64_t>(std::min(us, kLongest)) * 1'000;
}

}  // namespace

bool isUploadType(std::string_view content_type) {
  return findImportFormatOfType(content_type) != nullptr;
}

bool isUploadCoding(std::string_view content_coding) {
  constexpr std::string_view kCodings[] = {"", "identity", "gzip", "x-gzip", "zstd"};
  return std::any_of(std::begin(kCodings), std::end(kCodings), [&](std::string_view coding) {
    return proxy::equalIgnoreCase(coding, content_coding);
  });
}

UploadVerdict checkUpload(const UploadHead& head, std::string_view body, int64_t now_ms,
                          const AgentKeySet& keys) {
  const proxy::Sha256 hash = proxy::sha256(body);
  const agent::UploadFacts facts{"POST", head.path, proxy::asView(hash), head.meta};
  if (keys.verify(head.auth, facts, now_ms) == nullptr) return refused(unsignedFault());

  Result<std::string> content = inflateBody(head.content_coding, body);
  if (!content) return refused(faultOf(content.error()));
  Result<agent::UploadMeta> meta = agent::parseMeta(head.meta);
  if (!meta) return refused(undecodableFault("Flamegate-Meta: " + meta.error().detail));
  Result<Profile> profile =
      importProfile(head.content_type, *content, {.period_ns = periodNs(*meta)});
  if (!profile) return refused(faultOf(profile.error()));

  auto part = std::make_shared<Part>();
  part->name = head.part;
  part->hash = hash;
  part->kid = head.auth.kid;
  part->meta = std::move(*meta);
  part->profile = std::make_shared<const Profile>(std::move(*profile));
  return {std::move(part), {}};
}

}  // namespace flamegate::control
