#include "proxy/net/tls_server.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <unordered_map>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "proxy/base/check.h"
#include "proxy/base/strings.h"
#include "proxy/net/tls_material.h"
#include "proxy/net/tls_transport.h"

namespace flamegate::proxy {
namespace {

using Identity = std::shared_ptr<const TlsIdentity>;
using Identities = std::vector<Identity>;  // at most one of a type of key

// A client's certificate is not looked at again on resumption, so it is asked for more often.
constexpr std::chrono::seconds kTicketLifetimeOfClients = std::chrono::hours(1);
// RFC 1035 §2.3.4.
constexpr size_t kHostNameBytesMax = 253;

// One certificate, or several for the same name.
struct Choice {
  SslContextPtr context;
  Identities identities;

  bool covers(std::string_view host) const {
    return std::any_of(identities.begin(), identities.end(),
                       [host](const Identity& identity) { return identity->covers(host); });
  }
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

void addIfNewType(Identities& into, const Identity& identity) {
  const int type = identity->material().keyType();
  const bool known = std::any_of(into.begin(), into.end(), [type](const Identity& each) {
    return each->material().keyType() == type;
  });
  if (!known) into.push_back(identity);
}

// "*.example.com" for "www.example.com"; empty when it has but one label.
std::string wildcardOf(std::string_view name) {
  const size_t dot = name.find('.');
  return dot == std::string_view::npos ? "" : "*" + std::string(name.substr(dot));
}

// For each name the certificates that have it, the first of each type of key. A name that is there
// for one type only takes the others from the wildcard above it.
std::map<std::string, Identities> groupByName(const Identities& identities) {
  std::map<std::string, Identities> groups;
  for (const Identity& identity : identities) {
    for (const std::string& name : identity->names()) addIfNewType(groups[name], identity);
  }
  for (auto& [name, group] : groups) {
    const auto above = groups.find(wildcardOf(name));
    if (name.starts_with("*.") || above == groups.end()) continue;
    for (const Identity& identity : above->second) addIfNewType(group, identity);
  }
  return groups;
}

// `host` in lower case into `room`; empty when it is none.
std::string_view lowerCase(std::string_view host, char (&room)[kHostNameBytesMax]) {
  if (host.size() > sizeof room) return {};
  std::transform(host.begin(), host.end(), room, toLowerAscii);
  return {room, host.size()};
}

}  // namespace

// ---- State --------------------------------------------------------------------------------------

// What the callbacks of OpenSSL work with; each connection keeps it alive.
struct TlsServerContext::State {
  std::vector<std::unique_ptr<Choice>> choices;  // the first is the default
  // By name, `*.` for wildcards.
  std::unordered_map<std::string, const Choice*, TextHash, std::equal_to<>> by_name;
  std::string alpn;
  std::shared_ptr<TlsTicketKeys> tickets;

  // The choice for a name in lower case; null: nobody has it.
  const Choice* find(std::string_view name) const {
    if (const auto exact = by_name.find(name); exact != by_name.end()) return exact->second;
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos || dot == 0 || name.size() - dot >= kHostNameBytesMax)
      return nullptr;
    char wildcard[kHostNameBytesMax + 1] = {'*'};
    std::memcpy(wildcard + 1, name.data() + dot, name.size() - dot);
    const auto found = by_name.find(std::string_view(wildcard, name.size() - dot + 1));
    return found == by_name.end() ? nullptr : found->second;
  }

  const Choice& choiceOf(const SSL* ssl) const {
    const SSL_CTX* context = SSL_get_SSL_CTX(ssl);
    for (const auto& choice : choices) {
      if (choice->context.get() == context) return *choice;
    }
    return *choices.front();
  }

  Result<> build(const TlsServerOptions& options);
  Result<const Choice*> choose(const Identities& identities, const TlsServerOptions& options);

  static const State& of(const SSL* ssl) {
    return *static_cast<const State*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  }
  static int onServerName(SSL* ssl, int*, void*);
  static int onAlpn(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*);
  static int onStatusRequest(SSL* ssl, void*);
  static int onTicket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                      EVP_MAC_CTX* mac, int encrypt);
};

class TlsServerContext::ServerTransport final : public TlsTransport {
 public:
  ServerTransport(SSL* ssl, int fd, Readiness& ready, std::shared_ptr<const State> state)
      : TlsTransport(ssl, fd, ready, state), state_(*state) {}

  bool isMisdirected(std::string_view host) const override {
    if (state_.choices.size() == 1) return false;
    char room[kHostNameBytesMax];
    const std::string_view name = lowerCase(host, room);
    const Choice* proper = state_.find(name);
    if (proper == nullptr) return false;
    const Choice& present = state_.choiceOf(ssl());
    return proper != &present && !present.covers(name);
  }

 private:
  const State& state_;  // kept alive by the base
};

// ---- Callbacks ----------------------------------------------------------------------------------

int TlsServerContext::State::onServerName(SSL* ssl, int*, void*) {
  const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (asked == nullptr) return SSL_TLSEXT_ERR_NOACK;
  char room[kHostNameBytesMax];
  const State& state = of(ssl);
  const Choice* choice = state.find(lowerCase(asked, room));
  if (choice == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_set_SSL_CTX(ssl, choice->context.get());
  return SSL_TLSEXT_ERR_OK;
}

int TlsServerContext::State::onAlpn(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                                    const unsigned char* in, unsigned in_size, void*) {
  const std::string& ours = of(ssl).alpn;
  unsigned char* chosen = nullptr;
  const int result =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), in, in_size);
  *out = chosen;
  // A client that offers only protocols we lack is refused (RFC 7301 §3.2).
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

int TlsServerContext::State::onStatusRequest(SSL* ssl, void*) {
  const X509* sent = SSL_get_certificate(ssl);
  for (const Identity& identity : of(ssl).choiceOf(ssl).identities) {
    const TlsIdentity::Material& material = identity->material();
    if (material.leaf() != sent) continue;
    const bool fresh = material.staple_until == 0 || std::time(nullptr) < material.staple_until;
    if (material.staple.empty() || !fresh) break;
    void* copy = OPENSSL_memdup(material.staple.data(), material.staple.size());
    if (copy == nullptr) break;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(material.staple.size()));
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

int TlsServerContext::State::onTicket(SSL* ssl, unsigned char* name, unsigned char* iv,
                                      EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int encrypt) {
  constexpr int kFailed = -1;
  constexpr int kUnknown = 0;
  constexpr int kUse = 1;
  constexpr int kUseAndRenew = 2;
  TlsTicketKeys& keys = *of(ssl).tickets;
  TlsTicketKey key;
  bool renew = false;
  if (encrypt == 1) {
    const auto current = keys.current(monotonicNow());
    if (!current || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1)
      return kFailed;
    key = *current;
    std::memcpy(name, key.name.data(), key.name.size());
  } else {
    const auto found = keys.find(name, monotonicNow());
    if (!found) return kUnknown;
    key = found->key;
    renew = found->renew;
  }
  if (EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv, encrypt) != 1) {
    return kFailed;
  }
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  if (EVP_MAC_CTX_set_params(mac, parameters) != 1) return kFailed;
  return renew ? kUseAndRenew : kUse;
}

// ---- Making -------------------------------------------------------------------------------------

namespace {

// What OpenSSL's macros do with a cast in the old style.
template <typename Callback>
void setCallback(SSL_CTX* context, int command, Callback callback) {
  SSL_CTX_callback_ctrl(context, command, reinterpret_cast<void (*)()>(callback));
}

// A session belongs to listeners that ask clients for the same proof: elsewhere it is not resumed.
void setSessionScope(SSL_CTX* context, const TlsServerOptions& options) {
  std::array<unsigned char, 32> scope{};
  if (options.client_authorities != nullptr) {
    scope = options.client_authorities->material().digest;
    scope[0] = static_cast<unsigned char>((scope[0] & 0xfe) | (options.client_required ? 1 : 0));
  }
  SSL_CTX_set_session_id_context(context, scope.data(), scope.size());
}

void askForClientCertificate(SSL_CTX* context, const TlsServerOptions& options) {
  const TlsAuthorities::Material& authorities = options.client_authorities->material();
  SSL_CTX_set1_verify_cert_store(context, authorities.store.get());
  for (const CertificatePtr& certificate : authorities.certificates) {
    SSL_CTX_add_client_CA(context, certificate.get());
  }
  const int mode =
      SSL_VERIFY_PEER | (options.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
  SSL_CTX_set_verify(context, mode, nullptr);
}

void useTickets(SSL_CTX* context, const TlsServerOptions& options) {
  // Tickets carry the sessions; nothing is kept here.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  setSessionScope(context, options);
  if (options.tickets == nullptr) {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    return;
  }
  SSL_CTX_set_num_tickets(context, 1);
  const auto lifetime = options.client_authorities != nullptr ? kTicketLifetimeOfClients
                                                              : TlsTicketKeys::kTicketLifetime;
  SSL_CTX_set_timeout(context, lifetime.count());
}

}  // namespace

Result<const Choice*> TlsServerContext::State::choose(const Identities& identities,
                                                      const TlsServerOptions& options) {
  for (const auto& choice : choices) {
    if (choice->identities == identities) return choice.get();
  }
  auto choice = std::make_unique<Choice>();
  choice->identities = identities;
  choice->context = makeTlsContext(TLS_server_method(), options.allow_tls12);
  SSL_CTX* context = choice->context.get();
  for (const Identity& identity : identities) {
    if (identity->material().addTo(context)) continue;
    return fail(ErrorCode::Io, ErrorSource::Config, "certificate: " + takeOpensslReason());
  }
  // Our order has the cheapest cipher first, unless the client lacks AES in hardware.
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_app_data(context, this);
  TlsTransport::observe(context);
  useTickets(context, options);
  if (options.client_authorities != nullptr) askForClientCertificate(context, options);
  setCallback(context, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB, onServerName);
  setCallback(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB, onStatusRequest);
  if (tickets != nullptr) SSL_CTX_set_tlsext_ticket_key_evp_cb(context, onTicket);
  if (!alpn.empty()) SSL_CTX_set_alpn_select_cb(context, onAlpn, nullptr);
  choices.push_back(std::move(choice));
  return choices.back().get();
}

Result<> TlsServerContext::State::build(const TlsServerOptions& options) {
  alpn = alpnWire(options.alpn);
  tickets = options.tickets;
  const auto groups = groupByName(options.identities);
  const Identity& first = options.identities.front();
  const Identities fallback =
      first->names().empty() ? Identities{first} : groups.at(first->names().front());
  if (auto made = choose(fallback, options); !made) return fail(std::move(made.error()));
  for (const auto& [name, identities] : groups) {
    auto choice = choose(identities, options);
    if (!choice) return fail(std::move(choice.error()));
    by_name.emplace(name, *choice);
  }
  return {};
}

Result<TlsServerContext> TlsServerContext::create(const TlsServerOptions& options) {
  CHECK(!options.identities.empty());
  ERR_clear_error();
  auto state = std::make_shared<State>();
  if (auto built = state->build(options); !built) return fail(std::move(built.error()));
  return TlsServerContext(std::move(state));
}

std::unique_ptr<Transport> TlsServerContext::accept(int fd, Readiness& ready) const {
  SSL* ssl = SSL_new(state_->choices.front()->context.get());
  CHECK(ssl != nullptr);
  SSL_set_accept_state(ssl);
  return std::make_unique<ServerTransport>(ssl, fd, ready, state_);
}

}  // namespace flamegate::proxy
