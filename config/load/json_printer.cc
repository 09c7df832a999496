#include <nlohmann/json.hpp>

#include "config/load/sections.h"
#include "config/load/visitors.h"

namespace flamegate::config {
namespace {

using Json = nlohmann::ordered_json;

// Stands at one value and makes its JSON.
class JsonPrinter final : public Visitor {
 public:
  Json take() { return std::move(json_); }

  void scalar(const Scalar& scalar) override {
    const std::optional<std::string> text = scalar.text();
    if (!text) return;
    const bool digits = text->find_first_not_of("0123456789") == std::string::npos;
    if (scalar.json == Scalar::Json::Boolean) {
      json_ = *text == "true";
    } else if (scalar.json == Scalar::Json::Number && digits) {
      json_ = std::stoull(*text);  // of an integer's own text: within 64 bits
    } else {
      json_ = *text;
    }
  }

  void map(const Body& body, std::string_view) override {
    json_ = Json::object();
    body(*this);
  }

  void list(Elements& elements) override {
    if (elements.size() == 0 && elements.needed()) return;
    json_ = Json::array();
    for (size_t i = 0; i < elements.size(); ++i) {
      JsonPrinter element;
      elements.visit(i, element);
      json_.push_back(element.take());
    }
  }

  void dictionary(Elements& elements) override {
    json_ = Json::object();
    for (size_t i = 0; i < elements.size(); ++i) {
      JsonPrinter element;
      elements.visit(i, element);
      json_[elements.name(i)] = element.take();
    }
  }

  void scalarOrMap(const Scalar& scalar, const Body& body, std::string_view like) override {
    if (!scalar.text()) {
      map(body, like);
    } else {
      this->scalar(scalar);
    }
  }

  bool enters(bool present) override { return present; }

  void key(std::string_view name, Need, const Value& value) override {
    JsonPrinter printer;
    value.visit(printer);
    Json json = printer.take();
    if (!json.is_null()) json_[std::string(name)] = std::move(json);
  }

  // A file may not hold the one key without the other.
  void needs(std::string_view key, std::string_view other) override {
    if (!json_.contains(other)) json_.erase(std::string(key));
  }

 private:
  Json json_;  // null: absent
};

}  // namespace

std::string describe(const Config& config) {
  Config copy = config;  // descriptions are bound to fields that can be assigned
  JsonPrinter printer;
  printer.map([&copy](Visitor& v) { describeConfig(v, copy); }, {});
  return printer.take().dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace flamegate::config
