#include "proxy/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace flamegate::proxy {

void checkFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "flamegate: broken invariant %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace flamegate::proxy
