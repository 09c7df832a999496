#include "config/load/bindings.h"
#include "config/load/sections.h"
#include "config/load/text_rules.h"

namespace flamegate::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr size_t kHostsMax = 1000;
constexpr size_t kConditionsMax = 32;
constexpr size_t kEditsMax = 32;
constexpr uint32_t kAttemptsMax = 10;

constexpr std::array<Word<uint16_t>, 5> kRedirectStatuses = {
    {{"301", 301}, {"302", 302}, {"303", 303}, {"307", 307}, {"308", 308}}};

// The text of the path's match, when it is of this kind.
Scalar pathMatch(PathMatch& path, PathMatch::Kind kind) {
  const bool expression = kind == PathMatch::Kind::Regex;
  return alternative(
      expression ? regex(path.text) : text(path.text, kUrlPath),
      [&path, kind] { path.kind = kind; }, [&path, kind] { return path.kind == kind; });
}

// `value` or `{regex: …}`
void describeHeaderMatch(Visitor& v, ValueMatch& match) {
  const auto is = [&match](bool regex) { return [&match, regex] { return match.regex == regex; }; };
  const auto set = [&match](bool regex) { return [&match, regex] { match.regex = regex; }; };
  v.scalarOrMap(
      alternative(text(match.text, kFieldText), set(false), is(false)), [&](Visitor& keys) {
        keys.key("regex", Need::Required, alternative(regex(match.text), set(true), is(true)));
      });
}

void describeQueryMatch(Visitor& v, ValueMatch& match) { v.scalar(text(match.text, kQueryValue)); }

void describeMatch(Visitor& v, RouteMatch& match) {
  v.key("prefix", pathMatch(match.path, PathMatch::Kind::Prefix));
  v.key("path", pathMatch(match.path, PathMatch::Kind::Exact));
  v.key("regex", pathMatch(match.path, PathMatch::Kind::Regex));
  v.atMostOne({"prefix", "path", "regex"});
  v.key("methods",
        scalarList<std::string>(match.methods, {.size_max = kConditionsMax, .needed = true},
                                [](std::string& method) { return text(method, kMethod); }));
  v.key("headers",
        dictionary<ValueMatch>(match.headers, kConditionsMax, kFieldName, describeHeaderMatch));
  v.key("query",
        dictionary<ValueMatch>(match.query, kConditionsMax, kQueryName, describeQueryMatch));
}

void describeRewrite(Visitor& v, Rewrite& rewrite) {
  const auto choose = [&rewrite](Rewrite::Kind kind) {
    return [&rewrite, kind] { rewrite.kind = kind; };
  };
  const auto chosen = [&rewrite](Rewrite::Kind kind) {
    return [&rewrite, kind] { return rewrite.kind == kind; };
  };
  constexpr auto kPrefix = Rewrite::Kind::Prefix;
  constexpr auto kRegex = Rewrite::Kind::Regex;
  v.key("prefix",
        alternative(text(rewrite.replacement, kUrlPath), choose(kPrefix), chosen(kPrefix)));
  v.key("regex", alternative(regex(rewrite.pattern), choose(kRegex), chosen(kRegex)));
  v.key("to", alternative(text(rewrite.replacement, kReplacement), choose(kRegex), chosen(kRegex)));
  v.exactlyOne({"prefix", "regex"});
  v.needs("regex", "to");
  v.needs("to", "regex");
}

void describeRedirect(Visitor& v, Redirect& redirect) {
  v.key("to", Need::Required, text(redirect.to, kRedirectTarget));
  Scalar status = choice(redirect.status, kRedirectStatuses);
  status.json = Scalar::Json::Number;
  v.key("status", status);
}

void describeHeaderValue(Visitor& v, HeaderValue& header) {
  v.scalar(text(header.value, kFieldValue));
}

void describeHeaderEdits(Visitor& v, HeaderEdits& edits) {
  v.key("set", dictionary<HeaderValue>(edits.set, kEditsMax, kEditableField, describeHeaderValue));
  v.key("add", dictionary<HeaderValue>(edits.add, kEditsMax, kEditableField, describeHeaderValue));
  v.key("remove",
        scalarList<std::string>(edits.remove, {.size_max = kEditsMax},
                                [](std::string& name) { return text(name, kEditableField); }));
}

void describeTimeout(Visitor& v, RouteTimeout& timeout) {
  const Duration min = milliseconds(1);
  const Duration max = hours(24);
  v.key("response", duration(timeout.response, min, max));
  v.key("total", optional<Duration>(timeout.total, "none", [min, max](Duration& total) {
          return duration(total, min, max);
        }));
  v.key("idle", duration(timeout.idle, min, max));
}

void describeRetry(Visitor& v, Retry& retry) {
  v.key("attempts", integer(retry.attempts, 0, kAttemptsMax));
  v.key("on", wordSet({{"connect", &retry.on.connect},
                       {"reset", &retry.on.reset},
                       {"gateway_error", &retry.on.gateway_error}}));
  v.key("unsafe", flag(retry.unsafe));
}

void describeRouteProfiling(Visitor& v, ProfilingPolicy& policy) {
  constexpr std::string_view kOfTheProcess[] = {"prefix",
                                                "challenge",
                                                "session",
                                                "secret_file",
                                                "previous_secret_file",
                                                "session_secret_file",
                                                "previous_session_secret_file"};
  describeProfilingPolicy(v, policy);
  for (const std::string_view key : kOfTheProcess) {
    v.key(key, [](Visitor& value) {
      value.refuse("is the same for all routes; write it in `profiling` at the top");
    });
  }
}

// The name of a cluster, or the cluster itself.
Value clusterOfRoute(Route& route, std::vector<Cluster>& clusters) {
  return [&route, &clusters](Visitor& v) {
    if (!v.enters(!route.cluster.empty())) return;
    v.scalarOrMap(
        text(route.cluster, kName),
        [&route, &clusters](Visitor& keys) {
          Cluster cluster;
          cluster.name = "cluster-" + std::to_string(clusters.size() + 1);
          describeNamelessCluster(keys, cluster);
          route.cluster = cluster.name;
          clusters.push_back(std::move(cluster));
        },
        "clusters[]");
  };
}

}  // namespace

void describeRoute(Visitor& v, Route& route, std::vector<Cluster>& clusters) {
  v.key("hosts",
        scalarList<HostPattern>(route.hosts, {.size_max = kHostsMax, .needed = true}, hostPattern));
  v.key("match", section(route.match, describeMatch));
  v.key("cluster", clusterOfRoute(route, clusters));
  v.key("redirect", optionalSection(route.redirect, describeRedirect));
  v.exactlyOne({"cluster", "redirect"});
  v.key("name", text(route.name, kLabel));
  v.key("rewrite", optionalSection(route.rewrite, describeRewrite));
  v.key("request_headers", section(route.request_headers, describeHeaderEdits));
  v.key("response_headers", section(route.response_headers, describeHeaderEdits));
  v.key("timeout", section(route.timeout, describeTimeout));
  v.key("retry", section(route.retry, describeRetry));
  v.key("max_body", optional<uint64_t>(route.body_bytes_max, "none",
                                       [](uint64_t& bytes) { return size(bytes, 0, kSizeMax); }));
  v.key("profiling", [&route](Visitor& value) {
    value.map([&route](Visitor& keys) { describeRouteProfiling(keys, route.profiling); },
              "profiling");
  });
}

}  // namespace flamegate::config
