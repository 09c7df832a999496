// The head of an upload as the agents' listener judges it, and, where it passes, the check of its
// body with a signature that is made to fit. Input: lines "target", "name: value", …, an empty
// line, the body.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/api/agent_service.h"
#include "control/assembly.h"
#include "control/store/create_store.h"
#include "proxy/base/check.h"
#include "proxy/base/strings.h"
#include "tests/control/api/fake_executor.h"

namespace flamegate::control {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

class Rig final : private JoinEvents {
 public:
  AgentService service() { return AgentService(executor, pool_, join_, agents_, keys); }

  FakeExecutor executor;
  const AgentKeySet keys{{agent::KeyRing(agent::AgentKeys::derive(kSecret))}, {{"shop", 0}}};

 private:
  static std::unique_ptr<Store> createMemoryStore() {
    config::Store config;
    config.kind = config::Store::Kind::Memory;
    return std::move(*createStore(config));
  }
  void onRecord(const ProfileRecord&) override {}

  std::unique_ptr<Store> store_ = createMemoryStore();
  proxy::ThreadPool pool_{1, 1};
  PoolAssembler assembler_{executor, pool_};
  Join join_{executor, *store_, assembler_, *this,
             [](const std::string&) { return std::vector<std::string>(); }};
  AgentsSeen agents_;
};

std::string_view takeLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

HttpRequest toRequest(std::string_view input) {
  HttpRequest request;
  request.method = proxy::Method::Post;
  request.method_text = "POST";
  request.target = takeLine(input);
  while (!input.empty()) {
    const std::string_view line = takeLine(input);
    if (line.empty()) break;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    request.headers.push_back({std::string(line.substr(0, colon)),
                               std::string(proxy::trimBlanks(line.substr(colon + 1)))});
  }
  request.body = input;
  request.content_length = input.size();
  return request;
}

void checkBody(Rig& rig, const HttpRequest& request) {
  const auto path = agent::parseUploadPath(request.target);
  const std::string meta = request.header("flamegate-meta");
  const proxy::Sha256 hash = proxy::sha256(request.body);
  const int64_t now = rig.executor.wallNow().time_since_epoch().count();
  UploadHead head{
      .id = path->id,
      .part = std::string(path->part),
      .path = request.target,
      .content_type = request.header("content-type"),
      .content_coding = request.header("content-encoding"),
      .auth = agent::signUpload({"POST", request.target, proxy::asView(hash), meta}, now,
                                "0123456789abcdef", agent::AgentKeys::derive(kSecret)),
      .meta = meta};
  const UploadVerdict verdict = checkUpload(head, request.body, now, rig.keys);
  CHECK((verdict.part != nullptr) == (verdict.fault.code.empty()));
  CHECK(verdict.part != nullptr || verdict.fault.verified);
}

}  // namespace
}  // namespace flamegate::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flamegate::control;
  static Rig rig;
  const HttpRequest request = toRequest({reinterpret_cast<const char*>(data), size});
  AgentService service = rig.service();
  const HeadVerdict verdict = service.onHead(request);
  const bool is_upload = flamegate::agent::parseUploadPath(request.target).has_value();
  if (is_upload && isUploadType(request.header("content-type")) &&
      isUploadCoding(request.header("content-encoding"))) {
    checkBody(rig, request);
  }
  CHECK(verdict.answer.has_value() || verdict.body_bytes_max > 0);
  return 0;
}
