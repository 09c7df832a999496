#include "proxy/net/resolver.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <ares.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "proxy/base/fd.h"
#include "proxy/base/file_stamp.h"
#include "proxy/base/log.h"

namespace flamegate::proxy {
namespace {

constexpr const char* kResolvConf = "/etc/resolv.conf";
constexpr int kIdlePollMillis = -1;

struct Question {
  std::string name;
  Resolver::Callback done;
};

ErrorCode codeOf(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
    case ARES_ENONAME:
    case ARES_EBADNAME:
      return ErrorCode::NotFound;
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED:
      return ErrorCode::Timeout;
    case ARES_EBADRESP:
    case ARES_EFORMERR:
      return ErrorCode::Malformed;
    case ARES_ECANCELLED:
    case ARES_EDESTRUCTION:
      return ErrorCode::Closed;
    default:
      return ErrorCode::Refused;
  }
}

Result<ResolvedName> toResult(const std::string& name, int status, const ares_addrinfo* found) {
  const auto refused = [&](ErrorCode code, const char* why) {
    return fail(code, ErrorSource::Upstream, name + ": " + why);
  };
  if (status != ARES_SUCCESS) return refused(codeOf(status), ares_strerror(status));
  ResolvedName resolved;
  std::optional<int> ttl;
  for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
    if (node->ai_family != AF_INET && node->ai_family != AF_INET6) continue;
    resolved.addresses.push_back(Address::fromSockaddr(node->ai_addr, node->ai_addrlen));
    ttl = std::min(ttl.value_or(node->ai_ttl), node->ai_ttl);
  }
  for (const ares_addrinfo_cname* alias = found->cnames; alias != nullptr; alias = alias->next) {
    ttl = std::min(ttl.value_or(alias->ttl), alias->ttl);
  }
  if (resolved.addresses.empty()) return refused(ErrorCode::NotFound, "no address");
  resolved.ttl = std::chrono::seconds(std::max(0, ttl.value_or(0)));
  return resolved;
}

std::string serverList(const std::vector<Address>& servers) {
  std::string list;
  for (const Address& server : servers) {
    if (!list.empty()) list += ',';
    list += server.toString();
  }
  return list;
}

}  // namespace

// The library's channel and the thread that it lives on.
class Resolver::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}
  ~Impl() {
    if (thread_.joinable()) {
      push(std::nullopt);
      thread_.join();
    }
    if (channel_ != nullptr) ares_destroy(channel_);
    // What came too late to be asked.
    for (auto& question : inbox_) {
      if (question) question->done(closed(question->name));
    }
    if (initialized_) ares_library_cleanup();
  }

  Result<> start() {
    wake_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!wake_.valid()) return fail(ErrorCode::Io, ErrorSource::Internal, "eventfd");
    if (const int status = ares_library_init(ARES_LIB_INIT_ALL); status != ARES_SUCCESS) {
      return fail(ErrorCode::Io, ErrorSource::Internal, ares_strerror(status));
    }
    initialized_ = true;
    if (auto opened = openChannel(); !opened) return opened;
    thread_ = std::thread([this] { run(); });
    return {};
  }

  // Nothing: the end.
  void push(std::optional<Question> question) {
    {
      const std::lock_guard lock(mutex_);
      inbox_.push_back(std::move(question));
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

 private:
  static Result<ResolvedName> closed(const std::string& name) {
    return fail(ErrorCode::Closed, ErrorSource::Upstream, name + ": the resolver ended");
  }

  Result<> openChannel() {
    ares_options settings{};
    settings.timeout = static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.timeout).count());
    settings.tries = options_.tries;
    ares_channel fresh = nullptr;
    int status = ares_init_options(&fresh, &settings, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
    if (status == ARES_SUCCESS && !options_.servers.empty()) {
      status = ares_set_servers_ports_csv(fresh, serverList(options_.servers).c_str());
    }
    if (status != ARES_SUCCESS) {
      if (fresh != nullptr) ares_destroy(fresh);
      return fail(ErrorCode::Io, ErrorSource::Internal,
                  std::string("resolver: ") + ares_strerror(status));
    }
    if (channel_ != nullptr) ares_destroy(channel_);
    channel_ = fresh;
    configured_ = FileStamp::of(kResolvConf);
    return {};
  }

  void run() {
    while (takeQuestions()) {
      wait();
    }
  }

  // False at the end.
  bool takeQuestions() {
    std::vector<std::optional<Question>> taken;
    {
      const std::lock_guard lock(mutex_);
      taken.swap(inbox_);
    }
    bool goes_on = true;
    for (auto& question : taken) {
      if (!question) {
        goes_on = false;
      } else {
        ask(std::move(*question));
      }
    }
    return goes_on;
  }

  void ask(Question question) {
    // Without questions under way, as they would be cancelled.
    if (asked_ == 0 && FileStamp::of(kResolvConf) != configured_) {
      if (auto opened = openChannel(); !opened) logWarning("resolver", opened.error().detail);
    }
    struct Asked {
      Impl& impl;
      Question question;
    };
    ++asked_;
    auto asked = std::make_unique<Asked>(Asked{*this, std::move(question)});
    const std::string name = asked->question.name;
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NOSORT;
    ares_getaddrinfo(
        channel_, name.c_str(), nullptr, &hints,
        [](void* context, int status, int, ares_addrinfo* found) {
          const std::unique_ptr<Asked> ended(static_cast<Asked*>(context));
          --ended->impl.asked_;
          ended->question.done(toResult(ended->question.name, status, found));
          if (found != nullptr) ares_freeaddrinfo(found);
        },
        asked.release());
  }

  // Until a socket of the library's or a new question is there, or one of its deadlines.
  void wait() {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    const auto mask = static_cast<unsigned>(ares_getsock(channel_, sockets, ARES_GETSOCK_MAXNUM));
    std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}};
    for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
      short events = 0;
      if (ARES_GETSOCK_READABLE(mask, i)) events |= POLLIN;
      if (ARES_GETSOCK_WRITABLE(mask, i)) events |= POLLOUT;
      if (events != 0) waits.push_back({sockets[i], events, 0});
    }
    timeval room{};
    const timeval* deadline = ares_timeout(channel_, nullptr, &room);
    const int millis =
        deadline == nullptr
            ? kIdlePollMillis
            : static_cast<int>(deadline->tv_sec * 1000 + deadline->tv_usec / 1000 + 1);
    if (::poll(waits.data(), waits.size(), millis) <= 0) {
      ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      return;
    }
    uint64_t woken = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &woken, sizeof woken);
    for (size_t i = 1; i < waits.size(); ++i) {
      const bool readable = (waits[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0;
      const bool writable = (waits[i].revents & POLLOUT) != 0;
      if (!readable && !writable) continue;
      ares_process_fd(channel_, readable ? waits[i].fd : ARES_SOCKET_BAD,
                      writable ? waits[i].fd : ARES_SOCKET_BAD);
    }
  }

  const Options options_;
  bool initialized_ = false;
  UniqueFd wake_;
  std::mutex mutex_;
  std::vector<std::optional<Question>> inbox_;  // guarded by mutex_; nothing: the end
  // The thread's own, once it runs.
  ares_channel channel_ = nullptr;
  FileStamp configured_;
  size_t asked_ = 0;
  std::thread thread_;
};

Resolver::Resolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Resolver::~Resolver() = default;

Result<std::unique_ptr<Resolver>> Resolver::create(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto started = impl->start(); !started) return fail(std::move(started.error()));
  return std::unique_ptr<Resolver>(new Resolver(std::move(impl)));
}

void Resolver::resolve(std::string name, Callback done) {
  impl_->push(Question{std::move(name), std::move(done)});
}

}  // namespace flamegate::proxy
