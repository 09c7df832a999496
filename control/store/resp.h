// The Redis protocol (RESP2) as values: commands to bytes, bytes to replies. The only code that
// sees hiredis.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/result.h"

struct redisReader;

namespace flamegate::control {

struct RespValue {
  enum class Kind : unsigned char { Nil, Status, Error, Integer, String, Array };
  Kind kind = Kind::Nil;
  int64_t integer = 0;
  std::string text;  // of Status, Error and String
  std::vector<RespValue> elements;

  bool isNil() const { return kind == Kind::Nil; }
  bool isError() const { return kind == Kind::Error; }
};

// Commands to be sent in one go.
class RespCommands {
 public:
  void add(std::span<const std::string_view> arguments);
  void add(std::initializer_list<std::string_view> arguments) {
    add(std::span(arguments.begin(), arguments.size()));
  }

  size_t count() const { return count_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
  size_t count_ = 0;
};

// Replies out of bytes that come in any pieces. Pure. After an error it is of no more use.
class RespReader {
 public:
  // Malformed beyond `reply_bytes_max` bytes for one reply, or a million values in it.
  explicit RespReader(size_t reply_bytes_max);
  ~RespReader();
  RespReader(RespReader&&) = delete;

  // Malformed: not RESP2, nested too deep, or over a limit.
  proxy::Result<> feed(std::string_view bytes);
  // Nothing: more bytes are needed.
  proxy::Result<std::optional<RespValue>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  const size_t reply_bytes_max_;
  size_t pending_bytes_ = 0;
  size_t values_left_;
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace flamegate::control
