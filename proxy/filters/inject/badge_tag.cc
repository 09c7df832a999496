#include "proxy/filters/inject/badge_tag.h"

namespace flamegate::proxy {
namespace {

// Bytes that are not printable ASCII become %XX: in an address they mean the same, and no other
// value has them.
void appendEscaped(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        if (byte >= 0x20 && byte < 0x7F) {
          out += c;
        } else {
          out += {'%', kHex[byte >> 4], kHex[byte & 0x0F]};
        }
    }
  }
}

void appendAttribute(std::string_view name, std::string_view value, std::string& out) {
  if (value.empty()) return;
  out += ' ';
  out += name;
  out += "=\"";
  appendEscaped(value, out);
  out += '"';
}

}  // namespace

std::string BadgeTag::scriptUrl() const {
  return std::string(origin).append(prefix).append(script_path);
}

std::string BadgeTag::apiUrl() const { return std::string(origin).append(prefix).append("/api/"); }

std::string buildBadgeElement(const BadgeTag& tag, std::string_view nonce) {
  std::string element = "<script";
  appendAttribute("src", tag.scriptUrl(), element);
  appendAttribute("integrity", tag.integrity, element);
  appendAttribute("nonce", nonce, element);
  appendAttribute("data-pv", tag.pageview, element);
  appendAttribute("data-id", tag.profile_id, element);
  element += "></script>";
  return element;
}

}  // namespace flamegate::proxy
