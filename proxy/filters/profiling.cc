#include "proxy/filters/profiling.h"

#include "agent-protocol/token/control_call.h"
#include "agent-protocol/wire/request_header.h"
#include "agent-protocol/wire/route_label.h"
#include "proxy/base/strings.h"
#include "proxy/exchange/exchange.h"
#include "proxy/filters/profiled_request.h"
#include "proxy/filters/session_endpoint.h"
#include "proxy/net/transport.h"
#include "proxy/profiling/announce.h"
#include "proxy/profiling/own_cookies.h"
#include "proxy/profiling/token_carriers.h"
#include "ui/assets.h"

namespace flamegate::proxy {
namespace {

using Stage = ProfiledRequest::Stage;

constexpr std::string_view kSessionPath = "/api/v1/session";
constexpr std::string_view kRackViewerPath = "/mini-profiler-resources/flamegraph";
constexpr std::string_view kHelpText =
    "flamegate, in the query of a request whose client may trigger profiles:\n\n"
    "  pp=async-flamegraph   profiles this request; the answer carries the id and the link\n"
    "  pp=flamegraph         profiles it and goes to the flamegraph instead of the answer\n"
    "  pp=skip               never profiles it\n"
    "  pp=disable, pp=enable switches profiling off and on again for this browser, for a day\n"
    "  pp=help               this page\n\n"
    "  flamegraph_mode=wall|cpu  flamegraph_sample_rate=MS  flamegraph_ignore_gc=true\n";

ProfiledRequest& stateOf(Exchange& exchange) {
  return static_cast<ProfiledRequest&>(*exchange.filterState());
}

std::optional<uint64_t> spanUs(TimePoint from, TimePoint to) {
  if (!from.set() || !to.set() || to < from) return std::nullopt;
  return static_cast<uint64_t>((to - from).count() / 1000);
}

// A browser that opens a page, as far as it says (Fetch §2.2.5).
bool isNavigation(const RequestHead& head) {
  if (head.method != Method::Get) return false;
  if (head.fields.has(HeaderId::SecFetchMode)) {
    return head.fields.findSingle(HeaderId::SecFetchMode) == "navigate";
  }
  const auto accept = head.fields.findSingle(HeaderId::Accept);
  return accept && accept->find("text/html") != std::string_view::npos;
}

std::span<const std::string> certificateNames(const Peer& peer) {
  if (peer.transport == nullptr) return {};
  return peer.transport->peerNames();
}

class BadgeBody final : public BodyTransform {
 public:
  explicit BadgeBody(BadgeTransform transform) : transform_(std::move(transform)) {}
  void transform(std::string_view in, bool end, std::string& out) override {
    transform_.transform(in, end, out);
  }

 private:
  BadgeTransform transform_;
};

CspMode cspModeOf(config::CspMode mode) {
  switch (mode) {
    case config::CspMode::Reuse:
      return CspMode::Reuse;
    case config::CspMode::Amend:
      return CspMode::Amend;
    case config::CspMode::Off:
      return CspMode::Off;
  }
  return CspMode::Off;
}

class ProfilingFilter final : public Filter {
 public:
  ProfilingFilter(const ProfilingSetup& setup, ProfilingRuntime& runtime)
      : setup_(setup), runtime_(runtime), prefix_(setup.prefix()) {}

  // All that most requests meet of the profiler; a guard counts its instructions.
  bool concerns(Exchange& exchange) const override {
    const ProfilingSetup::Policy& policy = policyOf(exchange);
    if (!policy.enabled) return false;
    if (exchange.filterState() != nullptr || mayBeUnderPrefix(exchange.path())) {
      return isSpecial(exchange, policy);
    }
    return policy.scanner.mayBeMarked(exchange.request());
  }
  Verdict onRequest(Exchange& exchange) override {
    return exchange.filterState() == nullptr ? begin(exchange) : goOn(exchange, stateOf(exchange));
  }
  void onAttempt(Exchange& exchange) override;
  void onResponse(Exchange& exchange, ResponseHead& head) override;
  void onDone(Exchange& exchange) override;

 private:
  Verdict begin(Exchange& exchange) {
    const ProfilingSetup::Policy& policy = policyOf(exchange);
    auto state = std::make_unique<ProfiledRequest>(policy);
    ProfiledRequest& request = *state;
    exchange.filterState() = std::move(state);
    // The time of the head, now precisely, as somebody is going to ask for it.
    exchange.record().started = monotonicNow();
    return goOn(exchange, request);
  }

  const ProfilingSetup::Policy& policyOf(const Exchange& exchange) const {
    return setup_.policyOf(exchange.routeIndex());
  }
  // Nearly every other path differs already in the byte after its slash.
  bool mayBeUnderPrefix(std::string_view path) const {
    return path.size() >= 2 && (path[1] == prefix_[1] || path[1] == kRackViewerPath[1]);
  }
  bool underPrefix(std::string_view path) const {
    return isUnder(path, prefix_) || path == kRackViewerPath;
  }
  [[gnu::noinline]] bool isSpecial(Exchange& exchange, const ProfilingSetup::Policy& policy) const {
    return exchange.filterState() != nullptr || underPrefix(exchange.path()) ||
           policy.scanner.mayBeMarked(exchange.request());
  }

  Verdict goOn(Exchange& exchange, ProfiledRequest& request);
  Verdict judge(Exchange& exchange, ProfiledRequest& request);
  void awaitPassword(Exchange& exchange, ProfiledRequest& request, PendingPassword pending);
  Verdict servePrefix(Exchange& exchange, ProfiledRequest& request);
  void admit(Exchange& exchange, ProfiledRequest& request, const Decision& decision,
             const Marks& marks);
  void redirectToViewer(const ProfiledRequest& request, Exchange& exchange, ResponseHead& head);
  void inject(Exchange& exchange, ProfiledRequest& request, ResponseHead& head);
  void setTarget(Exchange& exchange, const std::string& target) {
    exchange.request().target = exchange.arena().copy(target);
  }

  const ProfilingSetup& setup_;
  ProfilingRuntime& runtime_;
  const std::string_view prefix_;  // at least a slash and a byte
};

// ---- Requests -----------------------------------------------------------------------------------

Verdict ProfilingFilter::goOn(Exchange& exchange, ProfiledRequest& request) {
  switch (request.stage) {
    case Stage::Judge:
      return judge(exchange, request);
    case Stage::AwaitPassword:
      return Verdict::wait();
    case Stage::ReadSessionBody:
      return serveSession(exchange, request, setup_, runtime_);
    case Stage::Forward:
      return {};
  }
  return {};
}

Verdict ProfilingFilter::judge(Exchange& exchange, ProfiledRequest& request) {
  RequestHead& head = exchange.request();
  const Peer& peer = exchange.peer();
  const auto& trusted = exchange.listener().trusted_proxies;
  ClientAddress client;
  if (peer.named) {
    client =
        findClientAddress(peer.is_unix ? std::nullopt : std::optional<config::IpBytes>(peer.ip),
                          trusted, head.fields);
  }
  request.secure = peer.secure;
  if (client.peer_trusted && head.fields.has(HeaderId::XForwardedProto)) {
    request.secure = head.fields.findSingle(HeaderId::XForwardedProto) == "https";
  }
  const int64_t now_s = unixMillis() / 1000;
  const TimePoint now = monotonicNow();
  const agent::SessionKeyRing& keys = setup_.sessionKeys();
  const Marks marks = findMarks(head, {request.policy.config.trigger,
                                       exchange.config().profiling.prefix, request.secure, keys});
  const CarriedToken token = readToken(head, now_s, keys);
  const SessionView session = runtime_.sessions.find(marks.session_id, now);

  AccessFacts facts{head, client, request.secure, certificateNames(peer), std::nullopt, now};
  const bool token_good = token.good() && runtime_.revocations.allows(token.check.claims.jti);
  if (token_good) {
    facts.token = {token.check.claims.allow, token.check.claims.holder};
  } else if (session.grant && session.grant->expires_at_s > now_s &&
             runtime_.revocations.allows(session.grant->jti) &&
             (session.grant->host.empty() ||
              equalIgnoreCase(session.grant->host, head.authority))) {
    facts.token = {session.grant->rights, session.grant->holder};
  }
  AccessResult access = request.policy.access.evaluate(facts, runtime_.passwords);
  if (access.pending && !request.password_refused) {
    awaitPassword(exchange, request, std::move(*access.pending));
    if (request.stage == Stage::AwaitPassword) return Verdict::wait();
  }
  request.stage = Stage::Forward;
  request.rights = access.rights;
  request.holder = std::move(access.holder);
  request.origin = linkOrigin(request.policy.config.public_url, head.authority, request.secure,
                              setup_.knownHosts().contains(head.authority));

  const SessionState session_state = session.state;
  Decision decision =
      decide(marks, request.rights, session_state, request.policy.config.trigger.strip);
  const auto cleaned = cleanTarget(head.target, decision, request.policy.config.trigger, keys);
  if (cleaned) setTarget(exchange, *cleaned);
  if (token_good && token.in_query && isNavigation(head)) {
    return Verdict::answer(
        {.status = 303,
         .reason = "token-link",
         .fields = {{"Location", std::string(head.target)},
                    {"Set-Cookie", openTokenSession(exchange, token.check.claims, request.secure,
                                                    setup_, runtime_)},
                    {"Cache-Control", "no-store"},
                    {"Referrer-Policy", "no-referrer"}}});
  }
  if (underPrefix(exchange.path())) return servePrefix(exchange, request);

  removeTokenFields(head.fields, keys);
  cutSessionCookies(head.fields, keys, exchange.arena());
  if (access.by_user) head.fields.removeAll(HeaderId::Authorization);
  if (decision.action == Decision::Action::Help) {
    return Verdict::answer({.status = 200,
                            .reason = "help",
                            .body = std::string(kHelpText),
                            .fields = {{"Cache-Control", "no-store"}}});
  }
  if (decision.off_cookie) request.set_cookie = offCookie(*decision.off_cookie, request.secure);
  request.skip = decision.skip;
  if (decision.action == Decision::Action::Profile && exchange.route() != nullptr) {
    admit(exchange, request, decision, marks);
  }
  return {};
}

// The hash is computed on another thread; then the rules are asked again.
void ProfilingFilter::awaitPassword(Exchange& exchange, ProfiledRequest& request,
                                    PendingPassword pending) {
  auto job = [this, pending = std::move(pending), alive = request.alive, &exchange,
              loop = &exchange.context().loop] {
    const bool good = verifyPassword(pending.credential.password, pending.hash);
    runtime_.passwords.note(pending.credential, pending.hash, pending.address, good,
                            monotonicNow());
    loop->post([alive, &exchange, good] {
      if (!*alive) return;
      ProfiledRequest& waiting = stateOf(exchange);
      waiting.stage = Stage::Judge;
      // A second look must not begin a second try.
      waiting.password_refused = !good;
      exchange.resumeFilters();
    });
  };
  if (runtime_.pool.submit(std::move(job))) request.stage = Stage::AwaitPassword;
}

Verdict ProfilingFilter::servePrefix(Exchange& exchange, ProfiledRequest& request) {
  const config::Profiling& profiling = exchange.config().profiling;
  if (request.rights.none()) {
    if (profiling.challenge && isUnder(exchange.path(), profiling.prefix)) {
      return Verdict::answer({.status = 401,
                              .reason = "no-rights",
                              .fields = {{"WWW-Authenticate", "Basic realm=\"flamegate\""},
                                         {"Cache-Control", "no-store"}}});
    }
    return {};
  }
  if (exchange.path() == kRackViewerPath && !request.rights.has(agent::Right::View)) return {};
  const Method method = exchange.request().method;
  if (exchange.path() == profiling.prefix + std::string(kSessionPath) &&
      (method == Method::Post || method == Method::Delete)) {
    return serveSession(exchange, request, setup_, runtime_);
  }
  request.to_control = true;
  // Control knows its paths as they were matched here.
  if (exchange.request().path() != exchange.path()) {
    const RequestHead& head = exchange.request();
    setTarget(exchange, std::string(exchange.path()).append(head.target.substr(head.queryMark())));
  }
  exchange.forwardTo(exchange.context().snapshot->controlCluster());
  return {};
}

void ProfilingFilter::admit(Exchange& exchange, ProfiledRequest& request, const Decision& decision,
                            const Marks& marks) {
  const TimePoint now = monotonicNow();
  if (const auto obstacle = runtime_.control.obstacle()) {
    request.skip = obstacle;
    return;
  }
  const config::ProfilingPolicy& policy = request.policy.config;
  const config::Route& route = *exchange.route();
  const CaptureOptions options = effectiveOptions(policy.defaults, decision.options);
  const std::string label =
      agent::routeLabel(route.name, exchange.originalMethod(), {}, exchange.path());
  auto admitted = Admission::admit(runtime_.admissions.open(route.cluster), label, policy.limits,
                                   std::chrono::milliseconds(options.max_ms), now);
  if (admitted.refusal) {
    request.skip = admitted.refusal;
    return;
  }
  if (decision.kind == agent::TriggerKind::Session) {
    if (!runtime_.sessions.spend(marks.session_id, now)) {
      request.skip = SkipReason::Budget;
      return;
    }
    request.spent_session = marks.session_id;
  }
  request.cluster = route.cluster_index;
  request.show_profile = decision.show_profile;
  request.capture.emplace(agent::ProfileId::issue(unixMillis()), decision.kind, true,
                          request.rights.has(agent::Right::View), options,
                          std::move(admitted.slot));
  agent::CaptureRecord& record = request.capture->record();
  record.method = exchange.originalMethod();
  record.path = recordedPath(exchange.request().target, policy.keep_query);
  record.site = exchange.request().authority;
  record.route = route.name;
  record.started_at_ms = static_cast<uint64_t>(unixMillis());
  record.pageview = request.capture->id().text();
  if (exchange.request().target != exchange.originalTarget()) {
    request.capture->noteChange("The proxy removed its own pairs from the query.");
  }
  runtime_.counters.captures.fetch_add(1, std::memory_order_relaxed);
}

void ProfilingFilter::onAttempt(Exchange& exchange) {
  ProfiledRequest& request = stateOf(exchange);
  RequestHead& head = exchange.request();
  if (request.to_control) {
    const agent::ControlCall call{request.rights, request.holder, std::string(head.authority),
                                  request.secure};
    const std::string value = agent::signCall(call, head.method_text, head.target, unixMillis(),
                                              setup_.sessionKeys().current());
    head.fields.add(agent::kCallName, exchange.arena().copy(value), HeaderId::FlamegatePrivate);
    return;
  }
  if (!request.capture) return;
  Capture& capture = *request.capture;
  if (request.forwarded) {
    // The application may have read the first head, so its id is spent.
    capture.record().failure = "upstream-lost";
    runtime_.sink.push(capture.endLine());
    capture.record().failure.clear();
    capture.renew(agent::ProfileId::issue(unixMillis()));
    head.fields.removeAll(HeaderId::FlamegatePrivate);
  }
  request.forwarded = true;
  request.sent_ms = unixMillis();
  const config::Cluster& cluster = exchange.config().clusters[request.cluster];
  const std::string_view endpoint = exchange.record().endpoint;
  const std::string value =
      capture.requestHeader(cluster.service, head.method_text, setup_.agentKeys(request.cluster),
                            request.sent_ms + runtime_.clocks.of(endpoint));
  head.fields.add(agent::kRequestHeaderName, exchange.arena().copy(value),
                  HeaderId::FlamegatePrivate);
  capture.record().endpoint = endpoint;
  runtime_.sink.push(capture.beginLine());
}

// ---- Responses ----------------------------------------------------------------------------------

void ProfilingFilter::onResponse(Exchange& exchange, ResponseHead& head) {
  if (exchange.filterState() == nullptr) return;
  ProfiledRequest& request = stateOf(exchange);
  if (!request.set_cookie.empty()) {
    head.fields.add("Set-Cookie", request.set_cookie, HeaderId::SetCookie);
  }
  if (request.to_control) return;
  Announcement announcement{std::nullopt, request.skip, false};
  if (request.capture) {
    Capture& capture = *request.capture;
    const bool local = !exchange.record().reason.empty();
    if (!local) {
      capture.onResponseHead(head.fields);
      if (capture.ack() && capture.ack()->now_ms) {
        runtime_.clocks.set(exchange.record().endpoint,
                            clockCorrection(*capture.ack()->now_ms, request.sent_ms, unixMillis()));
      }
    } else if (exchange.connected()) {
      capture.onLocalReply();
    } else {
      capture.onRefused(SkipReason::Upstream);
    }
    announcement = capture.announcement();
    if (announcement.id) exchange.record().profile_id = capture.id().text();
  }
  if (announcement.nothing()) return;
  if (announcement.id) {
    runtime_.counters.announced.fetch_add(1, std::memory_order_relaxed);
  } else {
    runtime_.counters.skipped[static_cast<size_t>(*announcement.skip)].fetch_add(
        1, std::memory_order_relaxed);
  }
  const RequestHead& asked = exchange.request();
  if (request.show_profile && announcement.id) {
    redirectToViewer(request, exchange, head);
  } else if (request.policy.config.inject.badge && request.rights.has(agent::Right::View) &&
             !announcement.discreet && exchange.record().reason.empty()) {
    inject(exchange, request, head);
  }
  announce(head, announcement,
           {request.policy.config.headers, exchange.config().profiling.prefix, request.origin,
            asked.fields.has(HeaderId::Origin), isPreflight(asked)},
           exchange.arena());
}

// The answer becomes a 303 to the viewer. The application ran, so its cookies are kept.
void ProfilingFilter::redirectToViewer(const ProfiledRequest& request, Exchange& exchange,
                                       ResponseHead& head) {
  for (size_t i = 0; i < head.fields.size(); ++i) {
    const HeaderId id = head.fields[i].id();
    if (id != HeaderId::SetCookie && id != HeaderId::FlamegatePrivate) head.fields.remove(i);
  }
  head.status = 303;
  head.reason = "See Other";
  head.framing = Framing::None;  // the content is read and dropped
  exchange.record().status = 303;
  head.fields.add("Location",
                  exchange.arena().join({request.origin, exchange.config().profiling.prefix,
                                         "/flamegraph?id=", request.capture->id().text()}),
                  HeaderId::Location);
  head.fields.add("Content-Length", "0", HeaderId::ContentLength);
}

void ProfilingFilter::inject(Exchange& exchange, ProfiledRequest& request, ResponseHead& head) {
  const config::Inject& policy = request.policy.config.inject;
  char random[16];
  fillRandom(random, sizeof random);
  const std::string nonce = toBase64Url({random, sizeof random});
  request.script_path = "/" + std::string(ui::badgePath());
  BadgeTag tag;
  tag.origin = request.origin;
  tag.prefix = exchange.config().profiling.prefix;
  tag.script_path = request.script_path;
  tag.integrity = ui::badgeIntegrity();
  if (request.capture) {
    request.pageview = request.capture->id().text();
    tag.pageview = request.pageview;
    tag.profile_id = request.pageview;
  }
  request.injection.emplace(Injection::plan(
      exchange.request(), head, {policy.body_bytes_max, cspModeOf(policy.csp)}, tag, nonce));
  if (request.injection->outcome() != InjectOutcome::Pending) return;
  if (!request.injection->headOnly()) {
    exchange.setTransform(std::make_unique<BadgeBody>(request.injection->takeTransform()));
    runtime_.counters.badges.fetch_add(1, std::memory_order_relaxed);
  }
  request.injection->changeHead(head, std::nullopt);
  if (!request.capture) return;
  for (const std::string& change : request.injection->changes()) {
    request.capture->noteChange(change);
  }
  request.capture->noteChange("The proxy appended its badge to the page.");
}

// ---- The end ------------------------------------------------------------------------------------

void ProfilingFilter::onDone(Exchange& exchange) {
  if (exchange.filterState() == nullptr) return;
  ProfiledRequest& request = stateOf(exchange);
  if (!request.capture) return;
  Capture& capture = *request.capture;
  if (!request.spent_session.empty() && !capture.announcement().id) {
    runtime_.sessions.refund(request.spent_session);
  }
  if (!request.forwarded) return;
  const AccessRecord& times = exchange.record();
  agent::CaptureRecord& record = capture.record();
  record.status = times.status;
  record.duration_us = spanUs(times.started, times.ended).value_or(0);
  record.upstream_us = spanUs(times.connected, times.ended);
  record.phases.queue = spanUs(times.started, times.upstream_begun);
  record.phases.connect = spanUs(times.upstream_begun, times.connected);
  record.phases.first_byte = spanUs(times.connected, times.first_byte);
  record.phases.body = spanUs(times.first_byte, times.ended);
  if (times.reason == "client-gone") record.failure = "client-gone";
  if (times.reason.starts_with("upstream-") || times.reason.starts_with("timeout-")) {
    record.failure = "upstream-lost";
  }
  runtime_.sink.push(capture.endLine());
}

}  // namespace

std::unique_ptr<Filter> makeProfilingFilter(const ProfilingSetup& setup,
                                            ProfilingRuntime& runtime) {
  return std::make_unique<ProfilingFilter>(setup, runtime);
}

}  // namespace flamegate::proxy
