#include "config/schema/profiling.h"

namespace flamegate::config {

std::vector<AccessRule> defaultAccess() {
  const FromNetworks loopback{{*parseCidr("127.0.0.0/8"), *parseCidr("::1")}, false};
  return {
      AccessRule{{loopback}, Rights{.view = true, .trigger = true, .manage = true}},
      AccessRule{{SignedToken{}}, Rights{.of_token = true}},
  };
}

}  // namespace flamegate::config
