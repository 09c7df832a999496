// Request heads made of four lines (target, Referer, Cookie, X-Forwarded-For): the fast scan misses
// no mark, and a cleaned target asks for nothing any more.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/profiling/announce.h"
#include "proxy/profiling/capture.h"
#include "proxy/profiling/client_address.h"
#include "proxy/profiling/mark_scanner.h"
#include "proxy/profiling/own_cookies.h"
#include "proxy/profiling/token_carriers.h"
#include "proxy/profiling/trigger.h"

using namespace flamegate;
using namespace flamegate::proxy;

namespace {

std::string_view takeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

bool isMarked(const Marks& marks) {
  return marks.query.verb != Verb::None || marks.query.contradictory || marks.referer ||
         marks.off || marks.path || !marks.session_id.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const agent::SessionKeyRing kKeys(
      agent::SessionKeys::derive("a session secret of 32 bytes or more"));
  const config::Trigger trigger{.path_segment = true};
  const MarkScanner scanner(trigger);
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string target = "/" + std::string(takeLine(text));
  const std::array<std::pair<std::string_view, HeaderId>, 3> names = {
      {{"Referer", HeaderId::Referer},
       {"Cookie", HeaderId::Cookie},
       {"X-Forwarded-For", HeaderId::XForwardedFor}}};
  RequestHead head;
  head.target = target;
  head.authority = "h";
  for (const auto& [name, id] : names) head.fields.add(name, takeLine(text), id);

  const Marks marks = findMarks(head, TriggerContext{trigger, "/__flamegate", std::nullopt, kKeys});
  CHECK(!isMarked(marks) || scanner.mayBeMarked(head));
  const Decision decision = decide(marks, agent::Rights::all(), SessionState::Live, true);
  if (const auto cleaned = cleanTarget(head.target, decision, trigger, kKeys)) {
    CHECK(cleaned->size() <= target.size() && cleaned->starts_with('/'));
    const QueryMarks left = readQuery(
        cleaned->substr(std::min(cleaned->find('?') + 1, cleaned->size())), *trigger.query);
    CHECK(!decision.strip || cleaned->find('?') == std::string::npos || left.verb == Verb::None);
  }
  static_cast<void>(readToken(head, 0, kKeys));
  static_cast<void>(recordedPath(target, true));
  const config::Cidr trusted[] = {*config::parseCidr("10.0.0.0/8")};
  static_cast<void>(findClientAddress(config::parseIp("10.0.0.1"), trusted, head.fields));
  Arena arena;
  cutSessionCookies(head.fields, kKeys, arena);
  return 0;
}
