#include "proxy/route/router.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

Result<std::unique_ptr<RE2>> compile(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto expression = std::make_unique<RE2>(pattern, options);
  if (!expression->ok()) {
    return fail(ErrorCode::Malformed, ErrorSource::Config, pattern + ": " + expression->error());
  }
  return expression;
}

bool matchesHost(const config::HostPattern& pattern, std::string_view host) {
  if (!pattern.any_subdomain) return equalIgnoreCase(host, pattern.name);
  if (host.size() <= pattern.name.size() + 1) return false;
  const size_t dot = host.size() - pattern.name.size() - 1;
  return host[dot] == '.' && equalIgnoreCase(host.substr(dot + 1), pattern.name);
}

// The decoded value of the first query pair with this name.
std::optional<std::string> queryValue(std::string_view query, std::string_view name) {
  const auto decode = [](std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      unsigned byte = 0;
      if (text[i] == '%' && text.size() - i > 2 &&
          sscanf(std::string(text.substr(i + 1, 2)).c_str(), "%2x", &byte) == 1) {
        out.push_back(static_cast<char>(byte));
        i += 2;
      } else {
        out.push_back(text[i] == '+' ? ' ' : text[i]);
      }
    }
    return out;
  };
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = pair.find('=');
    if (decode(pair.substr(0, equals)) != name) continue;
    return equals == std::string_view::npos ? std::string() : decode(pair.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace

struct Router::Entry {
  // A condition on a value: its text, or an expression that the whole value matches.
  struct ValueTest {
    std::string name;
    std::string text;
    std::unique_ptr<RE2> expression;

    bool holds(std::string_view value) const {
      return expression != nullptr ? RE2::FullMatch(piece(value), *expression) : value == text;
    }
  };

  std::vector<config::HostPattern> hosts;
  config::PathMatch path;
  std::unique_ptr<RE2> path_expression;
  std::vector<std::string> methods;
  std::vector<ValueTest> headers;
  std::vector<ValueTest> query;
  std::optional<config::Rewrite> rewrite;
  std::unique_ptr<RE2> rewrite_expression;

  bool matchesPath(std::string_view candidate) const {
    switch (path.kind) {
      case config::PathMatch::Kind::Prefix: return candidate.starts_with(path.text);
      case config::PathMatch::Kind::Exact: return candidate == path.text;
      case config::PathMatch::Kind::Regex: return RE2::FullMatch(piece(candidate), *path_expression);
    }
    return false;
  }

  bool matches(const RequestHead& head, std::string_view candidate) const {
    const std::string_view host = hostOf(head.authority);
    const auto host_matches = [&](const auto& pattern) { return matchesHost(pattern, host); };
    if (!hosts.empty() && std::none_of(hosts.begin(), hosts.end(), host_matches)) return false;
    if (!matchesPath(candidate)) return false;
    if (!methods.empty() &&
        std::find(methods.begin(), methods.end(), head.method_text) == methods.end()) {
      return false;
    }
    for (const ValueTest& test : headers) {
      const Field* field = head.fields.find(test.name);
      if (field == nullptr || !test.holds(field->value())) return false;
    }
    for (const ValueTest& test : query) {
      const auto value = queryValue(head.query(), test.name);
      if (!value || !test.holds(*value)) return false;
    }
    return true;
  }

  bool unconditional() const {
    return hosts.empty() && methods.empty() && headers.empty() && query.empty() &&
           path.kind == config::PathMatch::Kind::Prefix && path.text == "/";
  }
};

std::string_view hostOf(std::string_view authority) {
  const size_t from = authority.starts_with('[') ? authority.find(']') : 0;
  return authority.substr(0, authority.find(':', from == std::string_view::npos ? 0 : from));
}

Router::~Router() = default;

Result<std::unique_ptr<Router>> Router::create(const std::vector<config::Route>& routes) {
  std::unique_ptr<Router> router(new Router());
  const auto addTests = [](const std::vector<config::ValueMatch>& matches,
                           std::vector<Entry::ValueTest>& tests) -> Result<> {
    for (const config::ValueMatch& match : matches) {
      Entry::ValueTest test{match.name, match.text, nullptr};
      if (match.regex) {
        auto compiled = compile(match.text);
        if (!compiled) return fail(std::move(compiled.error()));
        test.expression = std::move(*compiled);
      }
      tests.push_back(std::move(test));
    }
    return {};
  };
  for (const config::Route& route : routes) {
    auto entry = std::make_unique<Entry>();
    entry->hosts = route.hosts;
    entry->path = route.match.path;
    entry->methods = route.match.methods;
    entry->rewrite = route.rewrite;
    if (route.match.path.kind == config::PathMatch::Kind::Regex) {
      auto compiled = compile(route.match.path.text);
      if (!compiled) return fail(std::move(compiled.error()));
      entry->path_expression = std::move(*compiled);
    }
    if (route.rewrite && route.rewrite->kind == config::Rewrite::Kind::Regex) {
      auto compiled = compile(route.rewrite->pattern);
      if (!compiled) return fail(std::move(compiled.error()));
      entry->rewrite_expression = std::move(*compiled);
    }
    auto added = addTests(route.match.headers, entry->headers);
    if (added) added = addTests(route.match.query, entry->query);
    if (!added) return fail(std::move(added.error()));
    router->entries_.push_back(std::move(entry));
  }
  router->catches_all_ = !router->entries_.empty() && router->entries_.front()->unconditional();
  return router;
}

std::optional<size_t> Router::find(const RequestHead& head, std::string_view path) const {
  if (catches_all_) return 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i]->matches(head, path)) return i;
  }
  return std::nullopt;
}

std::string_view Router::rewrite(size_t route, std::string_view target,
                                 std::string_view normal_path, std::string& memory) const {
  const Entry& entry = *entries_[route];
  if (!entry.rewrite) return target;
  const size_t mark = std::min(target.find('?'), target.size());
  std::string path(normal_path);
  if (entry.rewrite_expression != nullptr) {
    RE2::Replace(&path, *entry.rewrite_expression, entry.rewrite->replacement);
  } else {
    path.replace(0, entry.path.text.size(), entry.rewrite->replacement);
  }
  if (!path.starts_with('/')) path.insert(0, 1, '/');
  memory = path.append(target.substr(mark));
  return memory;
}

bool Router::servesHost(std::string_view host) const {
  for (const auto& entry : entries_) {
    if (entry->hosts.empty()) return true;
    for (const config::HostPattern& pattern : entry->hosts) {
      if (matchesHost(pattern, host)) return true;
    }
  }
  return false;
}

}  // namespace flamegate::proxy
