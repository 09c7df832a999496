// One request on one connection of control's: reads it, hands it to the app, writes the answer.
#pragma once

#include <cstdint>

#include "control/api/http_app.h"
#include "proxy/net/event_loop.h"
#include "proxy/session/stream.h"

namespace flamegate::control {

// Owner: HttpServer. Thread: the loop's. Ends: when its stream does.
class HttpExchange final : public proxy::StreamHandler {
 public:
  static constexpr proxy::Duration kBodyTime = std::chrono::seconds(60);  // to read the whole body
  static constexpr proxy::Duration kWriteTime = std::chrono::seconds(120);  // to write the answer

  // `respond` leads back to this exchange's respond(), as long as it is there.
  HttpExchange(proxy::ServerStream& stream, proxy::EventLoop& loop, HttpApp& app,
               Responder respond);

  void onRequest() override;
  void onProgress() override;

  // The app's answer. The exchange may be gone afterwards.
  void respond(ApiResponse response);

 private:
  enum class Step : unsigned char { ReadingBody, Waiting, Writing, Done };

  void takeHead();
  void advance();
  bool readBody();
  void dispatch();
  void begin(ApiResponse response);
  void sendHead();
  void writeBody();
  void onTimer();

  proxy::ServerStream& stream_;
  proxy::EventLoop& loop_;
  HttpApp& app_;
  Responder respond_;
  proxy::Timer timer_;
  HttpRequest request_;
  HeadVerdict verdict_;
  ApiResponse response_;
  std::string content_length_;
  size_t written_ = 0;
  Step step_ = Step::ReadingBody;
  bool in_turn_ = false;
};

}  // namespace flamegate::control
