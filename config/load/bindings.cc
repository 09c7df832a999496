#include "config/load/bindings.h"

#include <algorithm>

#include "config/load/fault.h"

namespace flamegate::config {
namespace {

constexpr size_t kPathBytesMax = 4095;  // PATH_MAX less its final zero

template <typename Integer>
Scalar integerScalar(Integer& field, uint64_t min, uint64_t max) {
  Scalar scalar;
  scalar.type = "integer";
  scalar.json = Scalar::Json::Number;
  scalar.limits = std::to_string(min) + " to " + std::to_string(max);
  scalar.assign = [&field, min, max,
                   limits = scalar.limits](const std::string& written) -> Problem {
    const auto value = parseInteger(written, UINT64_MAX);
    if (!value) return "must be an integer, not " + inQuotes(written);
    if (*value < min || *value > max) return "must be " + limits + ", not " + written;
    field = static_cast<Integer>(*value);
    return std::nullopt;
  };
  scalar.text = [&field] { return std::to_string(field); };
  return scalar;
}

Scalar addressScalar(Address& field, uint16_t port_min) {
  Scalar scalar;
  scalar.type = "address";
  scalar.assign = [&field, port_min](const std::string& written) -> Problem {
    auto address = parseAddress(written);
    if (!address) {
      return "must be host:port, [v6]:port or unix:/path, not " + inQuotes(written);
    }
    if (!address->isUnix() && address->port < port_min) return "the port must not be 0";
    field = std::move(*address);
    return std::nullopt;
  };
  scalar.text = [&field] { return formatAddress(field); };
  return scalar;
}

Problem checkText(const std::string& written, const TextRule& rule, bool secret) {
  if (written.size() > rule.bytes_max) {
    return "must be at most " + std::to_string(rule.bytes_max) + " bytes long";
  }
  if (rule.holds(written)) return std::nullopt;
  std::string problem = "must be " + std::string(rule.type);
  return secret ? problem : problem + ", not " + inQuotes(written);
}

std::optional<std::string> present(bool absent, std::string text) {
  return absent ? std::nullopt : std::optional(std::move(text));
}

bool isPath(const std::string& text) {
  return !text.empty() && text.size() <= kPathBytesMax && text.find('\0') == std::string::npos;
}

// The flags that are set are the elements of the list.
class WordSetElements final : public Elements {
 public:
  WordSetElements(const std::vector<std::pair<std::string_view, bool*>>& words, bool needed)
      : Elements(words.size(), needed), words_(words) {}

  size_t size() const override {
    const auto set = [](const auto& word) { return *word.second; };
    return static_cast<size_t>(std::count_if(words_.begin(), words_.end(), set)) + appended_;
  }
  void clear() override {
    for (const auto& [name, set] : words_) *set = false;
  }
  void append() override { appended_ = 1; }
  void visit(size_t index, Visitor& visitor) override {
    appended_ = 0;
    visitor.scalar(element(index));
  }

 private:
  Scalar element(size_t index) {
    std::vector<std::string_view> names;
    for (const auto& word : words_) names.push_back(word.first);
    Scalar scalar;
    scalar.type = listWords(names);
    scalar.assign = [this, type = scalar.type](const std::string& written) -> Problem {
      for (const auto& [name, set] : words_) {
        if (name != written) continue;
        if (std::exchange(*set, true)) return inQuotes(written) + " is given twice";
        return std::nullopt;
      }
      return "must be " + type + ", not " + inQuotes(written);
    };
    scalar.text = [this, index] { return nameOfSet(index); };
    return scalar;
  }

  std::string nameOfSet(size_t index) const {
    for (const auto& [name, set] : words_) {
      if (*set && index-- == 0) return std::string(name);
    }
    return {};
  }

  const std::vector<std::pair<std::string_view, bool*>>& words_;
  size_t appended_ = 0;
};

}  // namespace

Scalar flag(bool& field) {
  Scalar scalar;
  scalar.type = "boolean";
  scalar.json = Scalar::Json::Boolean;
  scalar.assign = [&field](const std::string& written) -> Problem {
    if (written != "true" && written != "false") {
      return "must be true or false, not " + inQuotes(written);
    }
    field = written == "true";
    return std::nullopt;
  };
  scalar.text = [&field] { return std::string(field ? "true" : "false"); };
  return scalar;
}

Scalar integer(uint32_t& field, uint32_t min, uint32_t max) {
  return integerScalar(field, min, max);
}

Scalar integer(uint64_t& field, uint64_t min, uint64_t max) {
  return integerScalar(field, min, max);
}

Scalar integerOrWord(uint32_t& field, std::string word, uint32_t max) {
  Scalar scalar = integerScalar(field, 1, max);
  scalar.type += " or `" + word + "`";
  scalar.assign = [&field, word, assign = scalar.assign](const std::string& written) -> Problem {
    if (written != word) return assign(written);
    field = 0;
    return std::nullopt;
  };
  scalar.text = [&field, word] { return field == 0 ? word : std::to_string(field); };
  return scalar;
}

Scalar percent(uint32_t& field) {
  Scalar scalar;
  scalar.type = "percentage";
  scalar.limits = "0% to 100%";
  scalar.assign = [&field](const std::string& written) -> Problem {
    const bool marked = !written.empty() && written.back() == '%';
    const auto value =
        parseInteger(std::string_view(written).substr(0, written.size() - (marked ? 1 : 0)), 100);
    if (!marked || !value) return "must be 0% to 100%, not " + inQuotes(written);
    field = static_cast<uint32_t>(*value);
    return std::nullopt;
  };
  scalar.text = [&field] { return std::to_string(field) + "%"; };
  return scalar;
}

Scalar duration(Duration& field, Duration min, Duration max) {
  Scalar scalar;
  scalar.type = "duration";
  scalar.limits = formatDuration(min) + " to " + formatDuration(max);
  scalar.assign = [&field, min, max,
                   limits = scalar.limits](const std::string& written) -> Problem {
    const auto value = parseDuration(written);
    if (!value)
      return "must be a duration such as 500us, 20ms, 5s, 1m or 24h, not " + inQuotes(written);
    if (*value < min || *value > max) return "must be " + limits + ", not " + written;
    field = *value;
    return std::nullopt;
  };
  scalar.text = [&field] { return formatDuration(field); };
  return scalar;
}

Scalar size(uint64_t& field, uint64_t min, uint64_t max) {
  Scalar scalar;
  scalar.type = "size";
  scalar.limits = formatSize(min) + " to " + formatSize(max);
  scalar.assign = [&field, min, max,
                   limits = scalar.limits](const std::string& written) -> Problem {
    const auto value = parseSize(written);
    if (!value) return "must be a size such as 64KiB, 4MiB or 1GiB, not " + inQuotes(written);
    if (*value < min || *value > max) return "must be " + limits + ", not " + written;
    field = *value;
    return std::nullopt;
  };
  scalar.text = [&field] { return formatSize(field); };
  return scalar;
}

Scalar cidr(Cidr& field) {
  Scalar scalar;
  scalar.type = "network";
  scalar.assign = [&field](const std::string& written) -> Problem {
    const auto value = parseCidr(written);
    if (!value) {
      return "must be a network such as 10.0.0.0/8 or an address, not " + inQuotes(written);
    }
    field = *value;
    return std::nullopt;
  };
  scalar.text = [&field] { return formatCidr(field); };
  return scalar;
}

Scalar listenAddress(Address& field) { return addressScalar(field, 0); }

Scalar endpointAddress(Address& field) { return addressScalar(field, 1); }

Scalar unixSocket(std::string& path) {
  Scalar scalar;
  scalar.type = "unix socket";
  scalar.assign = [&path](const std::string& written) -> Problem {
    auto address = parseAddress(written);
    if (!address || !address->isUnix()) return "must be unix:/path, not " + inQuotes(written);
    path = std::move(address->path);
    return std::nullopt;
  };
  scalar.text = [&path] { return present(path.empty(), "unix:" + path); };
  return scalar;
}

Scalar filePath(std::string& field) {
  Scalar scalar;
  scalar.type = "file";
  scalar.assign = [&field](const std::string& written) -> Problem {
    if (!isPath(written)) return "must be the path of a file, not " + inQuotes(written);
    field = written;
    return std::nullopt;
  };
  scalar.text = [&field] { return present(field.empty(), field); };
  scalar.path = &field;
  return scalar;
}

Scalar optionalFilePath(std::optional<std::string>& field, std::string word) {
  Scalar scalar = optional<std::string>(field, std::move(word),
                                        [](std::string& value) { return filePath(value); });
  scalar.path = field ? &*field : nullptr;
  return scalar;
}

Scalar text(std::string& field, const TextRule& rule) {
  Scalar scalar;
  scalar.type = rule.type;
  scalar.limits = "up to " + std::to_string(rule.bytes_max) + " bytes";
  scalar.assign = [&field, &rule](const std::string& written) -> Problem {
    field = written;
    return checkText(written, rule, false);
  };
  scalar.text = [&field, &rule] { return present(field.empty() && !rule.holds(""), field); };
  return scalar;
}

Scalar secretText(std::string& field, const TextRule& rule) {
  Scalar scalar = text(field, rule);
  scalar.assign = [&field, &rule](const std::string& written) -> Problem {
    field = written;
    return checkText(written, rule, true);
  };
  scalar.text = [&field] { return present(field.empty(), "***"); };
  return scalar;
}

Scalar alternative(Scalar scalar, std::function<void()> choose, std::function<bool()> chosen) {
  scalar.assign = [choose = std::move(choose),
                   assign = std::move(scalar.assign)](const std::string& written) {
    choose();
    return assign(written);
  };
  scalar.text = [chosen = std::move(chosen),
                 text = std::move(scalar.text)]() -> std::optional<std::string> {
    return chosen() ? text() : std::nullopt;
  };
  return scalar;
}

std::string listWords(const std::vector<std::string_view>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text.append("`").append(words[i]).append("`");
  }
  return text;
}

Value wordSet(std::vector<std::pair<std::string_view, bool*>> words, bool needed) {
  return [words = std::move(words), needed](Visitor& visitor) {
    WordSetElements elements(words, needed);
    visitor.list(elements);
  };
}

}  // namespace flamegate::config
