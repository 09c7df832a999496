// A policy that was amended lets the badge run: asking again changes nothing more. The input's
// first line holds enforced policies, the rest report-only ones.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "proxy/base/check.h"
#include "proxy/filters/inject/csp.h"

using namespace flamegate::proxy;

namespace {

std::vector<std::string_view> views(const std::vector<std::string_view>& before,
                                    const std::vector<std::optional<std::string>>& after) {
  std::vector<std::string_view> fields;
  for (size_t i = 0; i < before.size(); ++i) fields.push_back(after[i] ? *after[i] : before[i]);
  return fields;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view first_line = text.substr(0, text.find('\n'));
  const std::vector<std::string_view> enforced = {first_line};
  const std::vector<std::string_view> report_only = {text.substr(first_line.size())};
  CspQuestion question;
  question.origin = "https://shop.example";
  question.script_url = "https://shop.example/__flamegate/b/0a1b.js";
  question.api_url = "https://shop.example/__flamegate/api/";
  question.fresh_nonce = "RnJlc2g";
  const CspDecision decision = decideCsp(enforced, report_only, question);
  if (decision.refusal != CspRefusal::None) return 0;

  question.mode = CspMode::Reuse;
  const CspDecision again = decideCsp(views(enforced, decision.enforced),
                                      views(report_only, decision.report_only), question);
  CHECK(again.refusal == CspRefusal::None);
  return 0;
}
