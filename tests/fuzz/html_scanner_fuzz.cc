// Equal bytes give equal answers, however they are cut.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proxy/base/check.h"
#include "proxy/filters/inject/html_scanner.h"

using flamegate::proxy::HtmlScanner;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  HtmlScanner whole;
  whole.scan(bytes);
  HtmlScanner bytewise;
  for (size_t i = 0; i < size; ++i) bytewise.scan(bytes.substr(i, 1));
  CHECK(whole.start() == bytewise.start());
  CHECK(whole.endContext() == bytewise.endContext());
  CHECK(whole.isAmp() == bytewise.isAmp());
  CHECK(whole.hasBase() == bytewise.hasBase());
  CHECK(whole.hasUnsafeCharset() == bytewise.hasUnsafeCharset());
  CHECK(whole.meta().policies() == bytewise.meta().policies());
  CHECK(whole.meta().hasUnreadablePolicy() == bytewise.meta().hasUnreadablePolicy());
  return 0;
}
