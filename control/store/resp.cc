#include "control/store/resp.h"

#include <cstdlib>

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include "proxy/base/check.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;

// Values in one reply; more is no answer to anything we ask.
constexpr size_t kValuesMax = 1 << 20;

// A value in its place: the root, or the next element of the array being read; null over the limit.
// The reader fills one array at a time, so that the elements of an outer one do not move meanwhile.
RespValue* place(const redisReadTask* task) {
  size_t& values_left = *static_cast<size_t*>(task->privdata);
  if (values_left == 0) return nullptr;
  --values_left;
  if (!task->parent) return std::make_unique<RespValue>().release();
  return &static_cast<RespValue*>(task->parent->obj)->elements.emplace_back();
}

void* createString(const redisReadTask* task, char* text, size_t size) {
  RespValue* value = place(task);
  if (!value) return nullptr;
  value->kind = task->type == REDIS_REPLY_ERROR    ? RespValue::Kind::Error
                : task->type == REDIS_REPLY_STATUS ? RespValue::Kind::Status
                                                   : RespValue::Kind::String;
  value->text.assign(text, size);
  return value;
}

void* createArray(const redisReadTask* task, int elements) {
  if (elements > 0 && static_cast<size_t>(elements) > kValuesMax) return nullptr;
  RespValue* value = place(task);
  if (!value) return nullptr;
  value->kind = RespValue::Kind::Array;
  return value;
}

void* createInteger(const redisReadTask* task, long long integer) {
  RespValue* value = place(task);
  if (!value) return nullptr;
  value->kind = RespValue::Kind::Integer;
  value->integer = integer;
  return value;
}

void* createNil(const redisReadTask* task) { return place(task); }

void freeRoot(void* root) { std::unique_ptr<RespValue>(static_cast<RespValue*>(root)); }

redisReplyObjectFunctions kFunctions = {createString, createArray, createInteger, createNil,
                                        freeRoot};

auto malformed(std::string_view why) {
  return proxy::fail(ErrorCode::Malformed, ErrorSource::Store,
                     "no answer of a Redis server: " + std::string(why));
}

}  // namespace

void RespCommands::add(std::span<const std::string_view> arguments) {
  std::vector<const char*> data;
  std::vector<size_t> sizes;
  for (std::string_view argument : arguments) {
    data.push_back(argument.data() ? argument.data() : "");
    sizes.push_back(argument.size());
  }
  char* command = nullptr;
  const int size = redisFormatCommandArgv(&command, static_cast<int>(arguments.size()), data.data(),
                                          sizes.data());
  CHECK(size > 0);
  bytes_.append(command, static_cast<size_t>(size));
  redisFreeCommand(command);
  ++count_;
}

void RespReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

RespReader::RespReader(size_t reply_bytes_max)
    : reply_bytes_max_(reply_bytes_max),
      values_left_(kValuesMax),
      reader_(redisReaderCreateWithFunctions(&kFunctions)) {
  CHECK(reader_ != nullptr);
  reader_->privdata = &values_left_;
}

RespReader::~RespReader() = default;

proxy::Result<> RespReader::feed(std::string_view bytes) {
  pending_bytes_ += bytes.size();
  if (pending_bytes_ > reply_bytes_max_) return malformed("it is too long");
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    return malformed(reader_->errstr);
  }
  return {};
}

proxy::Result<std::optional<RespValue>> RespReader::next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) return malformed(reader_->errstr);
  if (!reply) return std::nullopt;
  const std::unique_ptr<RespValue> root(static_cast<RespValue*>(reply));
  pending_bytes_ = reader_->len - reader_->pos;
  values_left_ = kValuesMax;
  return std::move(*root);
}

}  // namespace flamegate::control
