#include "control/api/http_exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include "control/api/reply.h"
#include "proxy/base/strings.h"
#include "proxy/http/http1_writer.h"

namespace flamegate::control {
namespace {

// The body's size as announced; what grows beyond it is chunked and leased as it comes.
constexpr size_t kLeaseStep = 64 * 1024;

std::string toLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = proxy::toLowerAscii(c);
  return out;
}

ApiResponse tooLargeReply() {
  return errorReply(413, "too-large", "the body is larger than what is accepted here");
}

ApiResponse noRoomReply() {
  ApiResponse response = errorReply(503, "busy", "too many bodies are being read at present");
  response.addHeader("retry-after", "1");
  return response;
}

}  // namespace

std::string HttpRequest::header(std::string_view name) const {
  std::string out;
  bool first = true;
  for (const HeaderLine& line : headers) {
    if (line.name != name) continue;
    if (!first) out.append(", ");
    out.append(line.value);
    first = false;
  }
  return out;
}

HttpExchange::HttpExchange(proxy::ServerStream& stream, proxy::EventLoop& loop, HttpApp& app,
                           Responder respond)
    : stream_(stream),
      loop_(loop),
      app_(app),
      respond_(std::move(respond)),
      timer_(
          loop.timers(), [](void* self) { static_cast<HttpExchange*>(self)->onTimer(); }, this) {}

void HttpExchange::onRequest() {
  takeHead();
  in_turn_ = true;
  verdict_ = app_.onHead(request_);
  if (verdict_.answer) {
    begin(std::move(*verdict_.answer));
  } else if (request_.content_length.value_or(0) > verdict_.body_bytes_max) {
    begin(tooLargeReply());
  } else {
    if (verdict_.budget != nullptr) {
      request_.lease = BodyLease::create(*verdict_.budget, request_.content_length.value_or(0));
    }
    if (verdict_.budget != nullptr && request_.lease == nullptr) {
      begin(noRoomReply());
    } else {
      timer_.arm(loop_.now() + kBodyTime);
      if (stream_.request().expects_continue) {
        proxy::ResponseHead interim;
        interim.status = 100;
        interim.reason = proxy::reasonPhrase(100);
        stream_.sendInterim(interim);
      }
    }
  }
  advance();
}

void HttpExchange::onProgress() {
  in_turn_ = true;
  advance();
}

void HttpExchange::respond(ApiResponse response) {
  if (step_ != Step::Waiting) return;
  begin(std::move(response));
  if (in_turn_) return;  // advance() goes on
  in_turn_ = true;
  advance();
}

void HttpExchange::takeHead() {
  const proxy::RequestHead& head = stream_.request();
  request_.method = head.method;
  request_.method_text = head.method_text;
  request_.target = head.target;
  request_.chunked = head.framing == proxy::Framing::Chunked;
  if (head.framing == proxy::Framing::Length) request_.content_length = head.content_length;
  for (const proxy::Field& field : head.fields) {
    if (field.removed()) continue;
    request_.headers.push_back({toLower(field.name()), std::string(field.value())});
  }
}

// Does what can be done now and ends the turn; the exchange may be gone afterwards.
void HttpExchange::advance() {
  if (stream_.failure() != nullptr && step_ != Step::Done) {
    step_ = Step::Done;
    stream_.breakOff();
  }
  if (step_ == Step::ReadingBody && readBody()) dispatch();
  if (step_ == Step::Writing) writeBody();
  in_turn_ = false;
  stream_.finishTurn();
}

// True when all of it is there. A body over its limit is answered instead.
bool HttpExchange::readBody() {
  while (true) {
    const std::string_view content = stream_.content();
    if (content.empty()) break;
    const size_t size = request_.body.size() + content.size();
    if (size > verdict_.body_bytes_max) {
      begin(tooLargeReply());
      return false;
    }
    if (request_.lease != nullptr && !request_.lease->growTo(size)) {
      begin(noRoomReply());
      return false;
    }
    if (request_.body.empty()) request_.body.reserve(request_.content_length.value_or(kLeaseStep));
    request_.body.append(content);
    stream_.consume(content.size());
  }
  if (stream_.failure() != nullptr) {
    step_ = Step::Done;
    stream_.breakOff();
    return false;
  }
  return stream_.requestEnded();
}

void HttpExchange::dispatch() {
  timer_.disarm();
  step_ = Step::Waiting;
  app_.onRequest(std::move(request_), respond_);
}

void HttpExchange::begin(ApiResponse response) {
  response_ = std::move(response);
  request_.lease.reset();
  step_ = Step::Writing;
  timer_.arm(loop_.now() + kWriteTime);
  sendHead();
}

void HttpExchange::sendHead() {
  proxy::ResponseHead head;
  head.status = response_.status;
  head.reason = proxy::reasonPhrase(response_.status);
  for (const HeaderLine& line : response_.headers) {
    if (proxy::isFieldValueSafe(line.value)) head.fields.add(line.name, line.value);
  }
  // A 204 has no length (RFC 9110 §8.6), a 304 need not tell one.
  if (response_.status != 204 && response_.status != 304) {
    content_length_ = std::to_string(response_.body.view().size());
    head.fields.add("content-length", content_length_);
    head.framing = proxy::Framing::Length;
    head.content_length = response_.body.view().size();
  }
  stream_.sendHead(head);
}

void HttpExchange::writeBody() {
  const std::string_view body = response_.body.view();
  while (written_ < body.size()) {
    const size_t taken = stream_.sendContent(body.substr(written_));
    if (taken == 0) return;
    written_ += taken;
  }
  timer_.disarm();
  step_ = Step::Done;
  stream_.sendEnd(nullptr);
}

void HttpExchange::onTimer() {
  step_ = Step::Done;
  stream_.breakOff();
  stream_.finishTurn();
}

}  // namespace flamegate::control
