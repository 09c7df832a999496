// The effective configuration: every key, its default, unit and meaning. Plain values without
// behaviour, complete after loading: defaults are filled in, references are resolved to indexes,
// the profiling section of each route is merged with the global one.
//
// Text grammar, limits and checks are the loader's; values here are within them. Durations are
// microseconds, sizes bytes. An absent std::optional means what its comment says.
// Owner: a configuration snapshot. Thread: any, read only. All types compare with ==, so that a
// reload can see what changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/profiling.h"
#include "config/schema/scalars.h"

namespace flamegate::config {

// ---- Listeners ----------------------------------------------------------------------------------

// A certificate chain and its private key, as PEM files.
struct CertificateFiles {
  std::string cert;
  std::string key;
  bool operator==(const CertificateFiles&) const = default;
};

enum class TlsVersion : unsigned char { Tls12, Tls13 };
enum class ClientAuth : unsigned char { Optional, Required };
enum class Alpn : unsigned char { Http11, H2 };

// A certificate to serve with, and what is stapled to it.
struct ServerCertificate {
  std::string cert;
  std::string key;
  std::optional<std::string> ocsp;  // a DER file (RFC 6960); absent: nothing is stapled
  bool operator==(const ServerCertificate&) const = default;
};

// The server's side of TLS.
struct ListenerTls {
  std::vector<ServerCertificate> certificates;  // at least one; chosen by SNI from their names
  std::optional<std::string> client_ca;  // PEM file; absent: client certificates are not asked
  ClientAuth client_auth = ClientAuth::Required;  // with client_ca only
  TlsVersion min_version = TlsVersion::Tls12;
  std::vector<Alpn> alpn{Alpn::H2, Alpn::Http11};  // by preference
  bool operator==(const ListenerTls&) const = default;
};

struct Listener {
  Address address;
  std::optional<ListenerTls> tls;     // absent: clear text
  bool proxy_protocol = false;        // accept PROXY v1 and v2 from trusted_proxies
  std::vector<Cidr> trusted_proxies;  // peers whose X-Forwarded-*, Forwarded and PROXY are believed
  bool operator==(const Listener&) const = default;
};

// ---- Routes -------------------------------------------------------------------------------------

// `name`, or with any_subdomain every name of one or more labels before `.name`. Lower case, no
// port.
struct HostPattern {
  std::string name;
  bool any_subdomain = false;
  bool operator==(const HostPattern&) const = default;
};

struct PathMatch {
  enum class Kind : unsigned char { Prefix, Exact, Regex };
  Kind kind = Kind::Prefix;
  std::string text = "/";  // Prefix and Exact: begins with a slash; Regex: RE2, of the whole path
  bool operator==(const PathMatch&) const = default;
};

// One named header or query pair. Regex: RE2, of the whole value.
struct ValueMatch {
  std::string name;  // header: compared without case; query: as decoded
  bool regex = false;
  std::string text;
  bool operator==(const ValueMatch&) const = default;
};

// All parts hold. Empty lists hold.
struct RouteMatch {
  PathMatch path;
  std::vector<std::string> methods;  // upper case
  std::vector<ValueMatch> headers;
  std::vector<ValueMatch> query;
  bool operator==(const RouteMatch&) const = default;
};

// Prefix: the matched prefix is replaced. Regex: the first match of `pattern` in the path is; \1 to
// \9 in the replacement are its groups.
struct Rewrite {
  enum class Kind : unsigned char { Prefix, Regex };
  Kind kind = Kind::Prefix;
  std::string pattern;  // Regex: RE2
  std::string replacement;
  bool operator==(const Rewrite&) const = default;
};

struct Redirect {
  std::string to;  // the Location: an absolute http(s) URL, or a path that begins with a slash
  uint16_t status = 308;  // 301, 302, 303, 307 or 308
  bool operator==(const Redirect&) const = default;
};

struct HeaderValue {
  std::string name;
  std::string value;
  bool operator==(const HeaderValue&) const = default;
};

// Done in this order: remove, set, add.
struct HeaderEdits {
  std::vector<HeaderValue> set;
  std::vector<HeaderValue> add;
  std::vector<std::string> remove;
  bool empty() const { return set.empty() && add.empty() && remove.empty(); }
  bool operator==(const HeaderEdits&) const = default;
};

struct RouteTimeout {
  Duration response =
      std::chrono::seconds(60);              // until the response head, from the end of the request
  std::optional<Duration> total;             // of the whole exchange; absent: none
  Duration idle = std::chrono::seconds(60);  // without progress of a body in either direction
  bool operator==(const RouteTimeout&) const = default;
};

// What a retry may follow.
struct RetryOn {
  bool connect = true;        // no connection was had
  bool reset = true;          // the connection broke before the response head
  bool gateway_error = true;  // 502, 503 or 504 came
  bool operator==(const RetryOn&) const = default;
};

struct Retry {
  uint32_t attempts = 1;  // beside the first; 0: never
  RetryOn on;
  bool unsafe = false;  // also methods that are not idempotent
  bool operator==(const Retry&) const = default;
};

struct Route {
  std::vector<HostPattern> hosts;  // empty: any
  RouteMatch match;
  std::string cluster;               // name; empty with a redirect
  size_t cluster_index = 0;          // in Config::clusters; meaningless with a redirect
  std::optional<Redirect> redirect;  // instead of a cluster
  std::string name;                  // label; empty: the agent's route, or the folded path
  std::optional<Rewrite> rewrite;
  HeaderEdits request_headers;
  HeaderEdits response_headers;
  RouteTimeout timeout;
  Retry retry;
  std::optional<uint64_t> body_bytes_max;  // of a request; absent: any
  ProfilingPolicy profiling;
  bool operator==(const Route&) const = default;
};

// ---- Clusters -----------------------------------------------------------------------------------

enum class UpstreamProtocol : unsigned char { Http11, H2, Auto };

// The client's side of TLS, towards the application.
struct ClusterTls {
  std::optional<std::string> ca;   // PEM file; absent: the system's
  std::optional<std::string> sni;  // absent: the endpoint's name
  bool verify = true;
  std::optional<CertificateFiles> certificate;  // our own
  bool operator==(const ClusterTls&) const = default;
};

struct Balance {
  enum class Kind : unsigned char {
    LeastRequest,
    RoundRobin,
    Random,
    HashHeader,
    HashCookie,
    HashSource
  };
  Kind kind = Kind::LeastRequest;
  std::string name;  // HashHeader, HashCookie: of what is hashed
  bool operator==(const Balance&) const = default;
};

struct StatusRange {
  uint16_t first = 200;
  uint16_t last = 399;
  bool contains(uint16_t status) const { return status >= first && status <= last; }
  bool operator==(const StatusRange&) const = default;
};

// Active health checks.
struct Health {
  std::string path;
  Duration interval = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(2);
  uint32_t healthy = 2;    // successes in a row that bring an endpoint back
  uint32_t unhealthy = 3;  // failures in a row that take it out
  StatusRange expect;
  bool operator==(const Health&) const = default;
};

// Passive health: what traffic itself shows.
struct Outlier {
  uint32_t consecutive = 5;  // gateway errors in a row
  Duration eject = std::chrono::seconds(30);
  bool operator==(const Outlier&) const = default;
};

struct ClusterLimits {
  uint32_t connections = 1024;
  uint32_t pending = 1024;             // requests that wait for a connection
  uint32_t requests = 4096;            // in flight
  uint32_t retry_budget_percent = 20;  // of the requests in flight
  bool operator==(const ClusterLimits&) const = default;
};

struct ClusterTimeout {
  Duration connect = std::chrono::seconds(5);  // with the TLS handshake
  Duration idle = std::chrono::seconds(30);    // of a kept connection
  bool operator==(const ClusterTimeout&) const = default;
};

// A profiler beside the application, reached over its socket.
struct Sidecar {
  std::string socket_path;
  Duration wait =
      std::chrono::microseconds(200);  // for its answer, before the request is forwarded anyway
  bool operator==(const Sidecar&) const = default;
};

// Where a cluster's application listens.
struct Endpoint {
  Address address;      // a name is resolved again by its TTL
  uint32_t weight = 1;  // its share in relation to the others'; each address of a name has it
  bool operator==(const Endpoint&) const = default;
};

struct Cluster {
  std::string name;
  std::vector<Endpoint> endpoints;  // at least one
  UpstreamProtocol protocol = UpstreamProtocol::Http11;
  std::optional<ClusterTls> tls;  // absent: clear text
  Balance balance;
  Duration slow_start{};  // until an endpoint that came back gets its whole share; 0: at once
  std::optional<Health> health;
  std::optional<Outlier> outlier;
  ClusterLimits limits;
  ClusterTimeout timeout;
  std::string service;  // audience of signed profile requests; the cluster's name unless written
  std::optional<Sidecar> sidecar;
  std::optional<std::string> secret_file;  // absent: Profiling::secret_file
  bool operator==(const Cluster&) const = default;
};

// ---- The process --------------------------------------------------------------------------------

// Of client connections and request heads.
struct Limits {
  uint64_t header_bytes_max = 64 * kKiB;            // a head; more: 431
  uint32_t headers_max = 100;                       // fields of a head; more: 431
  std::optional<uint32_t> connections;              // absent: from the limit of open files
  Duration header_read = std::chrono::seconds(30);  // from a head's first byte to its last
  Duration idle = std::chrono::seconds(75);         // between two requests
  Duration body_idle = std::chrono::seconds(60);    // without progress of a request's body
  uint32_t h2_streams = 100;                        // concurrent ones of a connection
  bool operator==(const Limits&) const = default;
};

struct AccessLog {
  enum class Target : unsigned char { Stdout, Stderr, None, File };
  enum class Format : unsigned char { Json, Text };
  Target target = Target::Stdout;
  std::string path;  // File
  Format format = Format::Json;
  bool operator==(const AccessLog&) const = default;
};

struct Admin {
  std::optional<Address> address = Address::tcp("127.0.0.1", 9901);  // absent: off
  bool operator==(const Admin&) const = default;
};

// How the names of endpoints are resolved.
struct Dns {
  std::vector<Address> servers;  // IP addresses; empty: those of /etc/resolv.conf
  Duration ttl_min = std::chrono::seconds(1);
  Duration ttl_max = std::chrono::minutes(5);
  Duration timeout = std::chrono::seconds(2);  // of one query to one server
  bool operator==(const Dns&) const = default;
};

struct Shutdown {
  Duration drain = std::chrono::seconds(30);
  bool operator==(const Shutdown&) const = default;
};

// ---- The control process ------------------------------------------------------------------------

// Where agents upload.
struct AgentListener {
  Address address = Address::tcp("127.0.0.1", 9902);
  std::optional<ListenerTls> tls;
  bool operator==(const AgentListener&) const = default;
};

struct Control {
  std::optional<Address> address;  // absent: a child process on a private socket
  AgentListener agents;
  uint32_t threads = 0;  // of the decoding pool; 0: as many as cores
  bool operator==(const Control&) const = default;
};

struct Redis {
  bool tls = false;  // rediss://
  std::string user;
  std::string password;  // secret
  Address address = Address::tcp("127.0.0.1", 6379);
  uint32_t database = 0;
  std::string key_prefix = "fg:";
  bool cluster = false;
  std::string sentinel_master;  // empty: no Sentinel
  std::vector<Address> sentinel_addresses;
  std::optional<std::string> ca;                      // PEM file; absent: the system's
  Duration timeout = std::chrono::milliseconds(500);  // of a command
  bool operator==(const Redis&) const = default;
};

struct Retention {
  Duration age = std::chrono::hours(24);
  uint64_t bytes_max = kGiB;
  uint64_t profiles_max = 100'000;
  bool pinned = true;  // keep pinned profiles until their pin ends
  bool operator==(const Retention&) const = default;
};

struct Store {
  enum class Kind : unsigned char { Embedded, Redis, Memory };
  Kind kind = Kind::Embedded;
  std::string path = "flamegate.db";  // Embedded
  Redis redis;
  Retention retention;
  bool operator==(const Store&) const = default;
};

struct IngestToken {
  std::string token;  // secret
  std::string project;
  bool operator==(const IngestToken&) const = default;
};

// Profiles pushed by others' profilers.
struct Ingest {
  std::vector<IngestToken> tokens;  // empty: every push is answered 401
  uint64_t body_bytes_max = 16 * kMiB;
  bool operator==(const Ingest&) const = default;
};

// One place that profiles are fetched from.
struct Collect {
  enum class Kind : unsigned char { Pprof, Liveprofiler, Nylas };
  std::string name;
  std::string url;
  Kind kind = Kind::Pprof;
  Duration interval = std::chrono::seconds(60);
  std::string service;        // the entry's name unless written
  std::string host;           // the URL's host unless written
  std::string secret_header;  // empty: none
  std::string secret;         // secret
  bool operator==(const Collect&) const = default;
};

// One engine that profiles are handed on to.
struct Forward {
  enum class Kind : unsigned char { Pyroscope, Traceway, Otlp };
  Kind kind = Kind::Pyroscope;
  std::string url;
  bool continuous = true;
  bool requests = true;
  bool operator==(const Forward&) const = default;
};

// ---- Everything ---------------------------------------------------------------------------------

struct Config {
  uint32_t workers = 0;             // threads; 0: as many as cores
  std::vector<Listener> listeners;  // at least one
  std::vector<Route> routes;        // at least one; the first that matches wins
  std::vector<Cluster> clusters;    // may be empty when every route redirects
  Limits limits;
  AccessLog access_log;
  Admin admin;
  Dns dns;
  Shutdown shutdown;
  Profiling profiling;
  Control control;
  Store store;
  Ingest ingest;
  std::vector<Collect> collect;
  std::vector<Forward> forward;
  bool operator==(const Config&) const = default;
};

}  // namespace flamegate::config
