// The agents' listener as values: every answer of an upload in its order, hellos, and what is
// refused.
#include <gtest/gtest.h>

#include "agent-protocol/wire/meta.h"
#include "control/profiles/compression.h"
#include "tests/control/api/api_fixture.h"

namespace flamegate::control {
namespace {

using proxy::Method;
using std::chrono_literals::operator""s;
using Phase = agent::CaptureRecord::Phase;

class AgentServiceTest : public ApiFixture {
 protected:
  struct Upload {
    std::string path;
    std::string body = encodePprof(profile());
    std::string type = "application/x-pprof";
    std::string coding;
    std::string meta;
    std::string secret{kSecret};
    int64_t clock_off_ms = 0;
    Method method = Method::Post;
    std::string method_text = "POST";
  };

  Upload uploadOf(const agent::ProfileId& id, const std::string& part = "71-1") {
    Upload out;
    out.path = std::string(agent::kUploadPathPrefix) + std::string(id.text()) + "/" + part;
    agent::UploadMeta meta;
    meta.agent = "python/1.0";
    meta.host = "web-1";
    meta.route = "/cart";
    meta.period_us = 1000;
    meta.ticks = agent::Ticks{2, 2, 0};
    out.meta = agent::formatMeta(meta);
    return out;
  }

  HttpRequest toRequest(const Upload& upload) {
    HttpRequest out;
    out.method = upload.method;
    out.method_text = upload.method_text;
    out.target = upload.path;
    out.body = upload.body;
    out.content_length = upload.body.size();
    out.headers.push_back({"content-type", upload.type});
    if (!upload.coding.empty()) out.headers.push_back({"content-encoding", upload.coding});
    if (!upload.meta.empty()) out.headers.push_back({"flamegate-meta", upload.meta});
    const proxy::Sha256 hash = proxy::sha256(upload.body);
    const std::string path = upload.path.substr(0, upload.path.find('?'));
    const agent::UploadFacts facts{"POST", path, proxy::asView(hash), upload.meta};
    const agent::UploadAuth auth = agent::signUpload(
        facts, executor_.wallNow().time_since_epoch().count() + upload.clock_off_ms,
        "nonce-0123456789abcdef", agent::AgentKeys::derive(upload.secret));
    out.headers.push_back({"flamegate-auth", auth.format()});
    return out;
  }

  // As a server does it: the head first, then, if that is not answered, the whole.
  std::shared_ptr<std::optional<ApiResponse>> send(HttpRequest call) {
    auto response = std::make_shared<std::optional<ApiResponse>>();
    HeadVerdict verdict = agent_service_.onHead(call);
    if (verdict.answer) {
      *response = std::move(verdict.answer);
      return response;
    }
    EXPECT_LE(call.body.size(), verdict.body_bytes_max);
    if (verdict.budget != nullptr)
      call.lease = BodyLease::create(*verdict.budget, call.body.size());
    agent_service_.onRequest(std::move(call), [response](ApiResponse given) {
      EXPECT_FALSE(response->has_value());
      *response = std::move(given);
    });
    return response;
  }
  int status(HttpRequest call) {
    const auto response = send(std::move(call));
    EXPECT_TRUE(executor_.runUntil([&] { return response->has_value(); }));
    return response->has_value() ? (*response)->status : 0;
  }
  int status(const Upload& upload) { return status(toRequest(upload)); }

  agent::ProfileId began() {
    const auto id = newId();
    join_.onCapture(capture(id, Phase::Begin));
    return id;
  }
  agent::ProfileId ended() {
    const auto id = began();
    join_.onCapture(capture(id, Phase::End));
    settle();
    return id;
  }
};

TEST_F(AgentServiceTest, StoresAnUpload) {
  const auto id = ended();
  EXPECT_EQ(status(uploadOf(id)), 201);
  const ProfileRecord* const record = join_.find(id.text());
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->state, ProfileState::Stored);
  EXPECT_EQ(record->samples, 2U);
  EXPECT_EQ(record->route, "GET /cart");
  EXPECT_EQ(record->cpu, Micros(800));
  EXPECT_EQ(record->states.gc, Micros(1000));
  const ApiResponse file = answer(get({"profiles", std::string(id.text()), "download"}));
  const auto decoded = decodePprof(file.body.view());
  ASSERT_TRUE(decoded);
  bool conditions = false;
  for (const StringId comment : decoded->comments) {
    conditions = conditions || decoded->text(comment) == "ticks expected 2, taken 2, missed 0";
  }
  EXPECT_TRUE(conditions);
  ASSERT_EQ(agents_.all().size(), 1U);
  EXPECT_EQ(agents_.all().begin()->second.uploads, 1U);
}

TEST_F(AgentServiceTest, AnswersInTheOrderOfTheProtocol) {
  const auto id = ended();
  Upload upload = uploadOf(id);
  upload.path = "/agent/v1/profiles/UPPER/71-1?x=1";
  upload.method = Method::Get;
  EXPECT_EQ(status(upload), 404) << "the path's grammar comes first";
  upload = uploadOf(id);
  upload.path += "?x=1";
  upload.method = Method::Get;
  EXPECT_EQ(status(upload), 400) << "then the query";
  upload = uploadOf(id);
  upload.method = Method::Put;
  upload.body = std::string(kUploadBytesMax + 1, 'x');
  EXPECT_EQ(status(upload), 405) << "then the method";
  upload.method = Method::Post;
  upload.type = "text/html";
  EXPECT_EQ(status(upload), 413) << "then the length";
  upload = uploadOf(id);
  upload.type = "text/html";
  upload.secret = std::string(32, 'x');
  EXPECT_EQ(status(upload), 415) << "then the type";
  upload.type = "application/x-pprof";
  upload.coding = "br";
  EXPECT_EQ(status(upload), 415) << "and the coding";
  upload.coding = "gzip";
  upload.body = "no gzip";
  EXPECT_EQ(status(upload), 401) << "then the signature";
  upload.secret = kSecret;
  EXPECT_EQ(status(upload), 422) << "then the content";
  EXPECT_EQ(status(uploadOf(id)), 201);
  EXPECT_EQ(status(uploadOf(id)), 200);
  upload = uploadOf(id);
  upload.body = encodePprof(profile("other"));
  EXPECT_EQ(status(upload), 409);
}

TEST_F(AgentServiceTest, RefusesBombs) {
  const auto id = ended();
  Upload upload = uploadOf(id);
  upload.coding = "gzip";
  upload.body = deflateGzip(std::string(2u << 20, '\0'));
  EXPECT_EQ(status(upload), 413);
  settle();
  EXPECT_EQ(join_.find(id.text())->reason, FailReason::Oversized);
}

TEST_F(AgentServiceTest, ReadsEveryTypeAndCoding) {
  Upload collapsed = uploadOf(ended());
  collapsed.type = "text/x-collapsed";
  collapsed.body = "main;work 3\n";
  EXPECT_EQ(status(collapsed), 201);
  Upload plain = uploadOf(ended());
  plain.body = encodePprofPlain(profile());
  EXPECT_EQ(status(plain), 201);
  Upload gzip = uploadOf(ended());
  gzip.coding = "gzip";
  EXPECT_EQ(status(gzip), 201) << "a gzipped pprof file may name its coding";
}

TEST_F(AgentServiceTest, ChecksWhoSigned) {
  const auto id = ended();
  Upload upload = uploadOf(id);
  upload.secret = std::string(40, 'z');
  EXPECT_EQ(status(upload), 401);
  upload = uploadOf(id);
  upload.clock_off_ms = 301'000;
  EXPECT_EQ(status(upload), 401);
  HttpRequest call = toRequest(uploadOf(id));
  call.body.back() = static_cast<char>(call.body.back() ^ 1);
  EXPECT_EQ(status(std::move(call)), 401);
  HttpRequest twice = toRequest(uploadOf(id));
  twice.headers.push_back(twice.headers.back());
  EXPECT_EQ(status(std::move(twice)), 401);
  HttpRequest none = toRequest(uploadOf(id));
  none.headers.pop_back();
  EXPECT_EQ(status(std::move(none)), 401);
  HttpRequest other_meta = toRequest(uploadOf(id));
  for (HeaderLine& line : other_meta.headers) {
    if (line.name == "flamegate-meta") line.value = "e30";
  }
  EXPECT_EQ(status(std::move(other_meta)), 401);
}

TEST_F(AgentServiceTest, HoldsAnUploadForItsCapture) {
  const auto id = newId();
  const auto response = send(toRequest(uploadOf(id)));
  EXPECT_TRUE(executor_.runUntil([&] { return join_.stats().held_parts == 1; }));
  settle();
  EXPECT_FALSE(response->has_value());
  EXPECT_EQ(agent_service_.stats().open, 0U) << "a verified body has left the budget";
  join_.onCapture(capture(id, Phase::Begin));
  ASSERT_TRUE(executor_.runUntil([&] { return response->has_value(); }));
  EXPECT_EQ((*response)->status, 201);
}

TEST_F(AgentServiceTest, SaysWhenAnIdWasNeverIssued) {
  const auto response = send(toRequest(uploadOf(newId())));
  EXPECT_TRUE(executor_.runUntil([&] { return join_.stats().held_parts == 1; }));
  settle();
  advance(31s);
  ASSERT_TRUE(response->has_value());
  EXPECT_EQ((*response)->status, 404);
}

TEST_F(AgentServiceTest, MergesPartsOfSeveralProcesses) {
  const auto id = ended();
  EXPECT_EQ(status(uploadOf(id, "71-1")), 201);
  EXPECT_EQ(status(uploadOf(id, "72-1")), 201);
  EXPECT_EQ(join_.find(id.text())->samples, 4U);
  EXPECT_EQ(join_.find(id.text())->ticks, (Ticks{4, 4, 0}));
}

TEST_F(AgentServiceTest, RecognisesPartsInTheFileAfterARestart) {
  const auto id = ended();
  EXPECT_EQ(status(uploadOf(id)), 201);
  settle();
  Join second(executor_, *store_, assembler_, silent_,
              [](const std::string&) { return std::vector<std::string>(); });
  AgentService service(executor_, *pool_, second, agents_, keys_);
  const auto outcome = [&](const Upload& upload) {
    std::optional<ApiResponse> response;
    service.onRequest(toRequest(upload), [&](ApiResponse given) { response = std::move(given); });
    EXPECT_TRUE(executor_.runUntil([&] { return response.has_value(); }));
    return response->status;
  };
  EXPECT_EQ(outcome(uploadOf(id)), 200);
  Upload changed = uploadOf(id);
  changed.body = encodePprof(profile("other"));
  EXPECT_EQ(outcome(changed), 409);
  EXPECT_EQ(outcome(uploadOf(id, "72-1")), 201);
}

TEST_F(AgentServiceTest, LeavesOutTheCollectorWhenAskedTo) {
  const auto id = newId();
  agent::CaptureRecord begin = capture(id, Phase::Begin);
  begin.ignore_gc = true;
  join_.onCapture(begin);
  EXPECT_EQ(status(uploadOf(id)), 201);
  EXPECT_EQ(join_.find(id.text())->samples, 1U);
}

TEST_F(AgentServiceTest, LimitsUnverifiedBodies) {
  std::vector<std::unique_ptr<BodyLease>> leases;
  HeadVerdict verdict = agent_service_.onHead(toRequest(uploadOf(newId())));
  ASSERT_NE(verdict.budget, nullptr);
  for (size_t i = 0; i < AgentService::kBodiesMax; ++i) {
    leases.push_back(BodyLease::create(*verdict.budget, 1));
    EXPECT_NE(leases.back(), nullptr);
  }
  EXPECT_EQ(BodyLease::create(*verdict.budget, 1), nullptr);
  leases.clear();
  EXPECT_EQ(BodyLease::create(*verdict.budget, AgentService::kBodyBytesMax + 1), nullptr);
  const auto whole = BodyLease::create(*verdict.budget, AgentService::kBodyBytesMax);
  ASSERT_NE(whole, nullptr);
  EXPECT_FALSE(whole->growTo(AgentService::kBodyBytesMax + 1));
  EXPECT_EQ(verdict.budget->bodies(), 1U);
}

TEST_F(AgentServiceTest, IsNoPlaceForBrowsers) {
  for (const char* name : {"origin", "sec-fetch-site"}) {
    HttpRequest call = toRequest(uploadOf(ended()));
    call.headers.push_back({name, "same-origin"});
    EXPECT_EQ(status(std::move(call)), 403);
    HttpRequest health;
    health.target = "/healthz";
    health.headers.push_back({name, "none"});
    EXPECT_EQ(status(std::move(health)), 403);
  }
}

TEST_F(AgentServiceTest, TellsItsHealthAndTakesNoIngestWithoutTokens) {
  HttpRequest health;
  health.target = "/healthz";
  EXPECT_EQ(status(std::move(health)), 200);
  for (const char* target : {"/ingest?name=x", "/api/profiles/ingest"}) {
    HttpRequest push;
    push.method = Method::Post;
    push.target = target;
    push.headers.push_back({"authorization", "Bearer x"});
    EXPECT_EQ(status(std::move(push)), 401);
    HttpRequest read;
    read.target = target;
    EXPECT_EQ(status(std::move(read)), 405);
  }
  HttpRequest other;
  other.target = "/api/v1/profiles";
  EXPECT_EQ(status(std::move(other)), 404);
}

TEST_F(AgentServiceTest, HoldsAHelloAndSignsItsAnswer) {
  Upload hello;
  hello.path = "/agent/v1/hello/web-1.71";
  hello.body = R"({"agent":"python/1.0","runtime":"cpython/3.11","host":"web-1","service":"shop"})";
  const auto response = send(toRequest(hello));
  settle();
  EXPECT_FALSE(response->has_value());
  ASSERT_EQ(agents_.all().size(), 1U);
  EXPECT_EQ(agents_.all().begin()->second.host, "web-1");
  advance(46s);
  ASSERT_TRUE(response->has_value());
  EXPECT_EQ((*response)->status, 204);
  const auto auth = agent::parseAnswerAuth(*(*response)->findHeader("flamegate-auth"));
  ASSERT_TRUE(auth);
  EXPECT_TRUE(agent::verifyAnswer(*auth, "nonce-0123456789abcdef", "",
                                  agent::KeyRing(agent::AgentKeys::derive(kSecret))));
}

TEST_F(AgentServiceTest, ChecksHellos) {
  Upload hello;
  hello.path = "/agent/v1/hello/a b";
  hello.body = "{}";
  EXPECT_EQ(status(hello), 404);
  hello.path = "/agent/v1/hello/a";
  hello.method = Method::Get;
  EXPECT_EQ(status(hello), 405);
  hello.method = Method::Post;
  hello.secret = std::string(32, 'y');
  EXPECT_EQ(status(hello), 401);
  hello.secret = kSecret;
  hello.body = "[]";
  EXPECT_EQ(status(hello), 400);
}

}  // namespace
}  // namespace flamegate::control
