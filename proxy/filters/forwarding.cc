#include "proxy/filters/forwarding.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <arpa/inet.h>

#include "proxy/base/strings.h"
#include "proxy/exchange/exchange.h"
#include "proxy/profiling/client_address.h"

namespace flamegate::proxy {
namespace {

constexpr std::string_view kVia = "1.1 flamegate";
constexpr std::string_view kViaFromHttp10 = "1.0 flamegate";
constexpr std::string_view kViaFromHttp2 = "2.0 flamegate";
constexpr size_t kVisitsMax = 10;

bool isTrusted(const Exchange& exchange, const Peer& peer) {
  const auto& trusted = exchange.listener().trusted_proxies;
  if (trusted.empty() || peer.is_unix || !peer.named) return false;
  return std::any_of(trusted.begin(), trusted.end(),
                     [&](const config::Cidr& network) { return network.contains(peer.ip); });
}

// All values of the fields with this id, in order, joined as one list.
std::string_view joinedValues(Exchange& exchange, HeaderId id) {
  std::string_view joined;
  for (const Field& field : exchange.request().fields) {
    if (field.id() != id || field.removed()) continue;
    joined = joined.empty() ? field.value() : exchange.arena().join({joined, ", ", field.value()});
  }
  return joined;
}

std::string formatIp(const config::IpBytes& ip) {
  constexpr uint8_t kV4Prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool v4 = std::equal(std::begin(kV4Prefix), std::end(kV4Prefix), ip.begin());
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(v4 ? AF_INET : AF_INET6, ip.data() + (v4 ? 12 : 0), text, sizeof text);
  return text;
}

size_t countVisits(std::string_view via) {
  size_t visits = 0;
  forEachElement(via, [&](std::string_view hop) {
    visits += hop.ends_with(" flamegate") ? 1U : 0U;
    return true;
  });
  return visits;
}

class ForwardingFilter final : public Filter {
 public:
  Verdict onRequest(Exchange& exchange) override {
    RequestHead& head = exchange.request();
    FieldList& fields = head.fields;
    fields.removeAll(HeaderId::FlamegatePrivate);
    if (fields.has(HeaderId::MaxForwards)) {
      Verdict verdict = countForwards(exchange);
      if (verdict.kind != Verdict::Kind::GoOn) return verdict;
    }
    const Peer& peer = exchange.peer();
    std::string_view before;
    if (isTrusted(exchange, peer)) {
      before = joinedValues(exchange, HeaderId::XForwardedFor);
      noteClient(exchange, peer);
      fields.removeAll(HeaderId::XForwardedFor);
    } else {
      removeClaims(fields);
    }
    fields.add("X-Forwarded-For",
               before.empty() ? peer.text : exchange.arena().join({before, ", ", peer.text}),
               HeaderId::XForwardedFor);
    if (fields.find(HeaderId::XForwardedProto) == nullptr) {
      fields.add("X-Forwarded-Proto", peer.secure ? "https" : "http", HeaderId::XForwardedProto);
    }
    if (fields.find(HeaderId::XForwardedHost) == nullptr && !head.authority.empty()) {
      fields.add("X-Forwarded-Host", head.authority, HeaderId::XForwardedHost);
    }
    return addVia(exchange);
  }

 private:
  static void noteClient(Exchange& exchange, const Peer& peer) {
    const auto& trusted = exchange.listener().trusted_proxies;
    const ClientAddress client = findClientAddress(peer.ip, trusted, exchange.request().fields);
    if (client.ip) exchange.record().client = exchange.arena().copy(formatIp(*client.ip));
  }

  static void removeClaims(FieldList& fields) {
    for (HeaderId id :
         {HeaderId::XForwardedFor, HeaderId::XForwardedProto, HeaderId::XForwardedHost,
          HeaderId::XForwardedPort, HeaderId::XRealIp, HeaderId::Forwarded}) {
      fields.removeAll(id);
    }
  }

  static Verdict addVia(Exchange& exchange) {
    FieldList& fields = exchange.request().fields;
    std::string_view via = exchange.request().minor_version == 0 ? kViaFromHttp10 : kVia;
    if (exchange.request().http2) via = kViaFromHttp2;
    if (fields.has(HeaderId::Via)) {
      const std::string_view before = joinedValues(exchange, HeaderId::Via);
      if (countVisits(before) >= kVisitsMax) {
        return Verdict::answer({.status = 508, .reason = "loop"});
      }
      fields.removeAll(HeaderId::Via);
      if (!before.empty()) via = exchange.arena().join({before, ", ", via});
    }
    fields.add("Via", via, HeaderId::Via);
    return {};
  }

  static Verdict countForwards(Exchange& exchange) {
    RequestHead& head = exchange.request();
    if (head.method != Method::Options && head.method != Method::Trace) return {};
    const auto value = head.fields.findSingle(HeaderId::MaxForwards);
    const auto left = value ? parseDecimal(*value) : std::nullopt;
    if (!left) return {};
    if (*left == 0) {
      // We are the final recipient; TRACE is not answered, since it would reflect credentials.
      if (head.method == Method::Trace) return Verdict::answer({.status = 405, .reason = "trace"});
      return Verdict::answer({.status = 204, .reason = "max-forwards"});
    }
    char digits[20];
    const char* end = writeDecimal(digits, *left - 1);
    const Field* field = head.fields.find(HeaderId::MaxForwards);
    head.fields.setValue(static_cast<size_t>(field - head.fields.begin()),
                         exchange.arena().copy({digits, static_cast<size_t>(end - digits)}));
    return {};
  }
};

class HeaderEditsFilter final : public Filter {
 public:
  bool concerns(Exchange& exchange) const override {
    return exchange.route() != nullptr && !exchange.route()->request_headers.empty();
  }
  Verdict onRequest(Exchange& exchange) override {
    apply(exchange.route()->request_headers, exchange.request().fields);
    return {};
  }
  bool seesEveryResponse() const override { return true; }
  void onResponse(Exchange& exchange, ResponseHead& head) override {
    if (exchange.route() != nullptr && !exchange.route()->response_headers.empty()) {
      apply(exchange.route()->response_headers, head.fields);
    }
  }

 private:
  static void removeNamed(FieldList& fields, std::string_view name) {
    for (size_t i = 0; i < fields.size(); ++i) {
      if (equalIgnoreCase(fields[i].name(), name)) fields.remove(i);
    }
  }

  static void apply(const config::HeaderEdits& edits, FieldList& fields) {
    for (const std::string& name : edits.remove) removeNamed(fields, name);
    for (const config::HeaderValue& field : edits.set) {
      removeNamed(fields, field.name);
      fields.add(field.name, field.value);
    }
    for (const config::HeaderValue& field : edits.add) fields.add(field.name, field.value);
  }
};

}  // namespace

std::unique_ptr<Filter> makeForwardingFilter() { return std::make_unique<ForwardingFilter>(); }

std::unique_ptr<Filter> makeHeaderEditsFilter() { return std::make_unique<HeaderEditsFilter>(); }

}  // namespace flamegate::proxy
