#include "control/profiles/exporters.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"
#include "control/profiles/timeline.h"
#include "control/profiles/tree.h"

namespace flamegate::control {

proxy::Result<std::string> exportJson(const Profile& profile, const ExportContext& context) {
  std::string out = "{\"id\":";
  appendJsonString(&out, context.id);
  out += ",\"label\":";
  appendJsonString(&out, context.label);
  out += ",\"comments\":[";
  for (size_t i = 0; i < profile.comments.size(); ++i) {
    if (i > 0) out.push_back(',');
    appendJsonString(&out, profile.text(profile.comments[i]));
  }
  out += "],\"loss\":";
  appendJsonString(&out, describeLoss(profile.loss));
  out += ",\"period\":{\"type\":";
  appendJsonString(&out, profile.text(profile.period_type.type));
  out += ",\"unit\":";
  appendJsonString(&out, profile.text(profile.period_type.unit));
  out += ",\"value\":";
  appendNumber(&out, profile.period);
  out += "},\"tree\":";
  out += treeJson(profile, {});
  out += ",\"timeline\":";
  out += timelineJson(profile);
  out += "}\n";
  return out;
}

}  // namespace flamegate::control
