// How a section of the configuration is described once and used for everything: reading it from a
// file, listing its keys for the reference, printing the effective values, resolving its paths.
//
// A section's description is one function `describe…(Visitor&, Section&)` that names each key and
// what its value is. The visitors are Reader, KeyLister, JsonPrinter and PathResolver.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace flamegate::config {

class Visitor;

// What is wrong with a value; nothing when it was fine.
using Problem = std::optional<std::string>;

// A single value, without its C++ type.
struct Scalar {
  enum class Json : unsigned char { String, Number, Boolean };

  std::string type;    // for people: "duration"
  std::string limits;  // "1ms to 24h"; empty: none beyond the type
  Json json = Json::String;
  std::function<Problem(const std::string&)> assign;
  // The present value as a file would say it, secrets masked; nothing when absent.
  std::function<std::optional<std::string>()> text;
  std::string* path = nullptr;  // of a value that is the path of a file
};

// Describes the keys of a map.
using Body = std::function<void(Visitor&)>;

// A list or dictionary, without its C++ type.
class Elements {
 public:
  explicit Elements(size_t size_max, bool needed = false) : size_max_(size_max), needed_(needed) {}
  virtual ~Elements() = default;

  virtual size_t size() const = 0;
  virtual void clear() = 0;
  // Adds a default element; its index is the old size.
  virtual void append() = 0;
  // Describes the value of an element.
  virtual void visit(size_t index, Visitor& visitor) = 0;
  // Of a dictionary: an element's name, and how to set it.
  virtual std::string name(size_t) const { return {}; }
  virtual Problem setName(size_t, const std::string&) { return std::nullopt; }

  size_t sizeMax() const { return size_max_; }
  bool needed() const { return needed_; }  // at least one element

 private:
  size_t size_max_;
  bool needed_;
};

// The value of a key: whatever one call on a visitor says.
class Value {
 public:
  Value(
      Scalar scalar);  // NOLINT(google-explicit-constructor): keys read as `key(name, duration(x))`
  template <typename F>
  requires std::invocable<F&, Visitor&> Value(F visit)
      : visit_(std::move(visit)) {}  // NOLINT(google-explicit-constructor)

  void visit(Visitor& visitor) const { visit_(visitor); }

 private:
  Body visit_;
};

enum class Need : unsigned char { Optional, Required };

// Goes over the description of a section. One visitor stands at one value; `key` and the rules for
// keys are called only from inside the body of a map.
class Visitor {
 public:
  virtual ~Visitor() = default;

  virtual void scalar(const Scalar& scalar) = 0;
  // `like` names the section of the reference that describes the same keys; empty: described here.
  virtual void map(const Body& body, std::string_view like = {}) = 0;
  virtual void list(Elements& elements) = 0;
  virtual void dictionary(Elements& elements) = 0;
  // Where the value is there as a map, the scalar has no text.
  virtual void scalarOrMap(const Scalar& scalar, const Body& body, std::string_view like = {}) = 0;
  // Asked before an optional section: whether to describe it, given whether it is there now.
  virtual bool enters(bool present) = 0;

  virtual void key(std::string_view name, Need need, const Value& value) = 0;
  void key(std::string_view name, const Value& value) { key(name, Need::Optional, value); }

  // Rules between the keys of the map.
  virtual void atMostOne(std::initializer_list<std::string_view>) {}
  virtual void exactlyOne(std::initializer_list<std::string_view>) {}
  virtual void atLeastOne(std::initializer_list<std::string_view>) {}
  virtual void needs(std::string_view /*key*/, std::string_view /*other*/) {}
  // A value that must not be given here.
  virtual void refuse(std::string_view /*reason*/) {}
};

inline Value::Value(Scalar scalar)
    : visit_([scalar = std::move(scalar)](Visitor& visitor) { visitor.scalar(scalar); }) {}

}  // namespace flamegate::config
