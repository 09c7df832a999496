// gzip and deflate content codings (RFC 9110 §8.4.1, RFC 1950 to 1952): decoding and encoding as a
// stream, and appending to a gzip stream without compressing it again. The only user of zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/base/result.h"

namespace flamegate::proxy {

enum class ContentCoding : uint8_t { Identity, Gzip, Deflate };

// The coding of one element of Content-Encoding; nothing for one that is not known here.
std::optional<ContentCoding> findContentCoding(std::string_view name);

// Takes decoded bytes piece by piece, in order. The view is valid during the call only.
class ByteSink {
 public:
  virtual void onBytes(std::string_view bytes) = 0;

 protected:
  ~ByteSink() = default;
};

struct DecodeLimits {
  uint64_t decoded_bytes_max = UINT64_MAX;
  // Decoded bytes per encoded byte, looked at once `ratio_free_bytes` have been decoded; 0: any.
  uint64_t ratio_max = 0;
  uint64_t ratio_free_bytes = 1024 * 1024;
};

// Decodes one body. Gzip may have several members; deflate is taken with and without the zlib
// wrapper, as browsers do. Memory: 48 KiB, whatever comes in.
// Owner: who decodes. Thread: its owner's.
class ContentDecoder {
 public:
  ContentDecoder(ContentCoding coding, DecodeLimits limits);
  ContentDecoder(ContentDecoder&&) noexcept;
  ContentDecoder& operator=(ContentDecoder&&) noexcept;
  ~ContentDecoder();

  // Fails with Malformed or TooLarge; after that the decoder is of no use.
  Result<> write(std::string_view encoded, ByteSink& sink);
  // The body has ended: fails when the coding's own end was not reached.
  Result<> finish() const;

  uint64_t encodedBytes() const { return encoded_bytes_; }
  uint64_t decodedBytes() const { return decoded_bytes_; }

 private:
  struct Stream;

  Result<> inflateSome(std::string_view& encoded, ByteSink& sink);
  Result<> account(size_t decoded);
  void chooseDeflateFormat(std::string_view first_bytes);

  std::unique_ptr<Stream> stream_;  // null for identity
  ContentCoding coding_;
  DecodeLimits limits_;
  uint64_t encoded_bytes_ = 0;
  uint64_t decoded_bytes_ = 0;
};

// Decodes a whole body at once.
Result<std::string> decodeContent(ContentCoding coding, std::string_view encoded,
                                  DecodeLimits limits);

// Encodes one body. Owner: who encodes. Thread: its owner's.
class ContentEncoder {
 public:
  // `level` 1 (fast) to 9 (small).
  explicit ContentEncoder(ContentCoding coding, int level = 6);
  ContentEncoder(ContentEncoder&&) noexcept;
  ContentEncoder& operator=(ContentEncoder&&) noexcept;
  ~ContentEncoder();

  // Appends to `out`. With `flush`, all that was written so far can be decoded from it.
  void write(std::string_view bytes, bool flush, std::string& out);
  void finish(std::string& out);

 private:
  struct Stream;

  void run(std::string_view bytes, int mode, std::string& out);

  std::unique_ptr<Stream> stream_;  // null for identity
};

std::string encodeContent(ContentCoding coding, std::string_view bytes, int level = 6);

// Appends bytes to what a gzip stream decodes to, without compressing anything again: it passes
// the encoded bytes on as they come, clears the mark of the last deflate block, and puts a stored
// block and a new trailer after it. What the application flushed is therefore on its way at once.
//
// A stream that is not valid gzip, is cut off or goes on after its trailer is passed on so that it
// decodes, or fails to decode, as it would have without us; then nothing is appended.
// Owner: a body transform. Thread: its loop's.
class GzipAppender {
 public:
  static constexpr size_t kTailMax = 65535;  // one stored block

  GzipAppender();
  ~GzipAppender();

  // Appends the bytes to pass on to `out`; hands what they decode to to `sink`.
  void write(std::string_view encoded, std::string& out, ByteSink& sink);

  // Nobody wants decoded bytes or an appended tail any more; the rest passes as cheaply as it can.
  void giveUp() { given_up_ = true; }

  // The body has ended. Appends `tail` to the decoded body when the stream was whole; returns
  // whether it did.
  bool finish(std::string_view tail, std::string& out);

 private:
  enum class Phase : uint8_t { Blocks, Trailer, Complete, Bypass };
  struct Stream;

  std::string_view passBlocks(std::string_view encoded, std::string& out, ByteSink& sink);
  void atBlockBoundary(std::string& out);
  void clearLastMark(char& byte, int bit);
  std::string_view readTrailer(std::string_view encoded, std::string& out);
  void closeUnchanged(std::string& out);
  void appendStoredBlock(std::string_view content, std::string& out) const;

  std::unique_ptr<Stream> stream_;
  Phase phase_ = Phase::Blocks;
  bool given_up_ = false;
  bool header_due_ = false;    // the next byte begins the header of a block
  bool mark_cleared_ = false;  // the last block has begun, passed on as if more would follow
  int header_bits_ = 0;        // of the appended block's header, written before its own bytes
  std::string trailer_;        // as received
};

}  // namespace flamegate::proxy
