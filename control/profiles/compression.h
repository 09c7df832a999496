// gzip and zstd for profiles. The only file of control's that sees zlib and zstd.
#pragma once

#include <string>
#include <string_view>

#include "proxy/base/result.h"

namespace flamegate::control {

bool looksLikeGzip(std::string_view bytes);

// All members of a gzip file (RFC 1952), one after the other. Malformed: broken, cut short, or
// followed by other bytes. TooLarge: over kInflatedBytesMax, or over kRatioMax times the input once
// it is over kRatioFreeBytes; noticed while inflating, so no more memory than that is ever used.
proxy::Result<std::string> inflateGzip(std::string_view bytes);

// All frames of a zstd stream (RFC 8878), with the same limits.
proxy::Result<std::string> inflateZstd(std::string_view bytes);

// A body as it came with `Content-Encoding: coding`: gzip, x-gzip, zstd, identity or nothing, in
// any case. Unsupported for any other coding.
proxy::Result<std::string> inflateBody(std::string_view coding, std::string_view bytes);

// One member without name and time: equal input gives equal output.
std::string deflateGzip(std::string_view bytes);

}  // namespace flamegate::control
