// Values of sections, bound to the fields that hold them. The bound field outlives the visit.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/load/fault.h"
#include "config/load/visitor.h"
#include "config/schema/scalars.h"

namespace flamegate::config {

// ---- Single values ------------------------------------------------------------------------------

Scalar flag(bool& field);
Scalar integer(uint32_t& field, uint32_t min, uint32_t max);
Scalar integer(uint64_t& field, uint64_t min, uint64_t max);
// `word` stands for 0.
Scalar integerOrWord(uint32_t& field, std::string word, uint32_t max);
// An integer with `%`, up to 100.
Scalar percent(uint32_t& field);
Scalar duration(Duration& field, Duration min, Duration max);
Scalar size(uint64_t& field, uint64_t min, uint64_t max);
Scalar cidr(Cidr& field);
// Listeners may leave the port to the system.
Scalar listenAddress(Address& field);
Scalar endpointAddress(Address& field);
Scalar unixSocket(std::string& path);
Scalar filePath(std::string& field);

// What a text must look like.
struct TextRule {
  std::string_view type;  // for people
  size_t bytes_max;
  bool (*holds)(std::string_view text);
};

Scalar text(std::string& field, const TextRule& rule);
// Never quoted in a message, never printed.
Scalar secretText(std::string& field, const TextRule& rule);

// One of few words.
template <typename Enum>
struct Word {
  std::string_view name;
  Enum value;
};

// "`a`, `b` or `c`"
std::string listWords(const std::vector<std::string_view>& words);

template <typename Enum, size_t N>
Scalar choice(Enum& field, const std::array<Word<Enum>, N>& words) {
  std::vector<std::string_view> names;
  for (const auto& word : words) names.push_back(word.name);
  Scalar scalar;
  scalar.type = listWords(names);
  scalar.assign = [&field, &words, type = scalar.type](const std::string& written) -> Problem {
    for (const auto& word : words) {
      if (word.name != written) continue;
      field = word.value;
      return std::nullopt;
    }
    return "must be " + type + ", not " + inQuotes(written);
  };
  scalar.text = [&field, &words]() -> std::optional<std::string> {
    for (const auto& word : words) {
      if (word.value == field) return std::string(word.name);
    }
    return std::nullopt;
  };
  return scalar;
}

// A value that may be absent; `word` says so in a file, an empty word means that only leaving the
// key out does.
template <typename T>
Scalar optional(std::optional<T>& field, std::string word, std::function<Scalar(T&)> bind) {
  T unused{};
  Scalar scalar = bind(unused);
  if (!word.empty()) scalar.type += " or `" + word + "`";
  scalar.assign = [&field, word, bind](const std::string& written) -> Problem {
    if (!word.empty() && written == word) {
      field.reset();
      return std::nullopt;
    }
    T value{};
    Problem problem = bind(value).assign(written);
    if (!problem) field = std::move(value);
    return problem;
  };
  scalar.text = [&field, word, bind]() -> std::optional<std::string> {
    if (!field) return word.empty() ? std::nullopt : std::optional(word);
    T value = *field;
    return bind(value).text();
  };
  scalar.path = nullptr;
  return scalar;
}

Scalar optionalFilePath(std::optional<std::string>& field, std::string word = {});

// One of several keys that share fields: assigning it first says that it is the one (`choose`), and
// it has a text only while it is (`chosen`).
Scalar alternative(Scalar scalar, std::function<void()> choose, std::function<bool()> chosen);

// ---- Lists and dictionaries --------------------------------------------------------------------

// A vector as a list. `visit` describes one element, `make` a new one.
template <typename T>
class VectorElements final : public Elements {
 public:
  using Visit = std::function<void(Visitor&, T&)>;

  VectorElements(std::vector<T>& vector, size_t size_max, bool needed, Visit visit,
                 std::function<T()> make)
      : Elements(size_max, needed),
        vector_(vector),
        visit_(std::move(visit)),
        make_(std::move(make)) {}

  size_t size() const override { return vector_.size(); }
  void clear() override { vector_.clear(); }
  void append() override { vector_.push_back(make_ ? make_() : T{}); }
  void visit(size_t index, Visitor& visitor) override { visit_(visitor, vector_[index]); }

 private:
  std::vector<T>& vector_;
  Visit visit_;
  std::function<T()> make_;
};

struct ListRule {
  size_t size_max;
  bool needed = false;
};

template <typename T>
Value list(std::vector<T>& field, ListRule rule, typename VectorElements<T>::Visit visit,
           std::function<T()> make = {}) {
  return [&field, rule, visit = std::move(visit), make = std::move(make)](Visitor& visitor) {
    VectorElements<T> elements(field, rule.size_max, rule.needed, visit, make);
    visitor.list(elements);
  };
}

template <typename T>
Value scalarList(std::vector<T>& field, ListRule rule, std::function<Scalar(T&)> bind) {
  return list<T>(field, rule, [bind = std::move(bind)](Visitor& visitor, T& element) {
    visitor.scalar(bind(element));
  });
}

// A vector of values with a member `name` as a dictionary.
template <typename T>
class NamedElements final : public Elements {
 public:
  NamedElements(std::vector<T>& vector, size_t size_max, const TextRule& name_rule,
                std::function<void(Visitor&, T&)> visit)
      : Elements(size_max), vector_(vector), name_rule_(name_rule), visit_(std::move(visit)) {}

  size_t size() const override { return vector_.size(); }
  void clear() override { vector_.clear(); }
  void append() override { vector_.emplace_back(); }
  void visit(size_t index, Visitor& visitor) override { visit_(visitor, vector_[index]); }
  std::string name(size_t index) const override { return vector_[index].name; }
  Problem setName(size_t index, const std::string& written) override {
    return text(vector_[index].name, name_rule_).assign(written);
  }

 private:
  std::vector<T>& vector_;
  const TextRule& name_rule_;
  std::function<void(Visitor&, T&)> visit_;
};

template <typename T>
Value dictionary(std::vector<T>& field, size_t size_max, const TextRule& name_rule,
                 std::function<void(Visitor&, T&)> visit) {
  return [&field, size_max, &name_rule, visit = std::move(visit)](Visitor& visitor) {
    NamedElements<T> elements(field, size_max, name_rule, visit);
    visitor.dictionary(elements);
  };
}

// A list of words, each of which sets one flag; the list replaces all of them.
Value wordSet(std::vector<std::pair<std::string_view, bool*>> words, bool needed = false);

// ---- Sections -----------------------------------------------------------------------------------

// A section that is always there: its keys have defaults.
template <typename T>
Value section(T& field, void (*describe)(Visitor&, T&)) {
  return [&field, describe](Visitor& visitor) {
    visitor.map([&field, describe](Visitor& keys) { describe(keys, field); });
  };
}

// A list of sections.
template <typename T>
Value sectionList(std::vector<T>& field, ListRule rule, void (*describe)(Visitor&, T&)) {
  return list<T>(field, rule, [describe](Visitor& element, T& value) {
    section(value, describe).visit(element);
  });
}

// A section whose absence means something.
template <typename T>
Value optionalSection(std::optional<T>& field, void (*describe)(Visitor&, T&)) {
  return [&field, describe](Visitor& visitor) {
    if (!visitor.enters(field.has_value())) return;
    if (!field) field.emplace();
    visitor.map([&field, describe](Visitor& keys) { describe(keys, *field); });
  };
}

}  // namespace flamegate::config
