#include "control/profiles/compression.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <zlib.h>
#include <zstd.h>

#include "control/profiles/limits.h"
#include "proxy/base/check.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

proxy::Result<std::string> malformed(std::string detail) {
  return proxy::fail(ErrorCode::Malformed, ErrorSource::Agent, std::move(detail));
}

proxy::Result<std::string> tooLarge(std::string detail) {
  return proxy::fail(ErrorCode::TooLarge, ErrorSource::Agent, std::move(detail));
}

// Collects inflated bytes and says when they are too many.
class BoundedOutput {
 public:
  explicit BoundedOutput(size_t input_bytes)
      : bytes_max_(
            std::min(kInflatedBytesMax, std::max(kRatioFreeBytes, multiplied(input_bytes)))) {
    text_.resize(std::min(bytes_max_ + 1, std::max<size_t>(input_bytes * 4, 4096)));
  }

  char* room() { return text_.data() + used_; }
  size_t roomBytes() const { return text_.size() - used_; }
  void used(size_t bytes) { used_ += bytes; }
  bool over() const { return used_ > bytes_max_; }
  void grow() {
    if (roomBytes() == 0) text_.resize(std::min(bytes_max_ + 1, text_.size() * 2));
  }

  std::string reason() const {
    return bytes_max_ == kInflatedBytesMax ? "more than 32 MiB after decompression"
                                           : "more than 100 times its size after decompression";
  }
  std::string take() {
    text_.resize(used_);
    return std::move(text_);
  }

 private:
  static size_t multiplied(size_t bytes) {
    return bytes > kInflatedBytesMax ? kInflatedBytesMax : bytes * kRatioMax;
  }

  size_t bytes_max_;
  std::string text_;
  size_t used_ = 0;
};

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool sameWord(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, {}, lowered);
}

}  // namespace

bool looksLikeGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

proxy::Result<std::string> inflateGzip(std::string_view bytes) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream stream{};
  CHECK(inflateInit2(&stream, kGzipOnly) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);

  BoundedOutput out(bytes.size());
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(bytes.size(), kInflatedBytesMax));
  if (stream.avail_in != bytes.size()) return tooLarge("more than 32 MiB before decompression");
  for (;;) {
    out.grow();
    stream.next_out = reinterpret_cast<Bytef*>(out.room());
    stream.avail_out = static_cast<uInt>(out.roomBytes());
    const size_t room = stream.avail_out;
    const int status = inflate(&stream, Z_NO_FLUSH);
    out.used(room - stream.avail_out);
    if (out.over()) return tooLarge(out.reason());
    const std::string at = " at byte " + std::to_string(bytes.size() - stream.avail_in);
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) return out.take();
      CHECK(inflateReset(&stream) == Z_OK);
    } else if (status == Z_BUF_ERROR ||
               (status == Z_OK && stream.avail_in == 0 && stream.avail_out != 0)) {
      return malformed("gzip data are cut short" + at);
    } else if (status != Z_OK) {
      return malformed("gzip: " + std::string(stream.msg ? stream.msg : "broken data") + at);
    }
  }
}

proxy::Result<std::string> inflateZstd(std::string_view bytes) {
  constexpr int kWindowLogMax = 25;  // 32 MiB: no window needs to be larger than the output may be
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  CHECK(context != nullptr);
  CHECK(!ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLogMax)));

  BoundedOutput out(bytes.size());
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  size_t hint = 1;
  for (;;) {
    out.grow();
    ZSTD_outBuffer output{out.room(), out.roomBytes(), 0};
    const size_t before = input.pos;
    hint = ZSTD_decompressStream(context.get(), &output, &input);
    const std::string at = " at byte " + std::to_string(input.pos);
    if (ZSTD_isError(hint)) return malformed("zstd: " + std::string(ZSTD_getErrorName(hint)) + at);
    out.used(output.pos);
    if (out.over()) return tooLarge(out.reason());
    if (hint == 0 && input.pos == input.size) return out.take();
    if (input.pos == before && output.pos == 0) return malformed("zstd data are cut short" + at);
  }
}

proxy::Result<std::string> inflateBody(std::string_view coding, std::string_view bytes) {
  if (coding.empty() || sameWord(coding, "identity")) {
    if (bytes.size() > kInflatedBytesMax) return tooLarge("more than 32 MiB");
    return std::string(bytes);
  }
  if (sameWord(coding, "gzip") || sameWord(coding, "x-gzip")) return inflateGzip(bytes);
  if (sameWord(coding, "zstd")) return inflateZstd(bytes);
  return proxy::fail(ErrorCode::Unsupported, ErrorSource::Agent, "content coding is not supported");
}

std::string deflateGzip(std::string_view bytes) {
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) == Z_OK);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, deflateEnd);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  return out;
}

}  // namespace flamegate::control
