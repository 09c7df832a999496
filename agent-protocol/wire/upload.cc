#include "agent-protocol/wire/upload.h"

#include <algorithm>
#include <array>

#include "agent-protocol/wire/pairs.h"
#include "proxy/base/encoding.h"

namespace flamegate::agent {
namespace {

constexpr size_t kSignatureSize = 43;  // 32 bytes in base64url

bool isDigits(std::string_view text, size_t size_max) {
  return !text.empty() && text.size() <= size_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool isSignature(std::string_view text) {
  return text.size() == kSignatureSize && proxy::fromBase64Url(text).has_value();
}

}  // namespace

bool isPart(std::string_view text) {
  const size_t dash = text.find('-');
  return dash != std::string_view::npos && isDigits(text.substr(0, dash), 10) &&
         isDigits(text.substr(dash + 1), 6);
}

bool isInstance(std::string_view text) { return isWord(text, 1, 64, "._-"); }

std::optional<UploadPath> parseUploadPath(std::string_view path) {
  if (!path.starts_with(kUploadPathPrefix)) return std::nullopt;
  path.remove_prefix(kUploadPathPrefix.size());
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto id = ProfileId::parse(path.substr(0, slash));
  const std::string_view part = path.substr(slash + 1);
  if (!id || !isPart(part)) return std::nullopt;
  return UploadPath{*id, part};
}

std::optional<std::string_view> parseHelloPath(std::string_view path) {
  if (!path.starts_with(kHelloPathPrefix)) return std::nullopt;
  path.remove_prefix(kHelloPathPrefix.size());
  if (!isInstance(path)) return std::nullopt;
  return path;
}

std::string UploadAuth::format() const {
  std::string text = "kid=";
  text.append(kid).append(";ts=").append(std::to_string(ts_ms));
  text.append(";nonce=").append(nonce).append(";sig=").append(signature);
  return text;
}

std::optional<UploadAuth> parseUploadAuth(std::string_view text) {
  constexpr std::array<std::string_view, 4> kKeys = {"kid", "ts", "nonce", "sig"};
  std::array<std::optional<std::string_view>, kKeys.size()> values;
  if (!splitPairs(text, kKeys, values)) return std::nullopt;
  const auto& [kid, ts_text, nonce, signature] = values;
  if (!kid || !ts_text || !nonce || !signature) return std::nullopt;
  const auto ts = parseStrictDecimal(*ts_text);
  if (!ts || !isKid(*kid) || !isWord(*nonce, 16, 64, "_-") || !isSignature(*signature)) {
    return std::nullopt;
  }
  return UploadAuth{std::string(*kid), *ts, std::string(*nonce), std::string(*signature)};
}

std::string AnswerAuth::format() const {
  std::string text = "kid=";
  text.append(kid).append(";sig=").append(signature);
  return text;
}

std::optional<AnswerAuth> parseAnswerAuth(std::string_view text) {
  constexpr std::array<std::string_view, 2> kKeys = {"kid", "sig"};
  std::array<std::optional<std::string_view>, kKeys.size()> values;
  if (!splitPairs(text, kKeys, values)) return std::nullopt;
  const auto& [kid, signature] = values;
  if (!kid || !signature || !isKid(*kid) || !isSignature(*signature)) return std::nullopt;
  return AnswerAuth{std::string(*kid), std::string(*signature)};
}

}  // namespace flamegate::agent
