// Where a request can carry a signed token: `Authorization: Bearer fg1.…`, `Flamegate-Token: …` and
// the query pair `fgtoken=…`. The same rule for each of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent-protocol/token/client_token.h"
#include "proxy/http/head.h"

namespace flamegate::proxy {

inline constexpr std::string_view kTokenFieldName = "Flamegate-Token";

// What the carriers of one request say together.
struct CarriedToken {
  // Good, and then with claims, when all carriers that are filled hold one and the same good token.
  agent::TokenCheck check;
  // A query pair bears the token; the target must then be cleaned even when the token is of no use.
  bool in_query = false;

  bool good() const { return check.state == agent::TokenState::Good; }
};

CarriedToken readToken(const RequestHead& head, int64_t now_s, const agent::SessionKeyRing& keys);

// Removes every Authorization field whose token we signed, used or not, expired or not.
// Flamegate-Token leaves with all private fields, and the query pair by cleanTarget().
void removeTokenFields(FieldList& fields, const agent::SessionKeyRing& keys);

// Whether a query pair holds a token that we signed.
bool isOwnTokenPair(std::string_view raw_name, std::string_view raw_value,
                    const agent::SessionKeyRing& keys);

}  // namespace flamegate::proxy
