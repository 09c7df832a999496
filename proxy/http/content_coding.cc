#include "proxy/http/content_coding.h"

#include <algorithm>
#include <array>
#include <climits>

#include <zlib.h>

#include "proxy/base/check.h"
#include "proxy/base/strings.h"

namespace flamegate::proxy {
namespace {

constexpr int kWindowBits = 15;
constexpr int kGzipWrapper = 16;  // zlib adds it to the window bits
constexpr size_t kTrailerBytes = 8;
constexpr size_t kPieceBytes = 16 * 1024;

// What z_stream::data_type says after inflate() with Z_BLOCK.
constexpr int kFreeBits = 7;
constexpr int kInLastBlock = 64;
constexpr int kAtBlockBoundary = 128;

constexpr int kStoredHeaderBits = 3;

// zlib counts input in unsigned int.
size_t capInput(size_t size) { return std::min<size_t>(size, UINT_MAX); }

void setInput(z_stream& stream, std::string_view bytes) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(capInput(bytes.size()));
}

template <size_t N>
void setOutput(z_stream& stream, std::array<char, N>& piece) {
  stream.next_out = reinterpret_cast<Bytef*>(piece.data());
  stream.avail_out = static_cast<uInt>(N);
}

void appendLittleEndian(uint32_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

uint32_t readLittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

uint32_t crcOf(uint32_t crc, std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

int windowBits(ContentCoding coding) {
  return coding == ContentCoding::Gzip ? kWindowBits + kGzipWrapper : kWindowBits;
}

// RFC 1950 §2.2: method 8, and the two bytes are a multiple of 31.
bool beginsZlib(unsigned char first, unsigned char second) {
  return (first & 0x0F) == 8 && (first * 256U + second) % 31 == 0;
}

}  // namespace

std::optional<ContentCoding> findContentCoding(std::string_view name) {
  if (equalIgnoreCase(name, "gzip") || equalIgnoreCase(name, "x-gzip")) return ContentCoding::Gzip;
  if (equalIgnoreCase(name, "deflate")) return ContentCoding::Deflate;
  if (equalIgnoreCase(name, "identity")) return ContentCoding::Identity;
  return std::nullopt;
}

// Decoding ----------------------------------------------------------------------------------------

struct ContentDecoder::Stream {
  explicit Stream(int bits) { CHECK(inflateInit2(&z, bits) == Z_OK); }
  ~Stream() { inflateEnd(&z); }

  z_stream z{};
  bool ended = false;        // the coding's own end was reached
  bool format_known = true;  // false: a deflate body whose first two bytes are not all here yet
  std::string first_bytes;
};

ContentDecoder::ContentDecoder(ContentCoding coding, DecodeLimits limits)
    : coding_(coding), limits_(limits) {
  if (coding == ContentCoding::Identity) return;
  stream_ = std::make_unique<Stream>(windowBits(coding));
  stream_->format_known = coding != ContentCoding::Deflate;
}

ContentDecoder::ContentDecoder(ContentDecoder&&) noexcept = default;
ContentDecoder& ContentDecoder::operator=(ContentDecoder&&) noexcept = default;
ContentDecoder::~ContentDecoder() = default;

Result<> ContentDecoder::account(size_t decoded) {
  decoded_bytes_ += decoded;
  const bool over_ratio = limits_.ratio_max > 0 && decoded_bytes_ > limits_.ratio_free_bytes &&
                          decoded_bytes_ / limits_.ratio_max >= encoded_bytes_;
  if (decoded_bytes_ > limits_.decoded_bytes_max || over_ratio) {
    return fail(ErrorCode::TooLarge, ErrorSource::Client, "decoded content over its limit");
  }
  return {};
}

Result<> ContentDecoder::write(std::string_view encoded, ByteSink& sink) {
  encoded_bytes_ += encoded.size();
  if (stream_ == nullptr) {
    if (Result<> within = account(encoded.size()); !within) return within;
    sink.onBytes(encoded);
    return {};
  }
  std::string held;
  if (!stream_->format_known) {
    stream_->first_bytes += encoded;
    if (stream_->first_bytes.size() < 2) return {};
    held = std::move(stream_->first_bytes);
    encoded = held;
    chooseDeflateFormat(encoded);
  }
  while (!encoded.empty()) {
    if (Result<> some = inflateSome(encoded, sink); !some) return some;
  }
  return {};
}

void ContentDecoder::chooseDeflateFormat(std::string_view first_bytes) {
  stream_->format_known = true;
  if (!beginsZlib(static_cast<unsigned char>(first_bytes[0]),
                  static_cast<unsigned char>(first_bytes[1]))) {
    CHECK(inflateReset2(&stream_->z, -kWindowBits) == Z_OK);
  }
}

// Decodes up to the end of the input or of a member.
Result<> ContentDecoder::inflateSome(std::string_view& encoded, ByteSink& sink) {
  z_stream& z = stream_->z;
  if (stream_->ended) {
    if (coding_ != ContentCoding::Gzip) {
      return fail(ErrorCode::Malformed, ErrorSource::Client, "bytes after the end of the content");
    }
    CHECK(inflateReset(&z) == Z_OK);
    stream_->ended = false;
  }
  setInput(z, encoded);
  std::array<char, kPieceBytes> piece;
  do {
    setOutput(z, piece);
    const int status = inflate(&z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return fail(ErrorCode::Malformed, ErrorSource::Client, "content does not decode");
    }
    const size_t decoded = piece.size() - z.avail_out;
    if (Result<> within = account(decoded); !within) return within;
    if (decoded > 0) sink.onBytes({piece.data(), decoded});
    stream_->ended = status == Z_STREAM_END;
  } while (!stream_->ended && (z.avail_out == 0 || z.avail_in > 0));
  encoded.remove_prefix(capInput(encoded.size()) - z.avail_in);
  return {};
}

Result<> ContentDecoder::finish() const {
  if (stream_ == nullptr || stream_->ended) return {};
  return fail(ErrorCode::Malformed, ErrorSource::Client, "content is cut off");
}

Result<std::string> decodeContent(ContentCoding coding, std::string_view encoded,
                                  DecodeLimits limits) {
  class StringSink final : public ByteSink {
   public:
    void onBytes(std::string_view bytes) override { text += bytes; }
    std::string text;
  };
  StringSink sink;
  ContentDecoder decoder(coding, limits);
  Result<> status = decoder.write(encoded, sink);
  if (status) status = decoder.finish();
  if (!status) return fail(std::move(status.error()));
  return std::move(sink.text);
}

// Encoding ----------------------------------------------------------------------------------------

struct ContentEncoder::Stream {
  Stream(int level, int bits) {
    CHECK(deflateInit2(&z, level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~Stream() { deflateEnd(&z); }

  z_stream z{};
};

ContentEncoder::ContentEncoder(ContentCoding coding, int level) {
  if (coding != ContentCoding::Identity)
    stream_ = std::make_unique<Stream>(level, windowBits(coding));
}

ContentEncoder::ContentEncoder(ContentEncoder&&) noexcept = default;
ContentEncoder& ContentEncoder::operator=(ContentEncoder&&) noexcept = default;
ContentEncoder::~ContentEncoder() = default;

void ContentEncoder::write(std::string_view bytes, bool flush, std::string& out) {
  if (stream_ == nullptr) {
    out += bytes;
    return;
  }
  run(bytes, flush ? Z_SYNC_FLUSH : Z_NO_FLUSH, out);
}

void ContentEncoder::finish(std::string& out) {
  if (stream_ != nullptr) run({}, Z_FINISH, out);
}

void ContentEncoder::run(std::string_view bytes, int mode, std::string& out) {
  z_stream& z = stream_->z;
  std::array<char, kPieceBytes> piece;
  do {
    setInput(z, bytes);
    const bool all = z.avail_in == bytes.size();
    do {
      setOutput(z, piece);
      CHECK(deflate(&z, all ? mode : Z_NO_FLUSH) != Z_STREAM_ERROR);
      out.append(piece.data(), piece.size() - z.avail_out);
    } while (z.avail_out == 0);
    bytes.remove_prefix(capInput(bytes.size()) - z.avail_in);
  } while (!bytes.empty());
}

std::string encodeContent(ContentCoding coding, std::string_view bytes, int level) {
  ContentEncoder encoder(coding, level);
  std::string out;
  encoder.write(bytes, false, out);
  encoder.finish(out);
  return out;
}

// Appending ---------------------------------------------------------------------------------------

struct GzipAppender::Stream {
  Stream() { CHECK(inflateInit2(&z, kWindowBits + kGzipWrapper) == Z_OK); }
  ~Stream() { inflateEnd(&z); }

  uint32_t crc() const { return static_cast<uint32_t>(z.adler); }
  uint32_t size() const { return static_cast<uint32_t>(z.total_out); }  // modulo 2^32

  z_stream z{};
};

GzipAppender::GzipAppender() : stream_(std::make_unique<Stream>()) {}
GzipAppender::~GzipAppender() = default;

void GzipAppender::write(std::string_view encoded, std::string& out, ByteSink& sink) {
  if (given_up_ && phase_ == Phase::Blocks && !mark_cleared_) phase_ = Phase::Bypass;
  if (phase_ == Phase::Blocks) encoded = passBlocks(encoded, out, sink);
  if (phase_ == Phase::Trailer) encoded = readTrailer(encoded, out);
  if (phase_ == Phase::Complete && !encoded.empty()) closeUnchanged(out);
  if (phase_ == Phase::Bypass) out += encoded;
}

// Passes on and decodes up to the end of the last block; returns what follows it.
std::string_view GzipAppender::passBlocks(std::string_view encoded, std::string& out,
                                          ByteSink& sink) {
  z_stream& z = stream_->z;
  std::array<char, kPieceBytes> piece;
  do {
    setInput(z, encoded);
    setOutput(z, piece);
    const int status = inflate(&z, Z_BLOCK);
    const size_t decoded = piece.size() - z.avail_out;
    const size_t read = capInput(encoded.size()) - z.avail_in;
    const size_t passed_at = out.size();
    out += encoded.substr(0, read);
    encoded.remove_prefix(read);
    if (status != Z_OK && status != Z_BUF_ERROR) {
      phase_ = Phase::Bypass;
      return encoded;
    }
    if (header_due_ && read > 0) clearLastMark(out[passed_at], 0);
    if ((z.data_type & kAtBlockBoundary) != 0) atBlockBoundary(out);
    if (decoded > 0 && !given_up_) sink.onBytes({piece.data(), decoded});
  } while (phase_ == Phase::Blocks && (!encoded.empty() || z.avail_out == 0));
  return encoded;
}

// The next block's header begins in the bits that the decoder has left of the last byte, the
// highest ones, or with the next byte. A block is at least 10 bits long, so that the last byte was
// passed on just now and can still be changed.
void GzipAppender::atBlockBoundary(std::string& out) {
  const int free_bits = stream_->z.data_type & kFreeBits;
  const int bit = 8 - free_bits;
  if ((stream_->z.data_type & kInLastBlock) == 0) {
    header_due_ = free_bits == 0;
    if (free_bits > 0) clearLastMark(out.back(), bit);
    return;
  }
  phase_ = Phase::Trailer;
  header_bits_ = std::min(free_bits, kStoredHeaderBits);
  if (free_bits > 0) {
    const int kept = static_cast<unsigned char>(out.back()) & ((1 << bit) - 1);
    out.back() = static_cast<char>(kept | 1 << bit);  // the header of a last, stored block
  }
}

void GzipAppender::clearLastMark(char& byte, int bit) {
  header_due_ = false;
  if ((static_cast<unsigned char>(byte) >> bit & 1) == 0) return;
  byte = static_cast<char>(static_cast<unsigned char>(byte) & ~(1 << bit));
  mark_cleared_ = true;
}

std::string_view GzipAppender::readTrailer(std::string_view encoded, std::string& out) {
  const std::string_view part = encoded.substr(0, kTrailerBytes - trailer_.size());
  trailer_ += part;
  encoded.remove_prefix(part.size());
  if (trailer_.size() < kTrailerBytes) return encoded;
  phase_ = Phase::Complete;
  if (readLittleEndian(trailer_) != stream_->crc() ||
      readLittleEndian(std::string_view(trailer_).substr(4)) != stream_->size()) {
    closeUnchanged(out);
  }
  return encoded;
}

// An empty last block, and the trailer as it came.
void GzipAppender::closeUnchanged(std::string& out) {
  appendStoredBlock({}, out);
  out += trailer_;
  phase_ = Phase::Bypass;
}

// RFC 1951 §3.2.4. Up to three bits of the header were written with the byte before; it is padded
// to a whole byte, and length, complement and content follow.
void GzipAppender::appendStoredBlock(std::string_view content, std::string& out) const {
  if (header_bits_ == 0) out += '\x01';
  if (header_bits_ > 0 && header_bits_ < kStoredHeaderBits) out += '\0';
  const auto size = static_cast<uint32_t>(content.size());
  appendLittleEndian(size, 2, out);
  appendLittleEndian(~size, 2, out);
  out += content;
}

bool GzipAppender::finish(std::string_view tail, std::string& out) {
  CHECK(tail.size() <= kTailMax);
  if (phase_ != Phase::Trailer && phase_ != Phase::Complete) return false;
  if (phase_ == Phase::Trailer || given_up_ || tail.empty()) {
    closeUnchanged(out);
    return false;
  }
  appendStoredBlock(tail, out);
  appendLittleEndian(crcOf(stream_->crc(), tail), 4, out);
  appendLittleEndian(stream_->size() + static_cast<uint32_t>(tail.size()), 4, out);
  phase_ = Phase::Bypass;
  return true;
}

}  // namespace flamegate::proxy
