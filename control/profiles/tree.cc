#include "control/profiles/tree.h"

#include <algorithm>

#include "control/profiles/name_table.h"
#include "control/profiles/summary.h"
#include "control/profiles/text.h"

namespace flamegate::control {
namespace {

void appendTypes(std::string* out, const Profile& profile, std::string_view name,
                 StringId ValueType::*part) {
  *out += name;
  out->push_back('[');
  for (size_t i = 0; i < profile.value_types.size(); ++i) {
    if (i > 0) out->push_back(',');
    appendJsonString(out, profile.text(profile.value_types[i].*part));
  }
  out->push_back(']');
}

void appendNodes(std::string* out, const PrunedTree& tree, const std::vector<int32_t>& functions) {
  *out += "\"nodes\":{\"parent\":";
  appendJsonArray(out, tree.parent);
  *out += ",\"function\":";
  appendJsonArray(out, functions);
  *out += ",\"line\":";
  appendJsonArray(out, tree.line);
  *out += ",\"self\":";
  appendJsonArray(out, tree.self);
  *out += ",\"total\":";
  appendJsonArray(out, tree.total);
  *out += ",\"samples\":";
  appendJsonArray(out, tree.samples);
  *out += "},\"pruned\":{\"nodes\":";
  appendNumber(out, tree.pruned_nodes);
  *out += ",\"value\":";
  appendNumber(out, tree.pruned_value);
  *out += "}";
}

void appendStates(std::string* out, const Profile& profile) {
  const auto totals = stateTotals(profile);
  *out += "\"states\":{";
  for (size_t i = 0; i < totals.size(); ++i) {
    if (i > 0) out->push_back(',');
    appendJsonString(out, stateName(static_cast<State>(i)));
    out->push_back(':');
    appendNumber(out, totals[i]);
  }
  out->push_back('}');
}

}  // namespace

std::string treeJson(const Profile& profile, const TreeOptions& options) {
  size_t column = options.value.empty() ? size_t{kNoIndex} : findColumn(profile, options.value);
  if (column == kNoIndex) column = shownColumn(profile);
  const FoldedTree folded = foldTree(profile, column, options.granularity);
  const PrunedTree tree = pruneTree(folded, std::min(options.nodes_max, kTreeNodesMax));
  NameTable names(profile);
  const std::vector<int32_t> functions = names.numbers(tree.function);

  std::string out = "{";
  appendTypes(&out, profile, "\"types\":", &ValueType::type);
  appendTypes(&out, profile, ",\"units\":", &ValueType::unit);
  out += ",\"value\":";
  appendJsonString(&out, column == kNoIndex ? std::string_view{}
                                            : profile.text(profile.value_types[column].type));
  out += ",\"total\":";
  appendNumber(&out, tree.total[0]);
  out += ",\"samples\":";
  appendNumber(&out, tree.samples[0]);
  out.push_back(',');
  names.appendJson(&out);
  out.push_back(',');
  appendNodes(&out, tree, functions);
  out.push_back(',');
  appendStates(&out, profile);
  out += "}\n";
  return out;
}

}  // namespace flamegate::control
