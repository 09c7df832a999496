// Control with its sockets, on a loop of its own, spoken to by a blocking client.
#include "control/control.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "agent-protocol/wire/meta.h"
#include "control/api/client.h"
#include "control/profiles/builder.h"
#include "control/profiles/pprof.h"

namespace flamegate::control {
namespace {

using agent::CaptureRecord;
using nlohmann::json;

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kSessionSecret = "fedcba9876543210fedcba9876543210";

struct Reply {
  int status = 0;
  std::string head;
  std::string body;

  json parsed() const { return json::parse(body, nullptr, false); }
};

// A blocking client connection.
class Client {
 public:
  explicit Client(const proxy::Address& address)
      : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{20, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(::connect(fd_.get(), address.get(), address.size()), 0) << address.toString();
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Everything up to the end of input, taken as one reply.
  Reply readToEnd() {
    std::string input;
    char chunk[16384];
    for (ssize_t got; (got = ::recv(fd_.get(), chunk, sizeof chunk, 0)) > 0;) {
      input.append(chunk, static_cast<size_t>(got));
    }
    if (input.starts_with("HTTP/1.1 100")) input.erase(0, input.find("\r\n\r\n") + 4);
    const size_t end = input.find("\r\n\r\n");
    if (end == std::string::npos) return {};
    return {std::stoi(input.substr(9, 3)), input.substr(0, end), input.substr(end + 4)};
  }

 private:
  proxy::UniqueFd fd_;
};

class ControlTest : public testing::Test {
 protected:
  ControlTest() {
    std::string name = testing::TempDir() + "flamegate-control-XXXXXX";
    dir_ = mkdtemp(name.data());
    std::ofstream(dir_ + "/agent.key") << kSecret;
    std::ofstream(dir_ + "/session.key") << kSessionSecret;
    config_.store.kind = config::Store::Kind::Memory;
    config_.control.agents.address = config::Address::tcp("127.0.0.1", 0);
    config_.control.address = config::Address::unixSocket(dir_ + "/control.sock");
    config_.control.threads = 1;
    config_.profiling.secret_file = dir_ + "/agent.key";
    config_.profiling.session_secret_file = dir_ + "/session.key";
    config::Cluster cluster;
    cluster.name = cluster.service = "shop";
    config_.clusters.push_back(cluster);
    loop_ = std::move(*proxy::EventLoop::create());
    auto created =
        Control::create(*loop_, config_, {.socket_path = {}, .parent_pid = 0, .version = "1"});
    EXPECT_TRUE(created) << created.error().detail;
    control_ = std::move(*created);
    api_ = control_->apiAddress();
    agents_ = control_->agentAddress();
    thread_ = std::thread([this] { loop_->run(); });
  }
  ~ControlTest() override {
    loop_->stop();
    thread_.join();
    control_.reset();
    std::filesystem::remove_all(dir_);
  }

  // ---- Calls of the proxy -----------------------------------------------------------------------

  static std::string callText(const std::string& method, const std::string& target,
                              const std::string& body = "") {
    const agent::ControlCall call{agent::Rights::all(), "", "shop.example", false};
    const std::string field = agent::signCall(call, method, target, proxy::unixMillis(),
                                              agent::SessionKeys::derive(kSessionSecret));
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: c\r\nConnection: close\r\n";
    text += "Flamegate-Call: " + field + "\r\n";
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return text + "\r\n" + body;
  }
  Reply call(const std::string& method, const std::string& target, const std::string& body = "") {
    Client client(api_);
    client.send(callText(method, target, body));
    return client.readToEnd();
  }
  Reply get(const std::string& target) { return call("GET", "/__flamegate/" + target); }

  static CaptureRecord capture(const agent::ProfileId& id, CaptureRecord::Phase phase) {
    CaptureRecord record;
    record.phase = phase;
    record.id = id;
    record.method = "GET";
    record.path = "/cart";
    record.service = "shop";
    record.kids = {agent::AgentKeys::derive(kSecret).kid};
    record.started_at_ms = static_cast<uint64_t>(proxy::unixMillis());
    record.status = 200;
    return record;
  }
  static std::string lines(const agent::ProfileId& id) {
    return agent::formatCaptureRecord(capture(id, CaptureRecord::Phase::Begin)) + "\n" +
           agent::formatCaptureRecord(capture(id, CaptureRecord::Phase::End)) + "\n";
  }

  // ---- Uploads of agents ------------------------------------------------------------------------

  static std::string pprofFile() {
    ProfileBuilder builder;
    builder.valueColumn("samples", "count");
    const FrameId frame[] = {builder.frame(builder.function("work", "app.py", 1), 2)};
    const int64_t values[] = {1};
    builder.addSample({.node = builder.stack(frame)}, values);
    return encodePprof(*builder.take());
  }
  static std::string uploadHead(const agent::ProfileId& id, std::string_view body) {
    const std::string path =
        std::string(agent::kUploadPathPrefix) + std::string(id.text()) + "/71-1";
    const proxy::Sha256 hash = proxy::sha256(body);
    const agent::UploadFacts facts{"POST", path, proxy::asView(hash), {}};
    const agent::UploadAuth auth = agent::signUpload(facts, proxy::unixMillis(), "0123456789abcdef",
                                                     agent::AgentKeys::derive(kSecret));
    return "POST " + path +
           " HTTP/1.1\r\nHost: c\r\nConnection: close\r\nContent-Type: application/x-pprof\r\n"
           "Flamegate-Auth: " +
           auth.format() + "\r\n";
  }
  static std::string uploadText(const agent::ProfileId& id, const std::string& body) {
    return uploadHead(id, body) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }
  Reply upload(const agent::ProfileId& id) {
    Client client(agents_);
    client.send(uploadText(id, pprofFile()));
    return client.readToEnd();
  }

  // Asks for the status until it says so; a condition that never holds ends at the test's timeout.
  template <typename Condition>
  void untilStatus(Condition condition) {
    while (!condition(get("api/v1/status").parsed())) std::this_thread::yield();
  }

  static agent::ProfileId newId() { return agent::ProfileId::issue(proxy::unixMillis()); }

  std::string dir_;
  config::Config config_;
  std::unique_ptr<proxy::EventLoop> loop_;
  std::unique_ptr<Control> control_;
  proxy::Address api_;
  proxy::Address agents_;
  std::thread thread_;
};

TEST_F(ControlTest, ServesAProfileFromCaptureToDownload) {
  const auto id = newId();
  const std::string name(id.text());
  const Reply taken = call("POST", "/internal/v1/captures", lines(id) + "not a record\n");
  EXPECT_EQ(taken.status, 200);
  EXPECT_EQ(taken.parsed(), json({{"accepted", 2}, {"rejected", 1}}));
  EXPECT_EQ(get("api/v1/profiles/" + name).parsed()["state"], "waiting");
  EXPECT_EQ(get("api/v1/profiles/" + name + "/download").status, 409);
  EXPECT_EQ(upload(id).status, 201);
  const Reply file = get("api/v1/profiles/" + name + "/download");
  EXPECT_EQ(file.status, 200);
  EXPECT_TRUE(decodePprof(file.body));
  EXPECT_EQ(get("api/v1/profiles").parsed()["total"], 1);
  EXPECT_EQ(get("api/v1/status").parsed()["uploads"]["answers"]["201"], 1);
}

TEST_F(ControlTest, WakesTheOneWhoWaits) {
  const auto id = newId();
  Client waiting(api_);
  waiting.send(callText("GET", "/__flamegate/api/v1/profiles/" + std::string(id.text()) +
                                   "/download?wait=20s&format=collapsed"));
  untilStatus([](const json& status) { return status["queue"]["waiting"] == 1; });
  Client uploading(agents_);
  uploading.send(uploadText(id, pprofFile()));
  untilStatus([](const json& status) { return status["captures"]["held_parts"] == 1; });
  call("POST", "/internal/v1/captures", lines(id));
  EXPECT_EQ(uploading.readToEnd().status, 201);
  const Reply file = waiting.readToEnd();
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, "work 1\n");
}

TEST_F(ControlTest, SurvivesThoseWhoLeave) {
  const auto id = newId();
  {
    Client waiting(api_);
    waiting.send(
        callText("GET", "/__flamegate/api/v1/profiles/" + std::string(id.text()) + "?wait=20s"));
    untilStatus([](const json& status) { return status["queue"]["waiting"] == 1; });
  }
  {
    Client half(agents_);
    half.send(uploadHead(id, "x") + "Content-Length: 100000\r\n\r\nsome");
    untilStatus([](const json& status) { return status["uploads"]["open"] == 1; });
  }
  untilStatus([](const json& status) { return status["uploads"]["open"] == 0; });
  call("POST", "/internal/v1/captures", lines(id));
  EXPECT_EQ(upload(id).status, 201);
  untilStatus([](const json& status) { return status["queue"]["waiting"] == 0; });
}

TEST_F(ControlTest, RefusesCallsThatTheProxyDidNotSign) {
  const std::string signed_call = callText("GET", "/__flamegate/api/v1/profiles");
  const auto status = [&](std::string text) {
    Client client(api_);
    client.send(text);
    return client.readToEnd().status;
  };
  EXPECT_EQ(status(signed_call), 200);
  EXPECT_EQ(status("GET /__flamegate/ HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n"), 403);
  EXPECT_EQ(status("POST /internal/v1/captures HTTP/1.1\r\nHost: c\r\nConnection: close\r\n"
                   "Content-Length: 1\r\n\r\n\n"),
            403);
  std::string other_target = signed_call;
  other_target.replace(other_target.find("profiles"), 8, "status");
  EXPECT_EQ(status(other_target), 403);
  std::string twice = signed_call;
  const size_t at = twice.find("Flamegate-Call");
  twice.insert(at, twice.substr(at, twice.find("\r\n", at) + 2 - at));
  EXPECT_EQ(status(twice), 403);
}

TEST_F(ControlTest, AnswersPathsAroundThePrefix) {
  const Reply bare = call("GET", "/__flamegate");
  EXPECT_EQ(bare.status, 308);
  EXPECT_NE(bare.head.find("/__flamegate/"), std::string::npos);
  EXPECT_EQ(get("").status, 200);
  EXPECT_EQ(get("profiles").status, 200);
  EXPECT_EQ(call("GET", "/").status, 404);
  EXPECT_EQ(call("GET", "/__flamegatex/").status, 404);
  EXPECT_EQ(get("api/v1/%zz").status, 400);
  EXPECT_EQ(get("api/v1/../status").status, 400);
  EXPECT_EQ(get("internal/v1/rules").status, 404);
  EXPECT_EQ(call("GET", "/internal/v1/rules").parsed(), json({{"revoked", json::array()}}));
  EXPECT_EQ(call("GET", "/internal/v1/none").status, 404);
  EXPECT_EQ(
      call("GET", "/mini-profiler-resources/flamegraph?id=" + std::string(newId().text())).status,
      404);
  const Reply head = call("HEAD", "/__flamegate/profiles");
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.body.empty());
  EXPECT_NE(head.head.find("content-length: "), std::string::npos);
}

TEST_F(ControlTest, LimitsChunkedBodies) {
  const auto id = newId();
  Client client(agents_);
  client.send(uploadHead(id, "") + "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "100000\r\n" + std::string(0x100000, 'x') + "\r\n";
  for (int i = 0; i < 5; ++i) client.send(chunk);
  client.send("0\r\n\r\n");
  EXPECT_EQ(client.readToEnd().status, 413);
  untilStatus([](const json& status) { return status["uploads"]["open"] == 0; });
}

TEST_F(ControlTest, TakesChunkedUploadsAndContinues) {
  const auto id = newId();
  call("POST", "/internal/v1/captures", lines(id));
  const std::string body = pprofFile();
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", body.size());
  Client client(agents_);
  client.send(uploadHead(id, body) + "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  client.send(size + body + "\r\n0\r\n\r\n");
  EXPECT_EQ(client.readToEnd().status, 201);
}

TEST_F(ControlTest, GivesProfilesToTheCommandLine) {
  const auto id = newId();
  call("POST", "/internal/v1/captures", lines(id));
  upload(id);
  const auto text = getProfile(config_, std::string(id.text()), "collapsed");
  ASSERT_TRUE(text) << text.error().detail;
  EXPECT_EQ(*text, "work 1\n");
  EXPECT_FALSE(getProfile(config_, std::string(id.text()), "jpeg"));
  EXPECT_EQ(getProfile(config_, "x", "pprof").error().code, proxy::ErrorCode::NotFound);
}

TEST_F(ControlTest, KeepsItsSocketToItself) {
  struct stat facts {};
  ASSERT_EQ(stat((dir_ + "/control.sock").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
}

TEST_F(ControlTest, DrainsBeforeItEnds) {
  Client idle(api_);
  idle.send("GET /__flamegate/ HTTP/1.1\r\nHost: c\r\n\r\n");
  untilStatus([](const json& status) { return status.contains("version"); });
  std::atomic<bool> drained{false};
  loop_->post([&] {
    control_->drain();
    drained = true;
  });
  EXPECT_EQ(idle.readToEnd().status, 403) << "answered, then closed";
  while (!drained) std::this_thread::yield();
}

}  // namespace
}  // namespace flamegate::control
