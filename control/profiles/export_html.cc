#include "control/profiles/exporters.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

constexpr size_t kHottestRows = 25;
constexpr double kNsInMs = 1e6;

void appendFact(std::string* out, std::string_view name, std::string_view value) {
  *out += "<tr><th>";
  appendXmlText(out, name);
  *out += "</th><td>";
  appendXmlText(out, value);
  *out += "</td></tr>\n";
}

std::string milliseconds(int64_t ns) {
  std::string out;
  appendFixed(&out, static_cast<double>(ns) / kNsInMs, 3);
  return out + " ms";
}

void appendFacts(std::string* out, const Profile& profile, const ExportContext& context) {
  *out += "<table>\n";
  if (!context.id.empty()) appendFact(out, "profile", context.id);
  if (profile.duration_ns > 0) appendFact(out, "duration", milliseconds(profile.duration_ns));
  std::string total;
  const size_t column = shownColumn(profile);
  appendValue(&total, profile, column, sumOf(profile, column));
  appendFact(out, "total", total);
  appendFact(out, "samples", std::to_string(sampleCount(profile)));
  if (timeWeight(profile).is_time) {
    const auto states = stateTotals(profile);
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i] > 0) appendFact(out, stateName(static_cast<State>(i)), milliseconds(states[i]));
    }
  }
  for (const StringId comment : profile.comments) appendFact(out, "note", profile.text(comment));
  if (profile.loss.any()) appendFact(out, "lost", describeLoss(profile.loss));
  *out += "</table>\n";
}

void appendHottest(std::string* out, const Profile& profile) {
  const size_t column = shownColumn(profile);
  *out +=
      "<table>\n<thead><tr><th>self</th><th>total</th><th>function</th><th>file</th></tr></"
      "thead>\n";
  for (const HotFunction& hot : hottestFunctions(profile, column, HotOrder::Self, kHottestRows)) {
    const Function& function = profile.functions[hot.function];
    *out += "<tr><td class=\"figure\">";
    appendValue(out, profile, column, hot.self);
    *out += "</td><td class=\"figure\">";
    appendValue(out, profile, column, hot.total);
    *out += "</td><td>";
    appendXmlText(out, profile.text(function.name));
    *out += "</td><td>";
    appendXmlText(out, profile.text(function.file));
    if (function.line > 0) *out += ":" + std::to_string(function.line);
    *out += "</td></tr>\n";
  }
  *out += "</table>\n";
}

}  // namespace

proxy::Result<std::string> exportHtml(const Profile& profile, const ExportContext& context) {
  const std::string title = context.label.empty() ? "flamegate" : context.label;
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>";
  appendXmlText(&out, title);
  out +=
      "</title>\n<style>body{font:14px system-ui,sans-serif;margin:16px;color:#1b1b1b;"
      "background:#fffdf8}table{border-collapse:collapse;margin:0 0 20px}th,td{text-align:left;"
      "padding:2px 16px 2px 0;vertical-align:top}.figure{text-align:right;"
      "font-variant-numeric:tabular-nums;white-space:nowrap}svg{max-width:100%;height:auto}</"
      "style>\n"
      "</head>\n<body>\n<h1>";
  appendXmlText(&out, title);
  out += "</h1>\n";
  appendFacts(&out, profile, context);
  appendSvg(&out, profile, context);
  out += "<h2>Hottest functions</h2>\n";
  appendHottest(&out, profile);
  out += "</body>\n</html>\n";
  return out;
}

}  // namespace flamegate::control
