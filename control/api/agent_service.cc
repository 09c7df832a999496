#include "control/api/agent_service.h"

#include <utility>

#include "control/api/reply.h"

namespace flamegate::control {
namespace {

using proxy::Method;

HeadVerdict answer(ApiResponse response) { return {std::move(response), 0, nullptr}; }

HeadVerdict wrongMethod(std::string_view allowed) {
  ApiResponse response =
      errorReply(405, "method-not-allowed", "this needs " + std::string(allowed));
  response.addHeader("allow", allowed);
  return answer(std::move(response));
}

HeadVerdict health(const HttpRequest& head) {
  if (head.method != Method::Get && head.method != Method::Head) return wrongMethod("GET, HEAD");
  return answer(jsonReply(200, R"({"status":"ok"})"));
}

// Pushes of other profilers need a token, and none is configured.
HeadVerdict refuseIngest(const HttpRequest& head) {
  if (head.method != Method::Post) return wrongMethod("POST");
  ApiResponse response = errorReply(401, "no-token", "no ingest token is configured");
  response.addHeader("www-authenticate", "Bearer");
  return answer(std::move(response));
}

std::string_view pathOf(std::string_view target) { return target.substr(0, target.find('?')); }

ApiResponse unsignedReply() {
  ApiResponse response =
      errorReply(401, "unsigned", "Flamegate-Auth is absent, malformed, expired or wrong");
  response.addHeader("www-authenticate", "Flamegate");
  return response;
}

ApiResponse retryLater(ApiResponse response, std::string_view seconds) {
  response.addHeader("retry-after", seconds);
  return response;
}

ApiResponse replyOf(PartOutcome outcome) {
  switch (outcome) {
    case PartOutcome::Stored:
      return jsonReply(201, "{}");
    case PartOutcome::Known:
      return jsonReply(200, "{}");
    case PartOutcome::Differs:
      return errorReply(409, "part-differs", "this part came before with other bytes");
    case PartOutcome::TooMany:
      return errorReply(429, "too-many-parts", "the profile has all the parts it may have");
    case PartOutcome::Unknown:
      return notFoundReply("this id was not issued here");
    case PartOutcome::Closed:
      return errorReply(404, "closed", "the time for uploads of this id is over");
    case PartOutcome::WrongKey:
      return unsignedReply();
    case PartOutcome::Undecodable:
      return errorReply(422, "undecodable", "the part cannot be merged");
    case PartOutcome::TooLarge:
      return errorReply(413, "too-large", "the profile outgrows a limit");
    case PartOutcome::StoreAway:
      return retryLater(errorReply(503, "store-unavailable", "the store is away"), "2");
    case PartOutcome::Busy:
      return retryLater(errorReply(503, "busy", "too many uploads are held at present"), "5");
  }
  return errorReply(500, "internal", "no answer");
}

}  // namespace

struct AgentService::UploadJob {
  UploadHead head;
  std::string body;
  int64_t now_ms = 0;
  Responder respond;
  std::unique_ptr<BodyLease> lease;  // given back on control's thread
  UploadVerdict verdict;
};

AgentService::~AgentService() {
  for (auto& [id, timer] : hellos_) executor_.cancel(timer);
}

const UploadStats& AgentService::stats() {
  stats_.open = budget_.bodies();
  stats_.open_bytes = budget_.bytes();
  return stats_;
}

HeadVerdict AgentService::onHead(const HttpRequest& head) {
  if (!head.header("origin").empty() || !head.header("sec-fetch-site").empty()) {
    return answer(errorReply(403, "browser", "this is no place for browsers"));
  }
  const std::string_view path = pathOf(head.target);
  if (path.starts_with(agent::kUploadPathPrefix)) {
    HeadVerdict verdict = judgeUpload(head, path);
    if (verdict.answer) ++stats_.answers[verdict.answer->status];
    return verdict;
  }
  if (path.starts_with(agent::kHelloPathPrefix)) return judgeHello(head);
  if (path == "/healthz") return health(head);
  if (path == "/api/profiles/ingest" || path == "/ingest") return refuseIngest(head);
  return answer(notFoundReply("no such resource"));
}

HeadVerdict AgentService::judgeUpload(const HttpRequest& head, std::string_view path) {
  const std::optional<agent::UploadPath> parsed = agent::parseUploadPath(path);
  if (!parsed) return answer(notFoundReply("no such resource"));
  if (path.size() != head.target.size()) {
    return answer(errorReply(400, "query", "an upload has no query"));
  }
  if (head.method != Method::Post) return wrongMethod("POST");
  if (head.content_length.value_or(0) > kUploadBytesMax) {
    join_.onBadPart(parsed->id, FailReason::Oversized, false);
    return answer(errorReply(413, "too-large", "an upload has at most 4 MiB"));
  }
  if (!isUploadType(head.header("content-type")) ||
      !isUploadCoding(head.header("content-encoding"))) {
    return answer(errorReply(415, "unsupported", "this type or coding is not served"));
  }
  const std::optional<agent::UploadAuth> auth =
      agent::parseUploadAuth(head.header("flamegate-auth"));
  if (!auth || !keys_.isPlausible(*auth, nowMs())) return answer(unsignedReply());
  return {std::nullopt, kUploadBytesMax, &budget_};
}

HeadVerdict AgentService::judgeHello(const HttpRequest& head) {
  if (!agent::parseHelloPath(head.target)) return answer(notFoundReply("no such resource"));
  if (head.method != Method::Post) return wrongMethod("POST");
  const std::optional<agent::UploadAuth> auth =
      agent::parseUploadAuth(head.header("flamegate-auth"));
  if (!auth || !keys_.isPlausible(*auth, nowMs())) return answer(unsignedReply());
  return {std::nullopt, kHelloBytesMax, &budget_};
}

void AgentService::onRequest(HttpRequest request, Responder respond) {
  if (request.target.starts_with(agent::kHelloPathPrefix)) {
    hello(std::move(request), std::move(respond));
  } else {
    upload(std::move(request), std::move(respond));
  }
}

void AgentService::upload(HttpRequest request, Responder respond) {
  const std::optional<agent::UploadPath> parsed = agent::parseUploadPath(request.target);
  auto job = std::make_shared<UploadJob>();
  job->head = {.id = parsed->id,
               .part = std::string(parsed->part),
               .path = request.target,
               .content_type = request.header("content-type"),
               .content_coding = request.header("content-encoding"),
               .auth = *agent::parseUploadAuth(request.header("flamegate-auth")),
               .meta = request.header("flamegate-meta")};
  job->body = std::move(request.body);
  job->lease = std::move(request.lease);
  job->now_ms = nowMs();
  job->respond = std::move(respond);
  const bool accepted = pool_.submit([this, job] {
    job->verdict = checkUpload(job->head, job->body, job->now_ms, keys_);
    executor_.post([this, job] { onChecked(job); });
  });
  if (accepted) return;
  job->lease.reset();
  answerUpload(job->respond, replyOf(PartOutcome::Busy));
}

void AgentService::onChecked(const std::shared_ptr<UploadJob>& job) {
  job->lease.reset();
  const UploadVerdict& verdict = job->verdict;
  if (verdict.part == nullptr) {
    const UploadFault& fault = verdict.fault;
    if (fault.reason) join_.onBadPart(job->head.id, *fault.reason, fault.verified);
    answerUpload(job->respond, fault.status == 401
                                   ? unsignedReply()
                                   : errorReply(fault.status, fault.code, fault.message));
    return;
  }
  stats_.bytes += job->body.size();
  std::string().swap(job->body);
  join_.onPart(job->head.id, verdict.part, [this, job](PartOutcome outcome) {
    if (outcome == PartOutcome::Stored) {
      if (const ProfileRecord* record = join_.find(job->head.id.text())) {
        agents_.onUpload(*record, executor_.wallNow());
      }
    }
    answerUpload(job->respond, replyOf(outcome));
  });
}

void AgentService::answerUpload(const Responder& respond, ApiResponse response) {
  ++stats_.answers[response.status];
  respond(std::move(response));
}

}  // namespace flamegate::control
