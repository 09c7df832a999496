// Heads and trailers of HTTP/2 (RFC 9113 §8): decoded fields in, heads of this project out, and
// back.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "proxy/base/buffer.h"
#include "proxy/http/head.h"
#include "proxy/http/hpack.h"
#include "proxy/http/http1_parser.h"

namespace flamegate::proxy {

// Why a field block is no message. The names appear in the access log.
enum class Http2Fault : uint8_t {
  None,
  PseudoField,      // unknown, twice, missing, or after a field (§8.3)
  FieldName,        // not a token in lower case (§8.2.1)
  FieldValue,       // a control character, or blanks around it (§8.2.1)
  ConnectionField,  // Connection and its kin; TE other than `trailers` (§8.2.2)
  Method,
  Scheme,
  Target,         // `:path` that no origin form is (§8.3.1)
  Authority,      // none, two, different ones, or not a host (§8.3.1)
  ContentLength,  // not one number, or not what follows (§8.1.1)
  Status,
  TargetTooLong,  // 414
  TooManyFields,  // 431
  HeadTooLarge,   // 431
  Protocol,       // an extended CONNECT for something other than a WebSocket: 501 (RFC 8441 §4)
};

std::string_view http2FaultName(Http2Fault fault);
// The status that answers such a request; 400: the message is malformed, and its stream is reset.
uint16_t http2FaultStatus(Http2Fault fault);

// Takes the fields of one block as lines of HTTP/1, so that a head which is passed on to an HTTP/1
// peer is copied in one run. Lives on the stack while a block is read.
class Http2BlockReader {
 public:
  // `memory` keeps what the heads point to.
  Http2BlockReader(const Http1Limits& limits, Buffer& memory) : limits_(limits), memory_(memory) {}

  void add(const HpackField& field);

  // After the last field. `end`: no content follows. What an HTTP/1 hop needs is in the head: Host,
  // one Cookie line (§8.2.3); TE is marked as removed. An extended CONNECT becomes a GET with
  // `upgrade`.
  Http2Fault takeRequest(bool end, RequestHead& head);
  Http2Fault takeResponse(bool end, Method method, ResponseHead& head);
  // Fields that must not come in trailers are marked as removed.
  Http2Fault takeTrailers(FieldList& fields);

 private:
  struct Line {
    uint32_t begin;
    uint32_t value_size;
    uint16_t name_size;
    HeaderId id;
  };
  struct Text {
    uint32_t begin = 0;
    uint32_t size = 0;
    bool set = false;
  };

  void addPseudo(const HpackField& field);
  Text* findPseudo(std::string_view name);
  void addLine(std::string_view name, std::string_view value, HeaderId id);
  void joinCookies();
  void fail(Http2Fault fault) {
    if (fault_ == Http2Fault::None) fault_ = fault;
  }
  std::string_view view(const Text& text) const;
  std::string_view valueOf(const Line& line) const;
  const Line* findLine(HeaderId id) const;
  Http2Fault takeMethod(RequestHead& head) const;
  Http2Fault takeAuthority(RequestHead& head);
  Http2Fault takeContentLength(uint64_t& length, bool& present) const;
  void moveFields(FieldList& fields) const;

  const Http1Limits& limits_;
  Buffer& memory_;
  Text method_, scheme_, authority_, path_, protocol_, status_;
  size_t count_ = 0;
  size_t cookies_ = 0;
  size_t bytes_ = 0;
  bool field_seen_ = false;
  Http2Fault fault_ = Http2Fault::None;
  std::array<Line, kFieldsMax> lines_;
};

// Room for the fields of one block. Too large to be made for each: one serves a loop.
using HpackFields = std::array<HpackField, HpackEncoder::kFieldsMax>;

// Lists a head's fields for the encoder. Lives on the stack while a block is written.
class Http2BlockWriter {
 public:
  // What is listed lasts as long as the writer, and until `fields` serves another.
  Http2BlockWriter(BufferPool& pool, HpackFields& fields) : names_(pool), fields_(fields) {}

  // A request with `upgrade` becomes an extended CONNECT (RFC 8441).
  std::span<const HpackField> request(const RequestHead& head, bool secure);
  // A 101 becomes a 200, which answers an extended CONNECT.
  std::span<const HpackField> response(const ResponseHead& head);
  std::span<const HpackField> trailers(const FieldList& fields);

 private:
  void begin(const FieldList& fields, size_t more);
  void put(std::string_view name, std::string_view value, bool sensitive = false);
  void putField(const Field& field);
  std::string_view copyText(std::string_view text);

  Buffer names_;
  HpackFields& fields_;
  size_t count_ = 0;
};

}  // namespace flamegate::proxy
