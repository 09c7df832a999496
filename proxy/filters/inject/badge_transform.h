// Appends the badge to the body of one response while it streams through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proxy/filters/inject/badge_tag.h"
#include "proxy/filters/inject/csp.h"
#include "proxy/filters/inject/html_scanner.h"
#include "proxy/filters/inject/inject_outcome.h"
#include "proxy/http/content_coding.h"

namespace flamegate::proxy {

struct BadgeTransformOptions {
  ContentCoding coding = ContentCoding::Identity;  // Identity or Gzip
  uint64_t decoded_bytes_max = 4 * 1024 * 1024;
  CspMode csp_mode = CspMode::Amend;
  std::string nonce;  // from the header decision
  BadgeTag tag;
};

// Every byte is passed on when it comes; only what follows the last one waits for the end of the
// body. A body over the limit, broken or not fit for a script decodes to what it would have
// without us. Memory: the scanner's token, and for gzip a decoding window.
// Owner: the inject filter. Thread: its exchange's.
class BadgeTransform final : private ByteSink {
 public:
  explicit BadgeTransform(BadgeTransformOptions options);

  // Appends to `out` what to pass on for `in`. `end`: the body is complete with it; comes once, and
  // not at all when the body breaks off.
  void transform(std::string_view in, bool end, std::string& out);

  // Identity bodies only: takes note of bytes that the caller passes on itself, without a copy.
  // The end comes through transform().
  void observe(std::string_view in);

  // Pending until the end, unless the body has already ruled itself out.
  InjectOutcome outcome() const { return outcome_; }

 private:
  void onBytes(std::string_view decoded) override;
  void refuse(InjectOutcome outcome);
  void end(std::string& out);
  InjectOutcome judgeEnd() const;
  std::optional<std::string> nonceUnderMetaPolicies() const;

  BadgeTransformOptions options_;
  HtmlScanner scanner_;
  std::unique_ptr<GzipAppender> gzip_;  // null for identity
  uint64_t decoded_bytes_ = 0;
  InjectOutcome outcome_ = InjectOutcome::Pending;
};

}  // namespace flamegate::proxy
