#include "agent-protocol/token/agent_signature.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace flamegate::agent {
namespace {

using proxy::asView;
using proxy::equalConstantTime;
using proxy::hmacSha256;
using proxy::toBase64Url;
using proxy::toHex;

constexpr size_t kRequestSignatureBytes = 16;
constexpr uint64_t kRequestTtlMsMax = 60'000;
constexpr uint64_t kRequestSlackMs = 5'000;
constexpr uint64_t kUploadSkewMsMax = 300'000;

uint64_t distance(int64_t now_ms, uint64_t then_ms) {
  const auto now = static_cast<uint64_t>(std::max<int64_t>(now_ms, 0));
  return now > then_ms ? now - then_ms : then_ms - now;
}

std::string requestSignature(const RequestHeader& header, std::string_view method,
                             const AgentKeys& keys) {
  const auto mac = hmacSha256(asView(keys.request), header.signedText(method));
  return toBase64Url(asView(mac).substr(0, kRequestSignatureBytes));
}

std::string uploadSignature(const UploadAuth& auth, const UploadFacts& facts,
                            const AgentKeys& keys) {
  std::string text = "FG1-UP\n";
  text.append(auth.kid).append("\n").append(std::to_string(auth.ts_ms));
  text.append("\n").append(auth.nonce).append("\n").append(facts.method);
  text.append("\n").append(facts.path).append("\n").append(toHex(facts.body_sha256));
  text.append("\n").append(toHex(asView(proxy::sha256(facts.meta))));
  return toBase64Url(asView(hmacSha256(asView(keys.upload), text)));
}

std::string answerSignature(std::string_view request_nonce, std::string_view body,
                            const AgentKeys& keys) {
  std::string text = "FG1-ANS\n";
  text.append(keys.kid).append("\n").append(request_nonce);
  text.append("\n").append(toHex(asView(proxy::sha256(body))));
  return toBase64Url(asView(hmacSha256(asView(keys.upload), text)));
}

AckState judge(const RequestHeader& header, std::string_view method, std::string_view service,
               int64_t now_ms, const KeyRing& ring) {
  if (!service.empty() && header.service != service) return AckState::BadSignature;
  const AgentKeys* keys = ring.find(header.kid);
  if (keys == nullptr) return AckState::BadSignature;
  const uint64_t window = std::min(header.ttl_ms, kRequestTtlMsMax) + kRequestSlackMs;
  if (distance(now_ms, header.ts_ms) > window) return AckState::Expired;
  return equalConstantTime(requestSignature(header, method, *keys), header.signature)
             ? AckState::Started
             : AckState::BadSignature;
}

}  // namespace

void signRequest(RequestHeader& header, std::string_view method, const AgentKeys& keys) {
  header.kid = keys.kid;
  header.signature = requestSignature(header, method, keys);
}

RequestCheck checkRequest(std::string_view header, std::string_view method,
                          std::string_view service, int64_t now_ms, const KeyRing& keys) {
  RequestHeaderParse parse = parseRequestHeader(header);
  RequestCheck check;
  switch (parse.outcome) {
    case RequestHeaderParse::Outcome::Malformed:
      return check;
    case RequestHeaderParse::Outcome::OtherVersion:
      check.answer = AckState::Unsupported;
      break;
    case RequestHeaderParse::Outcome::Ok:
      check.answer = judge(parse.header, method, service, now_ms, keys);
      break;
  }
  check.header = std::move(parse.header);
  return check;
}

UploadAuth signUpload(const UploadFacts& facts, int64_t now_ms, std::string nonce,
                      const AgentKeys& keys) {
  UploadAuth auth;
  auth.kid = keys.kid;
  auth.ts_ms = static_cast<uint64_t>(std::max<int64_t>(now_ms, 0));
  auth.nonce = std::move(nonce);
  auth.signature = uploadSignature(auth, facts, keys);
  return auth;
}

bool isPlausible(const UploadAuth& auth, int64_t now_ms, const KeyRing& keys) {
  return keys.find(auth.kid) != nullptr && distance(now_ms, auth.ts_ms) <= kUploadSkewMsMax;
}

const AgentKeys* verifyUpload(const UploadAuth& auth, const UploadFacts& facts, int64_t now_ms,
                              const KeyRing& ring) {
  if (!isPlausible(auth, now_ms, ring)) return nullptr;
  const AgentKeys* keys = ring.find(auth.kid);
  return equalConstantTime(uploadSignature(auth, facts, *keys), auth.signature) ? keys : nullptr;
}

AnswerAuth signAnswer(std::string_view request_nonce, std::string_view body,
                      const AgentKeys& keys) {
  return AnswerAuth{keys.kid, answerSignature(request_nonce, body, keys)};
}

bool verifyAnswer(const AnswerAuth& auth, std::string_view request_nonce, std::string_view body,
                  const KeyRing& ring) {
  const AgentKeys* keys = ring.find(auth.kid);
  return keys != nullptr &&
         equalConstantTime(answerSignature(request_nonce, body, *keys), auth.signature);
}

}  // namespace flamegate::agent
