// The head of a message: what both protocols, the router, the filters and the logs work on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/http/header_id.h"

namespace flamegate::proxy {

// Fields of one message are at most this many (RFC 9110 §5.4 leaves the limit to us).
inline constexpr size_t kFieldsMax = 200;

// One field line. Its bytes belong to whoever parsed or added it and outlive the message.
class Field {
 public:
  std::string_view name() const { return {line_, name_size_}; }
  std::string_view value() const { return {value_, value_size_}; }
  // The whole line with its CRLF, exactly as received; empty for a field added here.
  std::string_view line() const { return {line_, line_size_}; }
  HeaderId id() const { return id_; }
  bool removed() const { return removed_; }

 private:
  friend class FieldList;
  const char* line_;   // begins with the name
  const char* value_;  // without surrounding blanks
  uint32_t line_size_;
  uint32_t value_size_;
  uint16_t name_size_;
  HeaderId id_;
  bool removed_;
};

// The fields of a message in their order. Removing marks; the serializer copies runs of unmarked
// lines, so that case, order and spacing of what is not touched survive.
// Owner: a head. Thread: its exchange's.
class FieldList {
 public:
  size_t size() const { return size_; }
  bool full() const { return size_ == fields_.size(); }
  const Field& operator[](size_t index) const { return fields_[index]; }
  const Field* begin() const { return fields_.data(); }
  const Field* end() const { return fields_.data() + size_; }

  // Whether a field of this id was ever in the list (it may have been removed since).
  bool has(HeaderId id) const { return present_.has(id); }
  bool hasAny(HeaderIdSet ids) const { return present_.hasAny(ids); }

  // Whether there was ever more than one field of one of these.
  bool repeatsAny(HeaderIdSet ids) const { return repeated_.hasAny(ids); }

  // The first unremoved field with this id; null if there is none.
  const Field* find(HeaderId id) const {
    for (const Field* field = first(id); field != nullptr; field = next(*field)) {
      if (!field->removed_) return field;
    }
    return nullptr;
  }
  // All fields with this id in their order, removed ones, too; null after the last.
  const Field* first(HeaderId id) const {
    return has(id) ? &fields_[first_[static_cast<size_t>(id)]] : nullptr;
  }
  const Field* next(const Field& field) const {
    return repeated_.has(field.id_) ? findAfter(field) : nullptr;
  }
  // The first unremoved field with this name, compared without case. For names without an id.
  const Field* find(std::string_view name) const;

  // The value of the only field with this id; nothing when there is none or more than one.
  std::optional<std::string_view> findSingle(HeaderId id) const;

  void clear() {
    size_ = 0;
    present_ = {};
    repeated_ = {};
  }

  // A parsed line. `line` holds name, colon, value and CRLF.
  void addParsed(std::string_view line, size_t name_size, std::string_view value, HeaderId id) {
    DCHECK(!full());
    note(id);
    Field& field = fields_[size_++];
    field.line_ = line.data();
    field.value_ = value.data();
    field.line_size_ = static_cast<uint32_t>(line.size());
    field.value_size_ = static_cast<uint32_t>(value.size());
    field.name_size_ = static_cast<uint16_t>(name_size);
    field.id_ = id;
    field.removed_ = false;
  }

  // A field of our own; the views must outlive the message. False when the list is full.
  bool add(std::string_view name, std::string_view value);
  bool add(std::string_view name, std::string_view value, HeaderId id);

  void remove(size_t at) { fields_[at].removed_ = true; }
  // Marks every field with this id; returns how many.
  size_t removeAll(HeaderId id);
  // Puts another value into a field, keeping its name; the line is then written anew.
  void setValue(size_t at, std::string_view value);

 private:
  // Before the field is at its place.
  void note(HeaderId id) {
    if (present_.has(id)) {
      repeated_.add(id);
    } else {
      present_.add(id);
      first_[static_cast<size_t>(id)] = static_cast<uint8_t>(size_);
    }
  }
  const Field* findAfter(const Field& field) const;

  static_assert(kFieldsMax <= 256);
  size_t size_ = 0;
  HeaderIdSet present_;
  HeaderIdSet repeated_;
  std::array<uint8_t, static_cast<size_t>(HeaderId::Count)> first_;  // of those in present_
  std::array<Field, kFieldsMax> fields_;  // only the first size_ are ever read
};

enum class Method : uint8_t { Get, Head, Post, Put, Delete, Patch, Options, Trace, Connect, Other };

// GET, HEAD, PUT, DELETE, OPTIONS, TRACE (RFC 9110 §9.2.2).
constexpr bool isIdempotent(Method method) {
  return method != Method::Post && method != Method::Patch && method != Method::Connect &&
         method != Method::Other;
}

// How the length of a body is known (RFC 9112 §6.3).
enum class Framing : uint8_t { None, Length, Chunked, UntilClose };

// A request head. Views point into memory that outlives the exchange.
struct RequestHead {
  Method method = Method::Get;
  uint8_t minor_version = 1;  // of HTTP/1; 1 for HTTP/2
  Framing framing = Framing::None;
  bool keep_alive = true;         // what the client's version and Connection field ask for
  bool expects_continue = false;  // Expect: 100-continue from an HTTP/1.1 client
  bool http2 = false;             // it came by HTTP/2
  bool absolute_form = false;     // the target came as scheme://authority/path
  std::string_view method_text;
  // As forwarded: origin form, `*`, or authority for CONNECT. One that begins with `?` came in
  // absolute form without a path and is written with the slash that it stands for.
  std::string_view target;
  std::string_view authority;   // Host, or the authority of an absolute-form target
  std::string_view upgrade;     // the Upgrade value when Connection names it; else empty
  uint64_t content_length = 0;  // with Framing::Length
  FieldList fields;

  // As logs print it.
  std::string_view protocol() const {
    if (http2) return "HTTP/2";
    return minor_version == 0 ? "HTTP/1.0" : "HTTP/1.1";
  }
  // The target up to its first `?`, and what follows that.
  std::string_view path() const {
    const std::string_view path = target.substr(0, queryMark());
    return path.empty() ? std::string_view("/") : path;
  }
  std::string_view query() const {
    const size_t mark = queryMark();
    return mark == target.size() ? std::string_view() : target.substr(mark + 1);
  }
  size_t queryMark() const {
    const size_t mark = target.find('?');
    return mark == std::string_view::npos ? target.size() : mark;
  }
};

struct ResponseHead {
  uint16_t status = 200;
  uint8_t minor_version = 1;
  Framing framing = Framing::None;
  bool keep_alive = true;
  std::string_view reason;
  std::string_view upgrade;
  uint64_t content_length = 0;
  FieldList fields;

  bool interim() const { return status < 200 && status != 101; }
};

}  // namespace flamegate::proxy
