#include "proxy/server/tls_renewal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/timerfd.h>
#include <unistd.h>

#include "proxy/base/log.h"

namespace flamegate::proxy {
namespace {

constexpr time_t kLookEverySeconds = 1;

std::vector<FileStamp> stampsOf(const TlsFileGroup& group) {
  std::vector<FileStamp> stamps;
  stamps.reserve(group.files.size());
  for (const std::string& file : group.files) stamps.push_back(FileStamp::of(file));
  return stamps;
}

}  // namespace

TlsRenewal::TlsRenewal(UniqueFd timer) : timer_fd_(std::move(timer)) {}

Result<std::unique_ptr<TlsRenewal>> TlsRenewal::create(EventLoop& loop) {
  UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer.valid()) {
    return fail(ErrorCode::Io, ErrorSource::Internal,
                std::string("a timer: ") + std::strerror(errno));
  }
  std::unique_ptr<TlsRenewal> renewal(new TlsRenewal(std::move(timer)));
  auto watched = loop.watchLevel(
      renewal->timer_fd_.get(), renewal->timer_watch_,
      [](void* self, short) { static_cast<TlsRenewal*>(self)->look(); }, renewal.get());
  if (!watched) return fail(std::move(watched.error()));
  return renewal;
}

void TlsRenewal::watch(std::shared_ptr<const Snapshot> snapshot) {
  snapshot_ = std::move(snapshot);
  watched_.clear();
  changes_.clear();
  for (const auto& listener : snapshot_->tls) {
    if (listener != nullptr) watched_.push_back(listener.get());
  }
  for (const auto& cluster : snapshot_->upstreams) {
    TlsConnector* connector = cluster->options().connector.tls.get();
    if (connector != nullptr) watched_.push_back(connector);
  }
  const time_t every = watched_.empty() ? 0 : kLookEverySeconds;
  const itimerspec times{{every, 0}, {every, 0}};
  timerfd_settime(timer_fd_.get(), 0, &times, nullptr);
}

void TlsRenewal::look() {
  uint64_t expirations;
  [[maybe_unused]] const ssize_t got = ::read(timer_fd_.get(), &expirations, sizeof expirations);
  std::vector<Change> changes;
  for (TlsFiles* files : watched_) lookAt(*files, changes);
  changes_ = std::move(changes);
}

void TlsRenewal::lookAt(TlsFiles& files, std::vector<Change>& changes) {
  for (size_t i = 0; i < files.groups().size(); ++i) {
    std::vector<FileStamp> stamps = stampsOf(files.groups()[i]);
    if (stamps == files.groups()[i].stamps) continue;
    if (stoodStill(files, i, stamps)) {
      renew(files, i);
    } else {
      changes.push_back({&files, i, std::move(stamps)});
    }
  }
}

bool TlsRenewal::stoodStill(const TlsFiles& files, size_t group,
                            const std::vector<FileStamp>& stamps) const {
  return std::any_of(changes_.begin(), changes_.end(), [&](const Change& change) {
    return change.owner == &files && change.group == group && change.stamps == stamps;
  });
}

void TlsRenewal::renew(TlsFiles& files, size_t group) {
  const std::string& file = files.groups()[group].files.front();
  if (auto renewed = files.renew(group); !renewed) {
    ++failures_;
    logError("tls", renewed.error().detail + "; what was read before stays in use");
    return;
  }
  ++renewals_;
  logInfo("tls", file + " has changed and is in use");
}

void TlsRenewal::appendMetrics(MetricsText& out) const {
  out.family("flamegate_tls_renewals_total", "counter",
             "Changed certificates, keys and authorities that were put in use.");
  out.sample(renewals_);
  out.family("flamegate_tls_renewal_failures_total", "counter",
             "Changed certificates, keys and authorities that could not be used.");
  out.sample(failures_);
  if (snapshot_ == nullptr) return;
  out.family("flamegate_tls_certificate_expiry_seconds", "gauge",
             "When a certificate of a listener, in the order of the file, expires, in Unix time.");
  for (size_t i = 0; i < snapshot_->tls.size(); ++i) {
    if (snapshot_->tls[i] == nullptr) continue;
    const std::string listener = config::formatAddress(snapshot_->config.listeners[i].address);
    const auto& identities = snapshot_->tls[i]->identities();
    for (size_t j = 0; j < identities.size(); ++j) {
      out.sample(static_cast<uint64_t>(identities[j]->expiresAt()),
                 "listener=\"" + listener + "\",certificate=\"" + std::to_string(j) + "\"");
    }
  }
}

}  // namespace flamegate::proxy
