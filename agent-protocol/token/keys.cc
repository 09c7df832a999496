#include "agent-protocol/token/keys.h"

namespace flamegate::agent {
namespace {

std::string kidOf(const proxy::Sha256& key) {
  return proxy::toHex(proxy::asView(proxy::sha256(proxy::asView(key)))).substr(0, 8);
}

}  // namespace

AgentKeys AgentKeys::derive(std::string_view secret) {
  AgentKeys keys;
  keys.request = proxy::hmacSha256(secret, "flamegate request v1");
  keys.upload = proxy::hmacSha256(secret, "flamegate upload v1");
  keys.kid = kidOf(keys.request);
  return keys;
}

SessionKeys SessionKeys::derive(std::string_view session_secret) {
  SessionKeys keys;
  keys.token = proxy::hmacSha256(session_secret, "flamegate token v1");
  keys.session = proxy::hmacSha256(session_secret, "flamegate session v1");
  keys.control = proxy::hmacSha256(session_secret, "flamegate control v1");
  keys.kid = kidOf(keys.token);
  return keys;
}

}  // namespace flamegate::agent
