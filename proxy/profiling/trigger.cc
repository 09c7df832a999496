#include "proxy/profiling/trigger.h"

#include <algorithm>
#include <array>

#include "proxy/base/strings.h"
#include "proxy/profiling/own_cookies.h"
#include "proxy/profiling/token_carriers.h"

namespace flamegate::proxy {
namespace {

constexpr size_t kRefererBytesMax = 8192;
constexpr std::string_view kPathMark = "/++profile++";

constexpr std::array<std::string_view, 8> kAssetDestinations = {
    "audio", "font", "image", "manifest", "style", "script", "track", "video"};

// The kinds of requests that a page makes by the dozen: sticky triggers leave them out.
bool isAsset(const RequestHead& head) {
  const auto destination = head.fields.findSingle(HeaderId::SecFetchDest);
  return destination && std::find(kAssetDestinations.begin(), kAssetDestinations.end(),
                                  *destination) != kAssetDestinations.end();
}

std::optional<OptionOverrides> readReferer(const RequestHead& head, const TriggerContext& context) {
  if (!context.trigger.referer || !context.trigger.query) return std::nullopt;
  const auto referer = head.fields.findSingle(HeaderId::Referer);
  if (!referer || referer->size() > kRefererBytesMax) return std::nullopt;
  const auto tail = ofSameOrigin(*referer, head.authority, context.secure);
  if (!tail || isUnder(tail->path, context.prefix)) return std::nullopt;
  const QueryMarks marks = readQuery(tail->query, *context.trigger.query);
  if (marks.verb != Verb::AsyncFlamegraph) return std::nullopt;
  return marks.options;
}

// Where the next path segment that is ours begins (at its slash) and ends; npos when there is none.
struct Span {
  size_t begin = std::string_view::npos;
  size_t end = std::string_view::npos;
};
Span findPathMark(std::string_view path) {
  const size_t begin = path.find(kPathMark);
  if (begin == std::string_view::npos) return {};
  return {begin, std::min(path.find('/', begin + 1), path.size())};
}

PathActions parseActions(std::string_view list) {
  PathActions actions;
  while (true) {
    const size_t end = list.find('&');
    const std::string_view action = list.substr(0, end);
    if (action == "show") {
      actions.show = true;
    } else if (action == "callgrind") {
      actions.callgrind = true;
    } else if (action == "pstats") {
      actions.pstats = true;
    } else {
      return PathActions{.help = true};
    }
    if (end == std::string_view::npos) return actions;
    list.remove_prefix(end + 1);
  }
}

std::optional<PathActions> readPath(std::string_view path) {
  const Span mark = findPathMark(path);
  if (mark.begin == std::string_view::npos) return std::nullopt;
  const size_t actions_at = mark.begin + kPathMark.size();
  return parseActions(path.substr(actions_at, mark.end - actions_at));
}

std::string withoutPathMarks(std::string_view target) {
  const size_t query_at = std::min(target.find('?'), target.size());
  std::string path(target.substr(0, query_at));
  for (Span mark = findPathMark(path); mark.begin != std::string::npos; mark = findPathMark(path)) {
    path.erase(mark.begin, mark.end - mark.begin);
  }
  if (path.empty()) path = "/";
  return path.append(target.substr(query_at));
}

std::string_view defaultPort(std::string_view scheme) { return scheme == "https" ? "443" : "80"; }

struct HostPort {
  std::string_view host;
  std::string_view port;  // empty: the scheme's default
};
HostPort splitAuthority(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  const bool inside_literal =
      authority.find(']') != std::string_view::npos && authority.find(']') > colon;
  if (colon == std::string_view::npos || inside_literal) return {authority, {}};
  return {authority.substr(0, colon), authority.substr(colon + 1)};
}

// The client's own words in their order of precedence. Nothing when it did not ask.
struct Ask {
  agent::TriggerKind kind;
  OptionOverrides options;
};
std::optional<Ask> findAsk(const Marks& marks, SessionState session) {
  using agent::TriggerKind;
  if (marks.query.verb == Verb::AsyncFlamegraph || marks.query.verb == Verb::Flamegraph) {
    return Ask{TriggerKind::Query, marks.query.options};
  }
  if (marks.path) return Ask{TriggerKind::Path, marks.query.options};
  if (marks.header) return Ask{TriggerKind::Header, marks.query.options};
  if (marks.referer) return Ask{TriggerKind::Referer, *marks.referer};
  if (session != SessionState::None) return Ask{TriggerKind::Session, {}};
  return std::nullopt;
}

std::optional<SkipReason> findSkipReason(const Marks& marks, const Ask& ask, SessionState session) {
  if (marks.off && marks.query.verb != Verb::Enable) return SkipReason::Disabled;
  if (marks.upgrade) return SkipReason::Upgrade;
  if (ask.kind == agent::TriggerKind::Session && session == SessionState::Exhausted) {
    return SkipReason::Budget;
  }
  return std::nullopt;
}

}  // namespace

bool isUnder(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

std::optional<UrlTail> ofSameOrigin(std::string_view url, std::string_view authority,
                                    std::optional<bool> secure) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return std::nullopt;
  const bool https = equalIgnoreCase(url.substr(0, scheme_end), "https");
  if (!https && !equalIgnoreCase(url.substr(0, scheme_end), "http")) return std::nullopt;
  if (secure && *secure != https) return std::nullopt;

  url.remove_prefix(scheme_end + 3);
  url = url.substr(0, url.find('#'));
  const size_t authority_end = std::min(url.find_first_of("/?"), url.size());
  const std::string_view url_authority = url.substr(0, authority_end);
  if (url_authority.empty() || url_authority.find('@') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view default_port = defaultPort(https ? "https" : "http");
  HostPort theirs = splitAuthority(url_authority);
  HostPort ours = splitAuthority(authority);
  if (theirs.port.empty()) theirs.port = default_port;
  if (ours.port.empty()) ours.port = default_port;
  if (!equalIgnoreCase(theirs.host, ours.host) || theirs.port != ours.port) return std::nullopt;

  url.remove_prefix(authority_end);
  const size_t mark = std::min(url.find('?'), url.size());
  return UrlTail{url.substr(0, mark), url.substr(std::min(mark + 1, url.size()))};
}

bool isPreflight(const RequestHead& head) {
  return head.method == Method::Options && head.fields.has(HeaderId::Origin) &&
         head.fields.has(HeaderId::AccessControlRequestMethod);
}

Marks findMarks(const RequestHead& head, const TriggerContext& context) {
  Marks marks;
  if (context.trigger.query) marks.query = readQuery(head.query(), *context.trigger.query);
  marks.upgrade = head.method == Method::Connect || !head.upgrade.empty();
  if (context.trigger.header) {
    marks.header = head.fields.findSingle(HeaderId::XRackMiniProfiler) == kAsyncFlamegraph;
  }
  if (context.trigger.path_segment) marks.path = readPath(head.path());
  const OwnCookies cookies = readOwnCookies(head.fields, context.keys);
  marks.off = cookies.off;
  if (!isAsset(head) && !isPreflight(head)) {
    marks.session_id = cookies.session_id;
    marks.referer = readReferer(head, context);
  }
  return marks;
}

Decision decide(const Marks& marks, agent::Rights rights, SessionState session, bool strip) {
  Decision decision;
  if (!rights.has(agent::Right::Trigger)) return decision;
  const Verb verb = marks.query.verb;
  decision.path = marks.path;
  decision.strip = strip && verb != Verb::None;
  if (verb == Verb::Disable) decision.off_cookie = true;
  if (verb == Verb::Enable) decision.off_cookie = false;
  decision.barred = verb == Verb::Skip;
  if (marks.query.contradictory || verb == Verb::Skip || verb == Verb::Disable) return decision;
  if (verb == Verb::Help || (marks.path && marks.path->help && verb == Verb::None)) {
    decision.action = Decision::Action::Help;
    return decision;
  }
  const auto ask = findAsk(marks, session);
  if (!ask) return decision;
  decision.kind = ask->kind;
  decision.options = ask->options;
  decision.skip = findSkipReason(marks, *ask, session);
  if (decision.skip) return decision;
  decision.action = Decision::Action::Profile;
  decision.show_profile = verb == Verb::Flamegraph;
  return decision;
}

std::optional<std::string> cleanTarget(std::string_view target, const Decision& decision,
                                       const config::Trigger& trigger,
                                       const agent::SessionKeyRing& keys) {
  std::optional<std::string> cleaned;
  if (decision.path) cleaned = withoutPathMarks(target);
  auto dropped =
      dropPairs(cleaned ? *cleaned : target, [&](std::string_view name, std::string_view value) {
        if (isOwnTokenPair(name, value, keys)) return true;
        return decision.strip && trigger.query &&
               (isTriggerPair(name, value, *trigger.query) || isOptionName(name));
      });
  return dropped ? dropped : cleaned;
}

}  // namespace flamegate::proxy
