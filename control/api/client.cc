#include "control/api/client.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "agent-protocol/token/client_token.h"
#include "agent-protocol/token/control_call.h"
#include "agent-protocol/token/secret.h"
#include "agent-protocol/wire/profile_id.h"
#include "control/api/http_fetch.h"
#include "control/api/target.h"
#include "control/profiles/export.h"
#include "control/profiles/pprof.h"
#include "control/store/create_store.h"
#include "proxy/base/clock.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using proxy::ErrorSource;
using proxy::Result;

constexpr std::chrono::seconds kPatience{75};  // more than the server holds a wait
constexpr std::chrono::minutes kTokenTtl{2};

tl::unexpected<proxy::Error> notFound(std::string why) {
  return proxy::fail(ErrorCode::NotFound, ErrorSource::Client, std::move(why));
}

std::string downloadTarget(const config::Config& config, const std::string& id,
                           const std::string& format) {
  return config.profiling.prefix + "/api/v1/profiles/" + id +
         "/download?wait=60s&format=" + percentEncode(format);
}

// The file, or the message of the API's error.
Result<std::string> fileOf(Result<FetchAnswer> answer) {
  if (!answer) return proxy::fail(std::move(answer.error()));
  if (answer->status == 200) return std::move(answer->body);
  const auto body = nlohmann::json::parse(answer->body, nullptr, false);
  std::string message = "the answer is " + std::to_string(answer->status);
  if (body.is_object() && body.contains("error") && body["error"].is_object()) {
    message = body["error"].value("message", message);
  }
  return proxy::fail(answer->status == 404 ? ErrorCode::NotFound : ErrorCode::Refused,
                     ErrorSource::Client, std::move(message));
}

Result<agent::SessionKeys> readKeys(const config::Config& config) {
  Result<std::string> secret = agent::readSecretFile(config.profiling.session_secret_file);
  if (!secret) return proxy::fail(std::move(secret.error()));
  return agent::SessionKeys::derive(*secret);
}

Result<std::string> getFromControl(const config::Config& config, const config::Address& where,
                                   const std::string& target) {
  Result<proxy::Address> address = proxy::Address::parse(config::formatAddress(where));
  if (!address) return proxy::fail(std::move(address.error()));
  const Result<agent::SessionKeys> keys = readKeys(config);
  if (!keys) return proxy::fail(keys.error());
  const agent::ControlCall call{agent::Right::View, "flamegate get", "localhost", false};
  const std::string field = agent::signCall(call, "GET", target, proxy::unixMillis(), *keys);
  return fileOf(fetch(*address, target, {{std::string(agent::kCallName), field}}, kPatience));
}

// Where a client on this machine reaches a listener; nothing for TLS and for names.
std::optional<proxy::Address> reachable(const config::Listener& listener) {
  if (listener.tls) return std::nullopt;
  config::Address address = listener.address;
  if (address.host == "0.0.0.0" || address.host == "localhost") address.host = "127.0.0.1";
  if (address.host == "::") address.host = "::1";
  Result<proxy::Address> parsed = proxy::Address::parse(config::formatAddress(address));
  if (!parsed) return std::nullopt;
  return *parsed;
}

Result<std::string> getFromProxy(const config::Config& config, const std::string& target) {
  const Result<agent::SessionKeys> keys = readKeys(config);
  if (!keys) return proxy::fail(ErrorCode::Unavailable, ErrorSource::Client, keys.error().detail);
  const Result<agent::TokenClaims> claims = agent::createClaims(
      agent::Right::View, kTokenTtl, "flamegate get", "", proxy::unixMillis() / 1000);
  if (!claims) return proxy::fail(claims.error());
  const std::string token = agent::mintToken(*claims, *keys);
  for (const config::Listener& listener : config.listeners) {
    const std::optional<proxy::Address> address = reachable(listener);
    if (!address) continue;
    Result<FetchAnswer> answer = fetch(*address, target, {{"Flamegate-Token", token}}, kPatience);
    if (answer || answer.error().code != ErrorCode::Unavailable) return fileOf(std::move(answer));
  }
  return proxy::fail(ErrorCode::Unavailable, ErrorSource::Client,
                     "no clear-text listener of the proxy answers");
}

template <typename T, typename Call>
Result<T> blockOn(Call call) {
  const auto promise = std::make_shared<std::promise<Result<T>>>();
  call([promise](Result<T> result) { promise->set_value(std::move(result)); });
  return promise->get_future().get();
}

Result<std::string> getFromStore(const config::Config& config, const std::string& id,
                                 const ExportFormat& format) {
  Result<std::unique_ptr<Store>> store = createStore(config.store);
  if (!store) return proxy::fail(std::move(store.error()));
  Result<ProfileRecord> record = blockOn<ProfileRecord>(
      [&](Done<ProfileRecord> done) { (*store)->find(id, std::move(done)); });
  if (!record) return proxy::fail(std::move(record.error()));
  if (record->state != ProfileState::Stored) {
    return notFound("the profile is " + std::string(nameOf(record->state)));
  }
  Result<std::string> body =
      blockOn<std::string>([&](Done<std::string> done) { (*store)->body(id, std::move(done)); });
  if (!body || format.name == "pprof") return body;
  const Result<Profile> profile = decodePprof(*body);
  if (!profile) return proxy::fail(profile.error());
  return format.write(*profile, {id, record->route});
}

Result<> writeFile(const std::string& path, const std::string& bytes) {
  std::FILE* const file = path.empty() ? stdout : std::fopen(path.c_str(), "wb");
  bool written =
      file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr)
    written = (path.empty() ? std::fflush(file) : std::fclose(file)) == 0 && written;
  if (written) return {};
  return proxy::fail(ErrorCode::Io, ErrorSource::Client,
                     (path.empty() ? "standard output" : path) + ": " + std::strerror(errno));
}

}  // namespace

Result<std::string> getProfile(const config::Config& config, const std::string& id,
                               const std::string& format) {
  const ExportFormat* const known = findExportFormat(format);
  if (known == nullptr) {
    return proxy::fail(ErrorCode::Unsupported, ErrorSource::Client, "no format " + format);
  }
  if (!agent::ProfileId::parse(id)) return notFound("not a profile's id: " + id);
  const std::string target = downloadTarget(config, id, format);
  if (config.control.address) return getFromControl(config, *config.control.address, target);
  Result<std::string> file = getFromProxy(config, target);
  if (file || file.error().code != ErrorCode::Unavailable) return file;
  return getFromStore(config, id, *known);
}

int runGet(const config::Config& config, const GetRequest& request) {
  const Result<std::string> file = getProfile(config, request.id, request.format);
  const Result<> written =
      file ? writeFile(request.out, *file) : Result<>(proxy::fail(file.error()));
  if (written) return 0;
  std::fprintf(stderr, "flamegate: %s\n", written.error().detail.c_str());
  return 1;
}

}  // namespace flamegate::control
