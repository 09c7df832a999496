// A request target as control's API takes it apart: segments, query, filters, waits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/api/list_query.h"
#include "control/api/target.h"
#include "agent-protocol/wire/route_label.h"
#include "proxy/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flamegate::control;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CHECK(percentDecode(percentEncode(text), false) == text);
  CHECK(agent::foldIds(agent::foldIds(text)) == agent::foldIds(text));
  std::optional<Target> target = parseTarget(text);
  if (!target) return 0;
  for (const std::string& segment : target->path) CHECK(segment != "." && segment != "..");
  ApiRequest request;
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  const auto query = parseListQuery(request);
  if (query) CHECK(query->limit >= 1 && query->limit <= kListLimitMax);
  if (const std::string* wait = request.findQuery("wait")) {
    const auto parsed = parseWait(*wait, Millis(60'000));
    if (parsed) CHECK(*parsed >= Millis(0) && *parsed <= Millis(60'000));
  }
  return 0;
}
