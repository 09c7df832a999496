#include "proxy/server/tls_options.h"

namespace flamegate::proxy {
namespace {

std::vector<std::string> alpnOf(const config::ListenerTls& tls) {
  std::vector<std::string> names;
  for (config::Alpn protocol : tls.alpn) {
    names.emplace_back(protocol == config::Alpn::H2 ? "h2" : "http/1.1");
  }
  return names;
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

}  // namespace flamegate::proxy
