// CHECK for broken invariants of our own. Never for input, never for what a peer does.
#pragma once

namespace flamegate::proxy {

[[noreturn]] void checkFailed(const char* condition, const char* file, int line);

}  // namespace flamegate::proxy

#define CHECK(condition)                                                                  \
  (__builtin_expect(static_cast<bool>(condition), 1)                                      \
       ? static_cast<void>(0)                                                             \
       : ::flamegate::proxy::checkFailed(#condition, __FILE__, __LINE__))

// For checks too dear for a release build.
#ifdef NDEBUG
#define DCHECK(condition) static_cast<void>(0)
#else
#define DCHECK(condition) CHECK(condition)
#endif
