#include "proxy/tools.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "agent-protocol/token/client_token.h"
#include "agent-protocol/token/secret.h"
#include "control/api/client.h"
#include "control/control.h"
#include "control/profiles/convert.h"
#include "proxy/base/clock.h"

namespace flamegate {
namespace {

enum OptionId { kSocket = 512, kAllow, kTtl, kFor, kLink, kFormat, kFrom, kTo };

constexpr char kControlUsage[] = "usage: flamegate control -c FILE [--socket PATH]\n";
constexpr char kTokenUsage[] =
    "usage: flamegate token -c FILE --allow trigger[,view,manage] --ttl 1h [--for NAME]\n"
    "                       [--link https://site/page]\n"
    "\nPrints a signed token, or the link that carries it.\n";
constexpr char kGetUsage[] = "usage: flamegate get ID -c FILE [--format F] [-o OUT]\n";
constexpr char kConvertUsage[] = "usage: flamegate convert IN OUT [--from F] [--to F]\n";

int failed(std::string_view message) {
  std::fprintf(stderr, "flamegate: %.*s\n", static_cast<int>(message.size()), message.data());
  return 1;
}

// host[:port] of an http(s) URL; empty when it is none.
std::string hostOfLink(const std::string& link) {
  const size_t scheme = link.find("://");
  if (scheme == std::string::npos || !link.starts_with("http")) return {};
  const size_t from = scheme + 3;
  return link.substr(from, link.find_first_of("/?#", from) - from);
}

std::string addToLink(std::string link, const std::string& token, bool trigger) {
  std::string fragment;
  if (const size_t hash = link.find('#'); hash != std::string::npos) {
    fragment = link.substr(hash);
    link.resize(hash);
  }
  link += link.find('?') == std::string::npos ? '?' : '&';
  if (trigger) link += "pp=async-flamegraph&";
  return link + "fgtoken=" + token + fragment;
}

}  // namespace

int runControlCommand(int argc, char** argv) {
  ConfigSource source;
  control::ControlOptions options;
  options.version = FLAMEGATE_VERSION;
  const auto exit_status =
      parseOptions(argc, argv, kControlUsage, source,
                   {{"socket", required_argument, nullptr, kSocket}},
                   [&](int, std::string value) {
                     options.socket_path = std::move(value);
                     options.parent_pid = getppid();
                   });
  if (exit_status) return *exit_status;
  if (!source.given()) return usageError("control needs -c FILE");
  const auto config = source.loadOrExplain();
  if (!config) return 1;
  return control::runControl(*config, options);
}

int makeToken(int argc, char** argv) {
  ConfigSource source;
  std::string allow;
  std::string ttl;
  std::string holder;
  std::string link;
  const auto exit_status = parseOptions(argc, argv, kTokenUsage, source,
                                        {{"allow", required_argument, nullptr, kAllow},
                                         {"ttl", required_argument, nullptr, kTtl},
                                         {"for", required_argument, nullptr, kFor},
                                         {"link", required_argument, nullptr, kLink}},
                                        [&](int id, std::string value) {
                                          if (id == kAllow) allow = std::move(value);
                                          if (id == kTtl) ttl = std::move(value);
                                          if (id == kFor) holder = std::move(value);
                                          if (id == kLink) link = std::move(value);
                                        });
  if (exit_status) return *exit_status;
  if (source.file.empty()) return usageError("token needs -c FILE");
  const auto rights = agent::parseRights(allow);
  if (!rights || rights->none()) return usageError("--allow takes view, trigger, manage");
  const auto lifetime = config::parseDuration(ttl);
  if (!lifetime) return usageError("--ttl takes a duration, for example 1h");
  const std::string host = hostOfLink(link);
  if (!link.empty() && host.empty()) return usageError("--link takes an absolute http(s) URL");
  const auto config = source.loadOrExplain();
  if (!config) return 1;
  auto secret = agent::readOrCreateSecretFile(config->profiling.session_secret_file);
  if (!secret) return failed(secret.error().detail);
  auto claims = agent::createClaims(*rights, std::chrono::duration_cast<std::chrono::seconds>(*lifetime),
                                    holder, host, proxy::unixMillis() / 1000);
  if (!claims) return usageError(claims.error().detail);
  const std::string token = agent::mintToken(*claims, agent::SessionKeys::derive(*secret));
  const std::string text =
      link.empty() ? token : addToLink(link, token, rights->has(agent::Right::Trigger));
  std::puts(text.c_str());
  return 0;
}

int getProfileCommand(int argc, char** argv) {
  ConfigSource source;
  control::GetRequest request;
  const auto exit_status = parseOptions(argc, argv, kGetUsage, source,
                                        {{"format", required_argument, nullptr, kFormat},
                                         {"out", required_argument, nullptr, 'o'}},
                                        [&](int id, std::string value) {
                                          (id == 'o' ? request.out : request.format) = value;
                                        });
  if (exit_status) return *exit_status;
  if (optind + 1 != argc) return usageError("get needs one ID");
  if (source.file.empty()) return usageError("get needs -c FILE");
  request.id = argv[optind];
  const auto config = source.loadOrExplain();
  if (!config) return 1;
  return control::runGet(*config, request);
}

int convertCommand(int argc, char** argv) {
  ConfigSource unused;
  std::string from;
  std::string to;
  const auto exit_status = parseOptions(
      argc, argv, kConvertUsage, unused,
      {{"from", required_argument, nullptr, kFrom}, {"to", required_argument, nullptr, kTo}},
      [&](int id, std::string value) { (id == kFrom ? from : to) = std::move(value); });
  if (exit_status) return *exit_status;
  if (optind + 2 != argc) return usageError("convert needs IN and OUT");
  std::ifstream in(argv[optind], std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf())) return failed(std::string("cannot read ") + argv[optind]);
  const std::string input = bytes.str();
  auto converted = control::convertProfile({.bytes = input,
                                            .from = from,
                                            .to = to,
                                            .in_name = argv[optind],
                                            .out_name = argv[optind + 1]});
  if (!converted) return failed(std::string(argv[optind]) + ": " + converted.error().detail);
  std::ofstream out(argv[optind + 1], std::ios::binary);
  out << converted->bytes;
  out.close();
  if (!out) return failed(std::string("cannot write ") + argv[optind + 1]);
  if (!converted->lost.empty()) std::fprintf(stderr, "lost: %s\n", converted->lost.c_str());
  return 0;
}

}  // namespace flamegate
