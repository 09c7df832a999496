// Puts renewed certificates in force without a reload.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/base/fd.h"
#include "proxy/exchange/snapshot.h"
#include "proxy/net/event_loop.h"
#include "proxy/server/metrics.h"

namespace flamegate::proxy {

// Looks at the files of a snapshot's certificates, keys, authorities and staples once a second.
// What has changed, and has stood still for a second, is read again; so a renewal is in force two
// to three seconds after its last write. Looking, rather than being told, also sees what lies
// behind chains of symbolic links, as with mounted secrets, and on network file systems. A file
// that cannot be used is logged and counted, and its forerunner stays in force until the file
// changes again.
// Owner: the process. Thread: its main one; connections are given their contexts under a lock.
class TlsRenewal {
 public:
  // Errors: Io, when the system has no timer.
  static Result<std::unique_ptr<TlsRenewal>> create(EventLoop& loop);

  // From now on those of this snapshot, which stays alive until the next call.
  void watch(std::shared_ptr<const Snapshot> snapshot);
  void appendMetrics(MetricsText& out) const;

 private:
  // A group of files that differs from what was read.
  struct Change {
    const TlsFiles* owner;
    size_t group;
    std::vector<FileStamp> stamps;
  };

  explicit TlsRenewal(UniqueFd timer);
  void look();
  void lookAt(TlsFiles& files, std::vector<Change>& changes);
  bool stoodStill(const TlsFiles& files, size_t group, const std::vector<FileStamp>& stamps) const;
  void renew(TlsFiles& files, size_t group);

  UniqueFd timer_fd_;
  Watch timer_watch_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::vector<TlsFiles*> watched_;  // of snapshot_
  std::vector<Change> changes_;     // seen at the last look
  uint64_t renewals_ = 0;
  uint64_t failures_ = 0;
};

}  // namespace flamegate::proxy
