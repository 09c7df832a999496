#include "config/load/variables.h"

#include <cstdlib>

namespace flamegate::config {
namespace {

bool isVariableName(std::string_view name) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  for (const char c : name) {
    if (!word(c)) return false;
  }
  return true;
}

// Goes over a tree.
class Expander {
 public:
  Expander(const Environment& environment, Faults& faults)
      : environment_(environment), faults_(faults) {}

  void expand(Node& node, const std::string& path) {
    if (node.kind == Node::Kind::Scalar && !expandText(node.text)) {
      faults_.add(node.at, path, problem_);
      node.kind = Node::Kind::Faulty;
    }
    for (size_t i = 0; i < node.items.size(); ++i) expand(node.items[i], indexPath(path, i));
    for (Entry& entry : node.entries) expand(entry.value, joinPath(path, entry.key));
  }

 private:
  bool expandText(std::string& text) {
    std::string expanded;
    std::string_view rest = text;
    for (size_t dollar; (dollar = rest.find("${")) != std::string_view::npos;) {
      if (dollar > 0 && rest[dollar - 1] == '$') {
        expanded.append(rest.substr(0, dollar - 1)).append("${");
        rest.remove_prefix(dollar + 2);
        continue;
      }
      const size_t close = rest.find('}', dollar);
      if (close == std::string_view::npos) return refuse("`${` without `}`");
      expanded.append(rest.substr(0, dollar));
      if (!appendVariable(rest.substr(dollar + 2, close - dollar - 2), expanded)) return false;
      rest.remove_prefix(close + 1);
      if (expanded.size() > kTextBytesMax) return refuse("too long after its variables are put in");
    }
    if (rest.size() == text.size()) return true;
    text = expanded.append(rest);
    return true;
  }

  // `expression` is what stands between the braces.
  bool appendVariable(std::string_view expression, std::string& expanded) {
    const size_t mark = expression.find(":-");
    const std::string name(expression.substr(0, mark));
    if (!isVariableName(name))
      return refuse("`${` begins no name of a variable; `$${` is a literal");
    const std::optional<std::string> value = environment_(name);
    const bool has_default = mark != std::string_view::npos;
    if (!value && !has_default) return refuse("the environment variable " + name + " is not set");
    if (has_default && (!value || value->empty())) {
      expanded.append(expression.substr(mark + 2));
    } else {
      expanded.append(*value);
    }
    return true;
  }

  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  const Environment& environment_;
  Faults& faults_;
  std::string problem_;
};

}  // namespace

Environment processEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

void expandVariables(Node& root, const Environment& environment, Faults& faults) {
  Expander(environment, faults).expand(root, {});
}

}  // namespace flamegate::config
