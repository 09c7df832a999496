#include "proxy/upstream/endpoint_updater.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "proxy/base/log.h"

namespace flamegate::proxy {
namespace {

// After failures: doubled each time.
constexpr Duration kRetryFirst = std::chrono::seconds(1);
constexpr Duration kRetryMax = std::chrono::seconds(10);

bool less(const Address& a, const Address& b) { return a.toString() < b.toString(); }
bool same(const Address& a, const Address& b) { return a.toString() == b.toString(); }

}  // namespace

struct EndpointUpdater::Lookup {
  Lookup(EndpointUpdater& of, Name known_in)
      : updater(of),
        known(std::move(known_in)),
        timer(
            of.loop_.timers(),
            [](void* self) {
              auto* lookup = static_cast<Lookup*>(self);
              lookup->updater.ask(*lookup);
            },
            this) {}

  EndpointUpdater& updater;
  Name known;
  Timer timer;
  Duration retry_after = kRetryFirst;
  bool answered = false;
};

// Where the resolver's thread leaves answers. Outlives an updater that has gone meanwhile.
struct EndpointUpdater::Inbox {
  std::mutex mutex;
  std::condition_variable came;
  std::vector<std::pair<std::string, Result<ResolvedName>>> answers;  // guarded by mutex
  EndpointUpdater* updater;  // the loop's thread alone; null once it has gone
};

EndpointUpdater::EndpointUpdater(EventLoop& loop, Resolver& resolver, Cluster& cluster,
                                 std::vector<EndpointSource> sources, Options options,
                                 const EndpointUpdater* previous)
    : loop_(loop),
      resolver_(resolver),
      cluster_(cluster),
      sources_(std::move(sources)),
      options_(options),
      inbox_(std::make_shared<Inbox>()) {
  inbox_->updater = this;
  for (const EndpointSource& source : sources_) {
    const auto isIt = [&](const auto& lookup) { return lookup->known.name == source.name; };
    if (source.name.empty() || std::any_of(lookups_.begin(), lookups_.end(), isIt)) continue;
    Name known{.name = source.name, .addresses = {}, .asked_again = {}, .failure = {}};
    if (previous != nullptr) {
      const auto& old = previous->lookups_;
      const auto found = std::find_if(old.begin(), old.end(), isIt);
      if (found != old.end()) known.addresses = (*found)->known.addresses;
    }
    lookups_.push_back(std::make_unique<Lookup>(*this, std::move(known)));
  }
  publish();
  for (const auto& lookup : lookups_) ask(*lookup);
}

EndpointUpdater::~EndpointUpdater() { inbox_->updater = nullptr; }

void EndpointUpdater::ask(Lookup& lookup) {
  lookup.known.asked_again = {};
  resolver_.resolve(lookup.known.name, [inbox = inbox_, &loop = loop_,
                                        name = lookup.known.name](Result<ResolvedName> answer) {
    {
      const std::lock_guard lock(inbox->mutex);
      inbox->answers.emplace_back(name, std::move(answer));
    }
    inbox->came.notify_one();
    loop.post([inbox] {
      if (inbox->updater != nullptr) inbox->updater->takeAnswers();
    });
  });
}

void EndpointUpdater::awaitAnswers(TimePoint deadline) {
  const auto isAnswered = [](const auto& lookup) { return lookup->answered; };
  while (!std::all_of(lookups_.begin(), lookups_.end(), isAnswered)) {
    const Duration left = deadline - monotonicNow();
    if (left.count() <= 0) return;
    {
      std::unique_lock lock(inbox_->mutex);
      inbox_->came.wait_for(lock, left, [&] { return !inbox_->answers.empty(); });
    }
    takeAnswers();
  }
}

void EndpointUpdater::takeAnswers() {
  std::vector<std::pair<std::string, Result<ResolvedName>>> answers;
  {
    const std::lock_guard lock(inbox_->mutex);
    answers.swap(inbox_->answers);
  }
  if (answers.empty()) return;
  for (auto& [name, answer] : answers) take(lookupOf(name), std::move(answer));
  publish();
}

void EndpointUpdater::take(Lookup& lookup, Result<ResolvedName> answer) {
  Name& known = lookup.known;
  Duration after;
  if (answer) {
    lookup.retry_after = kRetryFirst;
    after = std::clamp(answer->ttl, options_.ttl_min, options_.ttl_max);
    // In one order, whatever the server rotates.
    known.addresses = std::move(answer->addresses);
    std::sort(known.addresses.begin(), known.addresses.end(), less);
    known.addresses.erase(std::unique(known.addresses.begin(), known.addresses.end(), same),
                          known.addresses.end());
    if (!known.failure.empty()) logInfo("dns", known.name + ": resolved again");
    known.failure.clear();
  } else {
    after = lookup.retry_after;
    lookup.retry_after = std::min(2 * lookup.retry_after, kRetryMax);
    if (known.failure.empty()) {
      logWarning("dns", answer.error().detail + (known.addresses.empty()
                                                     ? "; it has no address yet"
                                                     : "; its last addresses stay in use"));
    }
    known.failure = answer.error().detail;
  }
  lookup.answered = true;
  known.asked_again = monotonicNow() + after;
  lookup.timer.arm(known.asked_again);
}

void EndpointUpdater::publish() {
  std::vector<EndpointTarget> targets;
  for (const EndpointSource& source : sources_) {
    if (source.name.empty()) {
      targets.push_back(source.target);
      continue;
    }
    for (const Address& address : lookupOf(source.name).known.addresses) {
      targets.push_back(source.target);
      targets.back().address = address.withPort(source.port);
    }
  }
  cluster_.publish(std::move(targets));
  if (changed_) changed_();
}

std::vector<EndpointUpdater::Name> EndpointUpdater::names() const {
  std::vector<Name> out;
  for (const auto& lookup : lookups_) out.push_back(lookup->known);
  return out;
}

EndpointUpdater::Lookup& EndpointUpdater::lookupOf(const std::string& name) {
  return **std::find_if(lookups_.begin(), lookups_.end(),
                        [&](const auto& lookup) { return lookup->known.name == name; });
}

}  // namespace flamegate::proxy
