#include "control/control.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <sys/stat.h>

#include "agent-protocol/token/secret.h"
#include "control/store/create_store.h"
#include "proxy/base/log.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Result;

constexpr int kBacklog = 256;
constexpr size_t kJobsMax = 256;  // waiting for the pool
constexpr size_t kAgentConnectionsMax = 2'048;

size_t poolThreads(const config::Config& config) {
  if (config.control.threads > 0) return config.control.threads;
  return std::max(1U, std::thread::hardware_concurrency());
}

Result<agent::SessionKeyRing> readSessionKeys(const config::Profiling& profiling) {
  Result<std::string> secret = agent::readOrCreateSecretFile(profiling.session_secret_file);
  if (!secret) return proxy::fail(std::move(secret.error()));
  std::optional<agent::SessionKeys> previous;
  if (profiling.previous_session_secret_file) {
    Result<std::string> old = agent::readSecretFile(*profiling.previous_session_secret_file);
    if (!old) return proxy::fail(std::move(old.error()));
    previous = agent::SessionKeys::derive(*old);
  }
  return agent::SessionKeyRing(agent::SessionKeys::derive(*secret), std::move(previous));
}

// The file mode of a unix socket is that of its making.
class PrivateUmask {
 public:
  PrivateUmask() : previous_(umask(0177)) {}
  ~PrivateUmask() { umask(previous_); }
  PrivateUmask(const PrivateUmask&) = delete;
  PrivateUmask& operator=(const PrivateUmask&) = delete;

 private:
  const mode_t previous_;
};

Result<proxy::UniqueFd> listenAt(const std::string& text) {
  Result<proxy::Address> address = proxy::Address::parse(text);
  if (!address) return proxy::fail(std::move(address.error()));
  const PrivateUmask umask_guard;
  return proxy::listenOn(*address, false, kBacklog);
}

Result<std::string> apiAddressText(const config::Config& config, const ControlOptions& options) {
  if (!options.socket_path.empty()) return "unix:" + options.socket_path;
  if (config.control.address) return config::formatAddress(*config.control.address);
  return proxy::fail(ErrorCode::Unsupported, ErrorSource::Config,
                     "control.address is auto: nobody could find this process");
}

Result<std::unique_ptr<proxy::TlsListener>> createTls(
    const std::optional<config::ListenerTls>& tls) {
  if (!tls) return std::unique_ptr<proxy::TlsListener>();
  proxy::TlsListener::Options options;
  for (const config::ServerCertificate& files : tls->certificates) {
    options.identities.push_back({files.cert, files.key, files.ocsp.value_or("")});
  }
  options.client_authorities = tls->client_ca.value_or("");
  options.client_required = tls->client_auth == config::ClientAuth::Required;
  options.allow_tls12 = tls->min_version == config::TlsVersion::Tls12;
  options.alpn = {"http/1.1"};
  return proxy::TlsListener::create(std::move(options), std::make_shared<proxy::TlsTicketKeys>());
}

}  // namespace

struct Control::Parts {
  AgentKeySet agent_keys;
  agent::SessionKeyRing session_keys;
  std::unique_ptr<proxy::TlsListener> agent_tls;
  std::unique_ptr<Store> store;
};

Result<std::unique_ptr<Control>> Control::create(proxy::EventLoop& loop,
                                                 const config::Config& config,
                                                 const ControlOptions& options) {
  Result<std::string> api_address = apiAddressText(config, options);
  if (!api_address) return proxy::fail(std::move(api_address.error()));
  Result<AgentKeySet> agent_keys = AgentKeySet::create(config);
  if (!agent_keys) return proxy::fail(std::move(agent_keys.error()));
  Result<agent::SessionKeyRing> session_keys = readSessionKeys(config.profiling);
  if (!session_keys) return proxy::fail(std::move(session_keys.error()));
  auto agent_tls = createTls(config.control.agents.tls);
  if (!agent_tls) return proxy::fail(std::move(agent_tls.error()));
  Result<proxy::UniqueFd> api_socket = listenAt(*api_address);
  if (!api_socket) return proxy::fail(std::move(api_socket.error()));
  Result<proxy::UniqueFd> agent_socket =
      listenAt(config::formatAddress(config.control.agents.address));
  if (!agent_socket) return proxy::fail(std::move(agent_socket.error()));
  Result<std::unique_ptr<Store>> store = createStore(config.store);
  if (!store) return proxy::fail(std::move(store.error()));

  std::unique_ptr<Control> control(new Control(loop, config, options,
                                               {std::move(*agent_keys), std::move(*session_keys),
                                                std::move(*agent_tls), std::move(*store)}));
  auto api_server = HttpServer::create(loop, std::move(*api_socket), control->api_service_);
  if (!api_server) return proxy::fail(std::move(api_server.error()));
  auto agent_server = HttpServer::create(
      loop, std::move(*agent_socket), control->agent_service_,
      {.connections_max = kAgentConnectionsMax, .tls = control->agent_tls_.get()});
  if (!agent_server) return proxy::fail(std::move(agent_server.error()));
  control->api_server_ = std::move(*api_server);
  control->agent_server_ = std::move(*agent_server);
  control->join_.recover();
  return control;
}

Control::Control(proxy::EventLoop& loop, const config::Config& config,
                 const ControlOptions& options, Parts parts)
    : executor_(loop),
      agent_keys_(std::move(parts.agent_keys)),
      session_keys_(std::move(parts.session_keys)),
      agent_tls_(std::move(parts.agent_tls)),
      store_(std::move(parts.store)),
      pageviews_(executor_.wallNow()),
      pool_(std::make_unique<proxy::ThreadPool>(poolThreads(config), kJobsMax)),
      assembler_(executor_, *pool_),
      join_(executor_, *store_, assembler_, *this,
            [this](const std::string& service) { return agent_keys_.kidsOf(service); }),
      records_(executor_, *store_, join_),
      agent_service_(executor_, *pool_, join_, agents_, agent_keys_),
      services_{executor_,
                *store_,
                *pool_,
                join_,
                records_,
                pageviews_,
                agents_,
                agent_service_,
                config.profiling.prefix,
                config.profiling.policy.public_url.value_or(""),
                options.version,
                ui::consolePage(config.profiling.prefix)},
      api_service_(services_, session_keys_) {}

Control::~Control() {
  api_server_.reset();
  agent_server_.reset();
  pool_.reset();
}

void Control::onRecord(const ProfileRecord& record) {
  records_.onRecord(record);
  pageviews_.onRecord(record);
}

void Control::drain() {
  api_server_->drain();
  agent_server_->drain();
}

}  // namespace flamegate::control
