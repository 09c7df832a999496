// What is wrong with a configuration, said where it was written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flamegate::config {

// Line and column count from 1; 0 where the value was not read from a file.
struct Position {
  int line = 0;
  int column = 0;
};

// One fault or warning.
struct Fault {
  std::string file;
  Position at;
  std::string path;  // of the key, `routes[1].timeout.idle`; empty when the file is no YAML at all
  std::string message;
};

// "FILE:LINE:COLUMN: path.of.key: what is wrong", without the parts that are not known.
std::string toText(const Fault& fault);

// Collects the faults of one file. More than kFaultsMax are counted, not kept.
class Faults {
 public:
  static constexpr size_t kFaultsMax = 100;

  explicit Faults(std::string file) : file_(std::move(file)) {}

  void add(Position at, std::string path, std::string message);
  bool empty() const { return faults_.empty(); }
  // In the order of the file, with a last line for those not kept.
  std::vector<Fault> take();

 private:
  std::string file_;
  std::vector<Fault> faults_;
  size_t dropped_ = 0;
};

// `value` in quotes for a message: control bytes escaped, cut after 64 bytes.
std::string inQuotes(std::string_view value);

}  // namespace flamegate::config
