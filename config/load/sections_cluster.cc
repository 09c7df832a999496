#include "config/load/bindings.h"
#include "config/load/fault.h"
#include "config/load/sections.h"
#include "config/load/text_rules.h"

namespace flamegate::config {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kEndpointsMax = 1000;
constexpr uint32_t kConnectionsMax = 1'000'000;
constexpr uint32_t kInARowMax = 100;
constexpr uint32_t kWeightMax = 1000;

constexpr std::array<Word<UpstreamProtocol>, 3> kProtocols = {
    {{"http/1.1", UpstreamProtocol::Http11},
     {"h2", UpstreamProtocol::H2},
     {"auto", UpstreamProtocol::Auto}}};
constexpr std::array<Word<Balance::Kind>, 3> kBalances = {
    {{"least_request", Balance::Kind::LeastRequest},
     {"round_robin", Balance::Kind::RoundRobin},
     {"random", Balance::Kind::Random}}};
constexpr std::array<Word<Balance::Kind>, 1> kHashes = {{{"source", Balance::Kind::HashSource}}};

// Our own certificate as two keys that need each other.
void describeOwnCertificate(Visitor& v, std::optional<CertificateFiles>& certificate) {
  std::optional<std::string> cert;
  std::optional<std::string> key;
  if (certificate) {
    cert = certificate->cert;
    key = certificate->key;
  }
  v.key("cert", optionalFilePath(cert));
  v.key("key", optionalFilePath(key));
  v.needs("cert", "key");
  v.needs("key", "cert");
  if (cert && key) certificate = CertificateFiles{*cert, *key};
}

void describeClusterTls(Visitor& v, ClusterTls& tls) {
  v.key("ca", optionalFilePath(tls.ca, "system"));
  v.key("sni", optional<std::string>(tls.sni, "auto",
                                     [](std::string& name) { return text(name, kServerName); }));
  v.key("verify", flag(tls.verify));
  describeOwnCertificate(v, tls.certificate);
}

Scalar hashName(Balance& balance, Balance::Kind kind, const TextRule& rule) {
  return alternative(
      text(balance.name, rule), [&balance, kind] { balance.kind = kind; },
      [&balance, kind] { return balance.kind == kind; });
}

// `least_request`, `round_robin`, `random`, `{hash: source}`, `{hash: {header: NAME}}` or
// `{hash: {cookie: NAME}}`.
void describeBalance(Visitor& v, Balance& balance) {
  const auto by_name = [&balance](Visitor& keys) {
    keys.key("header", hashName(balance, Balance::Kind::HashHeader, kFieldName));
    keys.key("cookie", hashName(balance, Balance::Kind::HashCookie, kFieldName));
    keys.exactlyOne({"header", "cookie"});
  };
  v.scalarOrMap(choice(balance.kind, kBalances), [&balance, by_name](Visitor& keys) {
    keys.key("hash", Need::Required, [&balance, by_name](Visitor& hash) {
      hash.scalarOrMap(choice(balance.kind, kHashes), by_name);
    });
  });
}

// `200-399` or `200`
Scalar statusRange(StatusRange& range) {
  Scalar scalar;
  scalar.type = "status or range of statuses";
  scalar.limits = "100 to 599";
  scalar.assign = [&range](const std::string& written) -> Problem {
    const std::string_view text = written;
    const size_t dash = std::min(text.find('-'), text.size());
    const auto first = parseInteger(text.substr(0, dash), 599);
    const auto last = dash == text.size() ? first : parseInteger(text.substr(dash + 1), 599);
    if (!first || !last || *first < 100 || *last < *first) {
      return "must be a status such as 200 or a range such as 200-399, not " + inQuotes(written);
    }
    range = {static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
    return std::nullopt;
  };
  scalar.text = [&range] { return std::to_string(range.first) + "-" + std::to_string(range.last); };
  return scalar;
}

void describeHealth(Visitor& v, Health& health) {
  v.key("path", Need::Required, text(health.path, kUrlPath));
  v.key("interval", duration(health.interval, milliseconds(100), hours(1)));
  v.key("timeout", duration(health.timeout, milliseconds(1), minutes(1)));
  v.key("healthy", integer(health.healthy, 1, kInARowMax));
  v.key("unhealthy", integer(health.unhealthy, 1, kInARowMax));
  v.key("expect", statusRange(health.expect));
}

void describeOutlier(Visitor& v, Outlier& outlier) {
  v.key("consecutive", integer(outlier.consecutive, 1, kInARowMax));
  v.key("eject", duration(outlier.eject, milliseconds(100), hours(1)));
}

void describeClusterLimits(Visitor& v, ClusterLimits& limits) {
  v.key("connections", integer(limits.connections, 1, kConnectionsMax));
  v.key("pending", integer(limits.pending, 0, kConnectionsMax));
  v.key("requests", integer(limits.requests, 1, kConnectionsMax));
  v.key("retry_budget", percent(limits.retry_budget_percent));
}

void describeClusterTimeout(Visitor& v, ClusterTimeout& timeout) {
  v.key("connect", duration(timeout.connect, milliseconds(1), minutes(5)));
  v.key("idle", duration(timeout.idle, milliseconds(1), hours(1)));
}

void describeSidecar(Visitor& v, Sidecar& sidecar) {
  v.key("socket", Need::Required, unixSocket(sidecar.socket_path));
  v.key("wait", duration(sidecar.wait, microseconds(1), seconds(1)));
}

// An address, or `{address: …, weight: N}`.
void describeEndpoint(Visitor& v, Endpoint& endpoint) {
  Scalar address = endpointAddress(endpoint.address);
  address.text = [&endpoint]() -> std::optional<std::string> {
    if (endpoint.weight != 1) return std::nullopt;
    return formatAddress(endpoint.address);
  };
  v.scalarOrMap(address, [&endpoint](Visitor& keys) {
    keys.key("address", Need::Required, endpointAddress(endpoint.address));
    keys.key("weight", integer(endpoint.weight, 1, kWeightMax));
  });
}

void describeKeys(Visitor& v, Cluster& cluster, Need name) {
  v.key("name", name, text(cluster.name, kName));
  v.key("endpoints", Need::Required,
        list<Endpoint>(cluster.endpoints, {.size_max = kEndpointsMax, .needed = true},
                       describeEndpoint));
  v.key("protocol", choice(cluster.protocol, kProtocols));
  v.key("tls", optionalSection(cluster.tls, describeClusterTls));
  v.key("balance", [&cluster](Visitor& value) { describeBalance(value, cluster.balance); });
  v.key("slow_start", duration(cluster.slow_start, Duration(0), hours(1)));
  v.key("health", optionalSection(cluster.health, describeHealth));
  v.key("outlier", optionalSection(cluster.outlier, describeOutlier));
  v.key("limits", section(cluster.limits, describeClusterLimits));
  v.key("timeout", section(cluster.timeout, describeClusterTimeout));
  v.key("service", text(cluster.service, kName));
  v.key("sidecar", optionalSection(cluster.sidecar, describeSidecar));
  v.key("secret_file", optionalFilePath(cluster.secret_file));
}

}  // namespace

void describeCluster(Visitor& v, Cluster& cluster) { describeKeys(v, cluster, Need::Required); }

void describeNamelessCluster(Visitor& v, Cluster& cluster) {
  describeKeys(v, cluster, Need::Optional);
}

}  // namespace flamegate::config
