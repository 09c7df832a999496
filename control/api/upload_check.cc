#include "control/api/upload_check.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent-protocol/wire/meta.h"
#include "control/profiles/compression.h"
#include "control/profiles/pprof.h"
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

struct UploadFormat {
  std::string_view type;
  Result<Profile> (*decode)(std::string_view);
};
constexpr UploadFormat kFormats[] = {
    {"application/x-pprof", decodePprof},
};

std::string_view mediaType(std::string_view content_type) {
  return proxy::trimBlanks(content_type.substr(0, content_type.find(';')));
}

const UploadFormat* findFormat(std::string_view content_type) {
  const std::string_view type = mediaType(content_type);
  const auto* const at = std::find_if(
      std::begin(kFormats), std::end(kFormats),
      [&](const UploadFormat& format) { return proxy::equalIgnoreCase(format.type, type); });
  return at == std::end(kFormats) ? nullptr : at;
}

}  // namespace

bool isUploadType(std::string_view content_type) { return findFormat(content_type) != nullptr; }

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
  Result<Profile> profile = findFormat(head.content_type)->decode(*content);
  if (!profile) return refused(faultOf(profile.error()));
  Result<agent::UploadMeta> meta = agent::parseMeta(head.meta);
  if (!meta) return refused(undecodableFault("Flamegate-Meta: " + meta.error().detail));

  auto part = std::make_shared<Part>();
  part->name = head.part;
  part->hash = hash;
  part->kid = head.auth.kid;
  part->meta = std::move(*meta);
  part->profile = std::make_shared<const Profile>(std::move(*profile));
  return {std::move(part), {}};
}

}  // namespace flamegate::control
