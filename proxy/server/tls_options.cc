#include "proxy/server/tls_options.h"

namespace flamegate::proxy {
namespace {

constexpr const char* kHttp1 = "http/1.1";
constexpr const char* kHttp2 = "h2";

std::vector<std::string> alpnOf(const config::ListenerTls& tls) {
  std::vector<std::string> names;
  for (config::Alpn protocol : tls.alpn) {
    names.emplace_back(protocol == config::Alpn::H2 ? kHttp2 : kHttp1);
  }
  return names;
}

std::vector<std::string> alpnOf(config::UpstreamProtocol protocol) {
  switch (protocol) {
    case config::UpstreamProtocol::Http11:
      return {kHttp1};
    case config::UpstreamProtocol::H2:
      return {kHttp2};
    case config::UpstreamProtocol::Auto:
      break;
  }
  return {kHttp2, kHttp1};
}

}  // namespace

Result<std::unique_ptr<TlsListener>> makeTlsListener(const config::Listener& listener,
                                                     std::shared_ptr<TlsTicketKeys> tickets) {
  if (!listener.tls) return std::unique_ptr<TlsListener>();
  const config::ListenerTls& tls = *listener.tls;
  TlsListener::Options options;
  for (const config::ServerCertificate& files : tls.certificates) {
    options.identities.push_back({files.cert, files.key, files.ocsp.value_or("")});
  }
  options.client_authorities = tls.client_ca.value_or("");
  options.client_required = tls.client_auth == config::ClientAuth::Required;
  options.allow_tls12 = tls.min_version == config::TlsVersion::Tls12;
  options.alpn = alpnOf(tls);
  return TlsListener::create(std::move(options), std::move(tickets));
}

Result<std::shared_ptr<TlsConnector>> makeTlsConnector(const config::Cluster& cluster) {
  if (!cluster.tls) return std::shared_ptr<TlsConnector>();
  const config::ClusterTls& tls = *cluster.tls;
  TlsConnector::Options options;
  options.verify = tls.verify;
  options.authorities = tls.ca.value_or("");
  if (tls.certificate) {
    options.identity = TlsIdentityFiles{tls.certificate->cert, tls.certificate->key, ""};
  }
  options.alpn = alpnOf(cluster.protocol);
  auto connector = TlsConnector::create(std::move(options));
  if (!connector) return fail(std::move(connector.error()));
  return std::shared_ptr<TlsConnector>(std::move(*connector));
}

}  // namespace flamegate::proxy
