#include "config/load/fault.h"

#include <algorithm>
#include <tuple>

namespace flamegate::config {

std::string toText(const Fault& fault) {
  std::string text = fault.file;
  if (fault.at.line > 0) {
    text += ":" + std::to_string(fault.at.line) + ":" + std::to_string(fault.at.column);
  }
  text += ": ";
  if (!fault.path.empty()) text += fault.path + ": ";
  return text + fault.message;
}

void Faults::add(Position at, std::string path, std::string message) {
  if (faults_.size() == kFaultsMax) {
    ++dropped_;
    return;
  }
  faults_.push_back({file_, at, std::move(path), std::move(message)});
}

std::vector<Fault> Faults::take() {
  std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
  if (dropped_ > 0) {
    faults_.push_back({file_, {}, {}, "and " + std::to_string(dropped_) + " more faults"});
    dropped_ = 0;
  }
  return std::exchange(faults_, {});
}

std::string inQuotes(std::string_view value) {
  constexpr size_t kShownBytesMax = 64;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : value.substr(0, kShownBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      text += c;
    }
  }
  return text + (value.size() > kShownBytesMax ? "…\"" : "\"");
}

}  // namespace flamegate::config
