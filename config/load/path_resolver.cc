#include <filesystem>

#include "config/load/sections.h"
#include "config/load/visitors.h"

namespace flamegate::config {
namespace {

// Goes over every value that is there and rewrites those that are paths.
class PathResolver final : public Visitor {
 public:
  explicit PathResolver(std::filesystem::path base_dir) : base_dir_(std::move(base_dir)) {}

  void scalar(const Scalar& scalar) override {
    if (scalar.path == nullptr || scalar.path->empty()) return;
    *scalar.path = (base_dir_ / *scalar.path).lexically_normal().string();
  }
  void map(const Body& body, std::string_view) override { body(*this); }
  void list(Elements& elements) override {
    const size_t count = elements.size();
    for (size_t i = 0; i < count; ++i) elements.visit(i, *this);
  }
  void dictionary(Elements& elements) override { list(elements); }
  void scalarOrMap(const Scalar& scalar, const Body& body, std::string_view) override {
    if (!scalar.text()) {
      body(*this);
    } else {
      this->scalar(scalar);
    }
  }
  bool enters(bool present) override { return present; }
  void key(std::string_view, Need, const Value& value) override { value.visit(*this); }

 private:
  std::filesystem::path base_dir_;
};

}  // namespace

void resolvePaths(Config& config, const std::string& base_dir) {
  PathResolver resolver(base_dir);
  resolver.map([&config](Visitor& v) { describeConfig(v, config); }, {});
}

}  // namespace flamegate::config
