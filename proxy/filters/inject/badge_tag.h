// The script element that brings the badge into a page.
#pragma once

#include <string>
#include <string_view>

namespace flamegate::proxy {

// What the element says. The texts outlive whoever is given this: they belong to the configuration
// and to the exchange.
struct BadgeTag {
  std::string_view origin;       // scheme://host[:port] of the page; empty: the address is relative
  std::string_view prefix;       // "/__flamegate"
  std::string_view script_path;  // below the prefix: "/b/HASH.js"
  std::string_view integrity;    // "sha384-…" of the script
  std::string_view pageview;     // opaque id of this page view
  std::string_view profile_id;   // empty when the page itself was not profiled

  std::string scriptUrl() const;
  std::string apiUrl() const;
};

// `<script src=… integrity=… nonce=… data-pv=… data-id=…></script>`, ASCII only, every value
// escaped; attributes without a value are left out.
std::string buildBadgeElement(const BadgeTag& tag, std::string_view nonce);

}  // namespace flamegate::proxy
