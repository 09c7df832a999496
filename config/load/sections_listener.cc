#include "config/load/bindings.h"
#include "config/load/sections.h"

namespace flamegate::config {
namespace {

constexpr size_t kCertificatesMax = 1000;
constexpr size_t kNetworksMax = 1000;

constexpr std::array<Word<TlsVersion>, 2> kTlsVersions = {
    {{"1.2", TlsVersion::Tls12}, {"1.3", TlsVersion::Tls13}}};
constexpr std::array<Word<ClientAuth>, 2> kClientAuths = {
    {{"required", ClientAuth::Required}, {"optional", ClientAuth::Optional}}};
constexpr std::array<Word<Alpn>, 2> kAlpns = {{{"h2", Alpn::H2}, {"http/1.1", Alpn::Http11}}};

void describeCertificate(Visitor& v, ServerCertificate& files) {
  v.key("cert", Need::Required, filePath(files.cert));
  v.key("key", Need::Required, filePath(files.key));
  v.key("ocsp", optionalFilePath(files.ocsp));
}

}  // namespace

void describeListenerTls(Visitor& v, ListenerTls& tls) {
  v.key("certificates", Need::Required,
        sectionList(tls.certificates, {.size_max = kCertificatesMax, .needed = true},
                    describeCertificate));
  v.key("client_ca", optionalFilePath(tls.client_ca));
  v.key("client_auth", choice(tls.client_auth, kClientAuths));
  v.needs("client_auth", "client_ca");
  v.key("min_version", choice(tls.min_version, kTlsVersions));
  v.key("alpn", scalarList<Alpn>(tls.alpn, {.size_max = kAlpns.size(), .needed = true},
                                 [](Alpn& protocol) { return choice(protocol, kAlpns); }));
}

void describeListener(Visitor& v, Listener& listener) {
  v.key("address", Need::Required, listenAddress(listener.address));
  v.key("tls", optionalSection(listener.tls, describeListenerTls));
  v.key("proxy_protocol", flag(listener.proxy_protocol));
  v.key("trusted_proxies",
        scalarList<Cidr>(listener.trusted_proxies, {.size_max = kNetworksMax}, cidr));
}

}  // namespace flamegate::config
