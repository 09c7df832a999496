#include "config/load/sections.h"
#include "config/load/tree.h"
#include "config/load/visitors.h"

namespace flamegate::config {
namespace {

// Collects the texts of a list's elements.
class ElementTexts final : public Visitor {
 public:
  const std::string& joined() const { return joined_; }
  bool scalars() const { return scalars_; }

  void scalar(const Scalar& scalar) override {
    if (!joined_.empty()) joined_ += ", ";
    joined_ += scalar.text().value_or("");
  }
  void map(const Body&, std::string_view) override { scalars_ = false; }
  void list(Elements&) override { scalars_ = false; }
  void dictionary(Elements&) override { scalars_ = false; }
  void scalarOrMap(const Scalar&, const Body&, std::string_view) override { scalars_ = false; }
  bool enters(bool present) override { return present; }
  void key(std::string_view, Need, const Value&) override {}

 private:
  std::string joined_;
  bool scalars_ = true;
};

std::string defaultOf(Elements& elements) {
  if (elements.size() == 0) return "[]";
  ElementTexts texts;
  const size_t count = elements.size();
  for (size_t i = 0; i < count; ++i) elements.visit(i, texts);
  if (texts.scalars()) return "[" + texts.joined() + "]";
  return std::to_string(count) + " entries";
}

// Stands at one key and adds its row, then those below it. Goes into everything optional.
class KeyLister final : public Visitor {
 public:
  KeyLister(std::string path, Need need, std::vector<KeyInfo>& rows)
      : path_(std::move(path)), need_(need), rows_(rows) {}

  void scalar(const Scalar& scalar) override {
    add(scalar.type, scalar.text().value_or(""), scalar.limits);
  }

  void map(const Body& body, std::string_view like) override {
    if (!like.empty()) {
      add("map as `" + std::string(like) + "`", "", "");
      return;
    }
    if (!path_.empty() && !element_) add("map", "", "");
    body(*this);
  }

  void list(Elements& elements) override {
    const std::string fallback = defaultOf(elements);
    std::vector<KeyInfo> below;
    KeyLister element(path_ + "[]", Need::Optional, below);
    element.element_ = true;
    elements.clear();
    elements.append();
    elements.visit(0, element);
    const std::string limits =
        (elements.needed() ? "1 to " : "up to ") + std::to_string(elements.sizeMax());
    // The elements' own row, if they can be single values, becomes part of the list's.
    const bool scalars = below.front().path == path_ + "[]";
    add(scalars ? "list of: " + below.front().type : "list of maps", fallback, limits);
    rows_.insert(rows_.end(), below.begin() + (scalars ? 1 : 0), below.end());
  }

  void dictionary(Elements& elements) override {
    add("map of names", "{}", "up to " + std::to_string(elements.sizeMax()));
    elements.clear();
    elements.append();
    KeyLister element(path_ + ".{}", Need::Optional, rows_);
    elements.visit(0, element);
  }

  void scalarOrMap(const Scalar& scalar, const Body& body, std::string_view like) override {
    const std::string map = like.empty() ? " or map" : " or map as `" + std::string(like) + "`";
    add(scalar.type + map, scalar.text().value_or(""), scalar.limits);
    if (like.empty()) body(*this);
  }

  bool enters(bool present) override {
    optional_ = !present;
    return true;
  }

  void key(std::string_view name, Need need, const Value& value) override {
    KeyLister lister(joinPath(path_, name), need, rows_);
    value.visit(lister);
  }

 private:
  void add(std::string type, std::string fallback, std::string limits) {
    if (optional_) fallback = "absent";
    const bool required = need_ == Need::Required;
    if (required) fallback.clear();
    rows_.push_back({path_, std::move(type), std::move(fallback), std::move(limits), required});
  }

  std::string path_;
  Need need_;
  std::vector<KeyInfo>& rows_;
  bool element_ = false;   // stands at an element of a list, which has no row of its own
  bool optional_ = false;  // stands at a section that is absent by default
};

}  // namespace

std::vector<KeyInfo> listKeys() {
  std::vector<KeyInfo> rows;
  Config config;
  KeyLister lister({}, Need::Optional, rows);
  lister.map([&config](Visitor& v) { describeConfig(v, config); }, {});
  return rows;
}

}  // namespace flamegate::config
