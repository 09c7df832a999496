#include "proxy/net/tls_files.h"

#include "proxy/base/log.h"

namespace flamegate::proxy {
namespace {

TlsFileGroup groupOf(const TlsIdentityFiles& files) {
  TlsFileGroup group{{files.cert, files.key}, {}};
  if (!files.ocsp.empty()) group.files.push_back(files.ocsp);
  return group;
}

Result<> loadIdentity(const TlsIdentityFiles& files, std::shared_ptr<const TlsIdentity>& into) {
  auto identity = TlsIdentity::load(files);
  if (!identity) return fail(toError(identity.error(), files));
  for (const TlsFileIssue& issue : (*identity)->warnings()) {
    logWarning("tls", toError(issue, files).detail);
  }
  into = std::move(*identity);
  return {};
}

Result<> loadAuthorities(const std::string& file, std::shared_ptr<const TlsAuthorities>& into) {
  auto authorities = TlsAuthorities::load(file);
  if (!authorities) return fail(std::move(authorities.error()));
  into = std::move(*authorities);
  return {};
}

}  // namespace

void TlsFileGroup::stamp() {
  stamps.clear();
  for (const std::string& file : files) stamps.push_back(FileStamp::of(file));
}

// The stamps come first: a file that changes while it is read shows another one afterwards.
Result<> TlsFiles::renew(size_t group) {
  groups_[group].stamp();
  if (auto loaded = load(group); !loaded) return loaded;
  return rebuild();
}

// ---- Listeners ----------------------------------------------------------------------------------

TlsListener::TlsListener(Options options) : options_(std::move(options)) {
  for (const TlsIdentityFiles& files : options_.identities) groups_.push_back(groupOf(files));
  if (!options_.client_authorities.empty()) groups_.push_back({{options_.client_authorities}, {}});
  context_options_.identities.resize(options_.identities.size());
  context_options_.client_required = options_.client_required;
  context_options_.allow_tls12 = options_.allow_tls12;
  context_options_.alpn = options_.alpn;
}

Result<std::unique_ptr<TlsListener>> TlsListener::create(Options options,
                                                         std::shared_ptr<TlsTicketKeys> tickets) {
  std::unique_ptr<TlsListener> listener(new TlsListener(std::move(options)));
  listener->context_options_.tickets = std::move(tickets);
  for (size_t i = 0; i < listener->groups_.size(); ++i) {
    listener->groups_[i].stamp();
    if (auto loaded = listener->load(i); !loaded) return fail(std::move(loaded.error()));
  }
  if (auto built = listener->rebuild(); !built) return fail(std::move(built.error()));
  return listener;
}

Result<> TlsListener::load(size_t group) {
  if (group == options_.identities.size()) {
    return loadAuthorities(options_.client_authorities, context_options_.client_authorities);
  }
  return loadIdentity(options_.identities[group], context_options_.identities[group]);
}

Result<> TlsListener::rebuild() {
  auto context = TlsServerContext::create(context_options_);
  if (!context) return fail(std::move(context.error()));
  const std::lock_guard lock(mutex_);
  context_ = std::move(*context);
  return {};
}

std::unique_ptr<Transport> TlsListener::accept(int fd, Readiness& ready) const {
  std::unique_lock lock(mutex_);
  const TlsServerContext context = *context_;
  lock.unlock();
  return context.accept(fd, ready);
}

// ---- Connectors ---------------------------------------------------------------------------------

TlsConnector::TlsConnector(Options options) : options_(std::move(options)) {
  if (options_.identity) groups_.push_back(groupOf(*options_.identity));
  if (!options_.authorities.empty()) groups_.push_back({{options_.authorities}, {}});
  context_options_.verify = options_.verify;
  context_options_.alpn = options_.alpn;
}

Result<std::unique_ptr<TlsConnector>> TlsConnector::create(Options options) {
  std::unique_ptr<TlsConnector> connector(new TlsConnector(std::move(options)));
  for (size_t i = 0; i < connector->groups_.size(); ++i) {
    connector->groups_[i].stamp();
    if (auto loaded = connector->load(i); !loaded) return fail(std::move(loaded.error()));
  }
  if (auto built = connector->rebuild(); !built) return fail(std::move(built.error()));
  return connector;
}

Result<> TlsConnector::load(size_t group) {
  if (options_.identity && group == 0) {
    return loadIdentity(*options_.identity, context_options_.identity);
  }
  return loadAuthorities(options_.authorities, context_options_.authorities);
}

Result<> TlsConnector::rebuild() {
  auto context = TlsClientContext::create(context_options_);
  if (!context) return fail(std::move(context.error()));
  const std::lock_guard lock(mutex_);
  context_ = std::move(*context);
  return {};
}

std::unique_ptr<Transport> TlsConnector::connect(int fd, Readiness& ready,
                                                 const std::string& server) const {
  std::unique_lock lock(mutex_);
  const TlsClientContext context = *context_;
  lock.unlock();
  return context.connect(fd, ready, server);
}

}  // namespace flamegate::proxy
