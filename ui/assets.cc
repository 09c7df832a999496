#include "ui/assets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

// Defined by embed.cc; the sizes are those of the manifest.
extern "C" {
#define FLAMEGATE_UI_FILE(number, path, type, kind, immutable, hash, size) \
  extern const char flamegate_ui_file_##number[size];
#define FLAMEGATE_UI_FILE_GZ(number, path, type, kind, immutable, hash, size, gzip_size) \
  extern const char flamegate_ui_file_##number[size];                                    \
  extern const char flamegate_ui_gzip_##number[gzip_size];
#define FLAMEGATE_UI_BADGE(path, integrity)
#include "ui/dist/manifest.inc"
#undef FLAMEGATE_UI_FILE
#undef FLAMEGATE_UI_FILE_GZ
#undef FLAMEGATE_UI_BADGE
}

namespace flamegate::ui {
namespace {

using std::string_view;

#define FLAMEGATE_UI_FILE(number, path, type, kind, immutable, hash, size)                         \
  Asset{                                                                                           \
      path,     type, {flamegate_ui_file_##number, size}, {}, "\"" hash "\"", {}, AssetKind::kind, \
      immutable},
#define FLAMEGATE_UI_FILE_GZ(number, path, type, kind, immutable, hash, size, gzip_size) \
  Asset{path,                                                                            \
        type,                                                                            \
        {flamegate_ui_file_##number, size},                                              \
        {flamegate_ui_gzip_##number, gzip_size},                                         \
        "\"" hash "\"",                                                                  \
        "\"" hash "-gz\"",                                                               \
        AssetKind::kind,                                                                 \
        immutable},
#define FLAMEGATE_UI_BADGE(path, integrity)
constexpr std::array kFiles = {
#include "ui/dist/manifest.inc"
};
#undef FLAMEGATE_UI_FILE
#undef FLAMEGATE_UI_FILE_GZ
#undef FLAMEGATE_UI_BADGE

struct BadgeFacts {
  string_view path;
  string_view integrity;
};

#define FLAMEGATE_UI_FILE(...)
#define FLAMEGATE_UI_FILE_GZ(...)
#define FLAMEGATE_UI_BADGE(path, integrity) \
  BadgeFacts { path, integrity }
constexpr BadgeFacts kBadge =
#include "ui/dist/manifest.inc"
    ;
#undef FLAMEGATE_UI_FILE
#undef FLAMEGATE_UI_FILE_GZ
#undef FLAMEGATE_UI_BADGE

constexpr string_view kPagePath = "index.html";
constexpr string_view kPrefixMark = "@PREFIX@";

constexpr const Asset* find(string_view path) {
  const auto at =
      std::lower_bound(kFiles.begin(), kFiles.end(), path,
                       [](const Asset& asset, string_view wanted) { return asset.path < wanted; });
  return at != kFiles.end() && at->path == path ? &*at : nullptr;
}

static_assert(std::is_sorted(kFiles.begin(), kFiles.end(),
                             [](const Asset& a, const Asset& b) { return a.path < b.path; }));
static_assert(find(kPagePath) != nullptr && find(kBadge.path) != nullptr);

constexpr std::array<string_view, 9> kPages = {"hosts", "",        "profiles", "routes", "campaigns",
                                               "compare", "live",     "status", "flamegraph"};
constexpr std::array<string_view, 4> kPageFolders = {"p/", "routes/", "hosts/", "campaigns/"};

// FNV-1a: the tag must differ when the prefix does; it guards nothing.
uint64_t hashOf(string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void appendEscaped(std::string& out, string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
}

}  // namespace

std::span<const Asset> assets() { return kFiles; }

const Asset* findAsset(string_view path) { return path == kPagePath ? nullptr : find(path); }

string_view cacheControl(const Asset& asset) {
  if (!asset.immutable) return "no-cache";
  // Optimisers on the way must leave the badge as its `integrity` says.
  return asset.kind == AssetKind::Badge ? "public, max-age=31536000, immutable, no-transform"
                                        : "public, max-age=31536000, immutable";
}

string_view contentSecurityPolicy(AssetKind kind) {
  switch (kind) {
#define FLAMEGATE_UI_POLICY(name, text) \
  case AssetKind::name:                 \
    return text;
#include "ui/policies.inc"
#undef FLAMEGATE_UI_POLICY
  }
  return "default-src 'none'";
}

bool isConsolePath(string_view path) {
  if (std::find(kPages.begin(), kPages.end(), path) != kPages.end()) return true;
  return std::any_of(kPageFolders.begin(), kPageFolders.end(), [path](string_view folder) {
    return path.starts_with(folder) && path.size() > folder.size();
  });
}

ConsolePage consolePage(string_view prefix) {
  const Asset& page = *find(kPagePath);
  ConsolePage made;
  string_view rest = page.body;
  for (auto mark = rest.find(kPrefixMark); mark != string_view::npos;
       mark = rest.find(kPrefixMark)) {
    made.body += rest.substr(0, mark);
    appendEscaped(made.body, prefix);
    rest.remove_prefix(mark + kPrefixMark.size());
  }
  made.body += rest;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(hashOf(prefix)));
  made.etag = page.etag.substr(0, page.etag.size() - 1);
  made.etag.append("-").append(digits.data()).append("\"");
  return made;
}

string_view badgePath() { return kBadge.path; }

string_view badgeIntegrity() { return kBadge.integrity; }

}  // namespace flamegate::ui
