// The console, the badge and the embedded speedscope as bytes inside the executable. Everything is
// immutable and lives as long as the process; nothing is read from a disk.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace flamegate::ui {

// Decides which policy a file is served under.
enum class AssetKind : unsigned char { Console, Badge, Speedscope };

struct Asset {
  std::string_view path;  // below the prefix, without a leading slash: "assets/index-….js"
  std::string_view content_type;  // of `body`; `gzip` is the same with Content-Encoding: gzip
  std::string_view body;
  std::string_view gzip;       // empty where it would save little
  std::string_view etag;       // strong and quoted, of `body`
  std::string_view gzip_etag;  // of `gzip`: another representation, another strong validator
  AssetKind kind = AssetKind::Console;
  bool immutable = false;  // the name changes with the content
};

// All files, sorted by path. Console pages are not among them: see consolePage().
std::span<const Asset> assets();

// Nothing when there is no such file. `path` is below the prefix, without a leading slash.
const Asset* findAsset(std::string_view path);

// The value of Cache-Control for a file.
std::string_view cacheControl(const Asset& asset);

// The value of Content-Security-Policy for files of a kind, and of Console for the console's pages.
// Speedscope needs WebAssembly, writes its own style element and stands in a frame of the console.
std::string_view contentSecurityPolicy(AssetKind kind);

// Whether a path below the prefix is a page of the console, whose address the script in it reads.
bool isConsolePath(std::string_view path);

struct ConsolePage {
  std::string body;  // HTML in UTF-8
  std::string etag;  // strong and quoted
};

// The page that serves every isConsolePath(). `prefix` is the configured one: "/__flamegate". To be
// made once for each configuration and served with Cache-Control: no-cache.
ConsolePage consolePage(std::string_view prefix);

// Of the badge's script: its path below the prefix, and the value of the element's `integrity`.
std::string_view badgePath();
std::string_view badgeIntegrity();

}  // namespace flamegate::ui
