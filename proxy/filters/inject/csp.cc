#include "proxy/filters/inject/csp.h"

#include <algorithm>

#include "proxy/filters/inject/csp_policy.h"

namespace flamegate::proxy {
namespace {

// The addresses of a question, taken apart.
struct Addresses {
  UrlParts self;
  UrlParts script;
  UrlParts api;
  bool addable = false;  // whether they can be written as source expressions
};

// Without a known origin the document's own host gets a name that no source expression gives.
Addresses takeApart(const CspQuestion& question) {
  Addresses addresses;
  const std::optional<UrlParts> self = parseUrl(question.origin);
  if (!self) {
    addresses.self = {"http", "self.invalid", 80, "/"};
    addresses.script = addresses.api = addresses.self;
    addresses.script.path = question.script_url;
    addresses.api.path = question.api_url;
    return addresses;
  }
  addresses.self = *self;
  addresses.script = parseUrl(question.script_url).value_or(*self);
  addresses.api = parseUrl(question.api_url).value_or(*self);
  // The grammar of host sources has no IPv6 literals, and `;` and `,` would end the expression.
  const auto writable = [](std::string_view url) {
    return url.find_first_of("[;, '") == std::string_view::npos;
  };
  addresses.addable = writable(question.script_url) && writable(question.api_url);
  return addresses;
}

// What a policy's list wants of an external script.
enum class ScriptNeed : uint8_t { Nothing, ItsNonce, AnyNonce, Source };

ScriptNeed scriptNeed(const CspPolicy& policy, const Addresses& addresses) {
  const Directive* directive = policy.scriptDirective();
  if (directive == nullptr) return ScriptNeed::Nothing;
  const SourceList list(directive->value);
  const bool strict = list.hasStrictDynamic();
  if (!strict && list.matches(addresses.script, addresses.self)) return ScriptNeed::Nothing;
  if (!list.nonces().empty()) return ScriptNeed::ItsNonce;
  return strict || list.hasHash() ? ScriptNeed::AnyNonce : ScriptNeed::Source;
}

bool allowsApi(const CspPolicy& policy, const Addresses& addresses) {
  const Directive* directive = policy.connectDirective();
  return directive == nullptr ||
         SourceList(directive->value).matches(addresses.api, addresses.self);
}

struct Assessed {
  CspPolicy policy;
  size_t field;  // index of the field value it is part of
  ScriptNeed need;
  bool api_allowed;
};

Assessed assessPolicy(std::string_view text, size_t field, const Addresses& addresses) {
  CspPolicy policy(text);
  const ScriptNeed need = scriptNeed(policy, addresses);
  const bool api_allowed = allowsApi(policy, addresses);
  return {std::move(policy), field, need, api_allowed};
}

std::vector<Assessed> assess(std::span<const std::string_view> fields, const Addresses& addresses) {
  std::vector<Assessed> policies;
  for (size_t field = 0; field < fields.size(); ++field) {
    std::string_view rest = fields[field];
    while (!rest.empty()) {
      const std::string_view text = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(text.size() + 1, rest.size()));
      policies.push_back(assessPolicy(text, field, addresses));
    }
  }
  return policies;
}

// The nonces that every policy that wants one of its own has; nothing when none does.
std::optional<std::vector<std::string_view>> sharedNonces(const std::vector<Assessed>& policies) {
  std::optional<std::vector<std::string_view>> shared;
  for (const Assessed& assessed : policies) {
    if (assessed.need != ScriptNeed::ItsNonce) continue;
    const SourceList list(assessed.policy.scriptDirective()->value);
    if (!shared) {
      shared = list.nonces();
    } else {
      std::erase_if(*shared, [&](std::string_view nonce) { return !list.hasNonce(nonce); });
    }
  }
  return shared;
}

bool anyNeeds(const std::vector<Assessed>& policies, ScriptNeed need) {
  return std::any_of(policies.begin(), policies.end(),
                     [&](const Assessed& assessed) { return assessed.need == need; });
}

// The nonce for the script's tag. An enforced policy's own one is taken only where it serves all
// enforced policies: an element carries one nonce, and only a fresh one may be added to a policy.
std::string_view chooseNonce(const std::vector<Assessed>& enforced,
                             const std::vector<Assessed>& report_only, std::string_view fresh) {
  const auto wanted = sharedNonces(enforced);
  const auto reported = sharedNonces(report_only);
  if (anyNeeds(enforced, ScriptNeed::AnyNonce) || (wanted && wanted->empty())) return fresh;
  if (wanted) {
    for (std::string_view nonce : *wanted) {
      if (reported && std::find(reported->begin(), reported->end(), nonce) != reported->end())
        return nonce;
    }
    return wanted->front();
  }
  if (reported && !reported->empty()) return reported->front();
  return reported || anyNeeds(report_only, ScriptNeed::AnyNonce) ? fresh : std::string_view();
}

bool servedBy(const Assessed& assessed, std::string_view nonce) {
  if (assessed.need == ScriptNeed::Nothing) return true;
  return assessed.need == ScriptNeed::ItsNonce &&
         SourceList(assessed.policy.scriptDirective()->value).hasNonce(nonce);
}

bool unchangedServes(const std::vector<Assessed>& policies, std::string_view nonce) {
  return std::all_of(policies.begin(), policies.end(), [&](const Assessed& assessed) {
    return assessed.api_allowed && servedBy(assessed, nonce);
  });
}

bool needsAddress(const std::vector<Assessed>& policies) {
  return std::any_of(policies.begin(), policies.end(), [](const Assessed& assessed) {
    return !assessed.api_allowed || assessed.need == ScriptNeed::Source;
  });
}

// Writes a policy anew with sources added to some of its directives; all else keeps its bytes.
class PolicyEditor {
 public:
  explicit PolicyEditor(const CspPolicy& policy) : policy_(policy) {}

  // Adds to `directive`. One that merely stands in as fallback keeps its list, and `own_name` gets
  // a copy of it, so that nothing else is allowed more.
  void add(const Directive& directive, std::string_view own_name, std::string_view source,
           bool only_sources) {
    const SourceList list(directive.value);
    if (policy_.find("default-src") == &directive) {
      appended_ += "; ";
      appended_ += own_name;
      for (std::string_view expression : list.expressions(only_sources)) {
        appended_ += ' ';
        appended_ += expression;
      }
      appended_ += ' ';
      appended_ += source;
      return;
    }
    const auto at = static_cast<size_t>(directive.value.data() - policy_.text().data());
    std::string value = list.expressions().empty() ? std::string() : std::string(directive.value);
    value.erase(value.find_last_not_of(" \t\r\n\f") + 1);
    value += ' ';
    value += source;
    edits_.push_back({at, directive.value.size(), std::move(value)});
  }

  std::string text() {
    std::sort(edits_.begin(), edits_.end(),
              [](const Edit& a, const Edit& b) { return a.at > b.at; });
    std::string text(policy_.text());
    for (const Edit& edit : edits_) text.replace(edit.at, edit.size, edit.value);
    if (!appended_.empty()) {
      text.erase(text.find_last_not_of("; \t\r\n\f") + 1);
      text += appended_;
    }
    return text;
  }

 private:
  struct Edit {
    size_t at;
    size_t size;
    std::string value;
  };
  const CspPolicy& policy_;
  std::vector<Edit> edits_;
  std::string appended_;
};

class Amendment {
 public:
  Amendment(const CspQuestion& question, std::string_view nonce)
      : question_(question), nonce_(nonce) {}

  // New values for the fields whose policies have to change.
  std::vector<std::optional<std::string>> amend(std::span<const std::string_view> fields,
                                                const std::vector<Assessed>& policies,
                                                std::string_view field_name) {
    std::vector<std::optional<std::string>> values(fields.size());
    for (size_t field = 0; field < fields.size(); ++field) {
      std::string value;
      bool changed = false;
      bool first = true;
      for (const Assessed& assessed : policies) {
        if (assessed.field != field) continue;
        if (!first) value += ',';
        first = false;
        const std::string text = amended(assessed, field_name);
        changed = changed || text != assessed.policy.text();
        value += text;
      }
      if (changed) values[field] = std::move(value);
    }
    return values;
  }

  std::vector<std::string> takeChanges() { return std::move(changes_); }

 private:
  std::string amended(const Assessed& assessed, std::string_view field_name) {
    PolicyEditor editor(assessed.policy);
    if (!servedBy(assessed, nonce_)) {
      const bool by_source = assessed.need == ScriptNeed::Source;
      const std::string source =
          by_source ? std::string(question_.script_url) : "'nonce-" + std::string(nonce_) + "'";
      editor.add(*assessed.policy.scriptDirective(), "script-src-elem", source, false);
      note(field_name,
           by_source ? "the badge's address for scripts" : "a nonce for the badge's script");
    }
    if (!assessed.api_allowed) {
      editor.add(*assessed.policy.connectDirective(), "connect-src", question_.api_url, true);
      note(field_name, "the profiler's API for connections");
    }
    return editor.text();
  }

  void note(std::string_view field_name, std::string_view what) {
    changes_.push_back("Added " + std::string(what) + " to " + std::string(field_name) + ".");
  }

  const CspQuestion& question_;
  std::string_view nonce_;
  std::vector<std::string> changes_;
};

CspDecision refuse(CspRefusal refusal) {
  CspDecision decision;
  decision.refusal = refusal;
  return decision;
}

}  // namespace

CspDecision decideCsp(std::span<const std::string_view> enforced_fields,
                      std::span<const std::string_view> report_only_fields,
                      const CspQuestion& question) {
  if (question.mode == CspMode::Off && !(enforced_fields.empty() && report_only_fields.empty())) {
    return refuse(CspRefusal::Off);
  }
  const Addresses addresses = takeApart(question);
  const std::vector<Assessed> enforced = assess(enforced_fields, addresses);
  const std::vector<Assessed> report_only = assess(report_only_fields, addresses);
  for (const Assessed& assessed : enforced) {
    if (assessed.policy.sandboxesBadge()) return refuse(CspRefusal::Sandbox);
  }
  const std::string_view nonce = chooseNonce(enforced, report_only, question.fresh_nonce);
  const bool enforced_fits = unchangedServes(enforced, nonce);
  const bool reports_nothing = unchangedServes(report_only, nonce);
  if (question.mode == CspMode::Reuse) {
    if (!enforced_fits) return refuse(CspRefusal::Blocked);
    if (!reports_nothing) return refuse(CspRefusal::ReportOnly);
  }
  if (!addresses.addable) {
    if (needsAddress(enforced)) return refuse(CspRefusal::Blocked);
    if (needsAddress(report_only)) return refuse(CspRefusal::ReportOnly);
  }

  CspDecision decision;
  decision.nonce = nonce;
  Amendment amendment(question, nonce);
  decision.enforced = amendment.amend(enforced_fields, enforced, "Content-Security-Policy");
  decision.report_only =
      amendment.amend(report_only_fields, report_only, "Content-Security-Policy-Report-Only");
  decision.changes = amendment.takeChanges();
  return decision;
}

std::optional<std::string> decideMetaPolicies(std::span<const std::string> policies,
                                              const CspQuestion& question, std::string_view nonce) {
  if (question.mode == CspMode::Off && !policies.empty()) return std::nullopt;
  const Addresses addresses = takeApart(question);
  std::vector<Assessed> assessed;
  for (const std::string& text : policies) assessed.push_back(assessPolicy(text, 0, addresses));
  std::string chosen(nonce);
  if (chosen.empty()) {
    const auto shared = sharedNonces(assessed);
    if (shared && !shared->empty()) chosen = shared->front();
  }
  if (!unchangedServes(assessed, chosen)) return std::nullopt;
  return chosen;
}

}  // namespace flamegate::proxy
