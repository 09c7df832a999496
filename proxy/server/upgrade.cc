#include "proxy/server/upgrade.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace flamegate::proxy {
namespace {

constexpr char kChannelVariable[] = "FLAMEGATE_UPGRADE_CHANNEL";
constexpr int kChannelNumber = 3;  // in the successor
constexpr std::string_view kReady = "ready";
constexpr std::string_view kControlEnded = "control";
constexpr std::string_view kEnd = "end";
constexpr std::string_view kDir = "dir ";
constexpr std::string_view kSocket = "socket ";
constexpr size_t kMessageBytesMax = 512;
constexpr Duration kPatience = std::chrono::minutes(1);

tl::unexpected<Error> ioFailure(const std::string& what) {
  return fail(ErrorCode::Io, ErrorSource::Internal, what + ": " + std::strerror(errno));
}

// One message, with or without a descriptor.
bool sendMessage(int channel, std::string_view text, int fd = -1) {
  iovec piece{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(channel, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

struct Message {
  std::string text;
  UniqueFd fd;
};

// The next message, an empty one at the end; nothing when none is there on a non-blocking channel.
std::optional<Message> receiveMessage(int channel) {
  std::array<char, kMessageBytesMax> text;
  iovec piece{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(channel, &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return std::nullopt;
  if (size <= 0) return Message{};
  Message message{std::string(text.data(), static_cast<size_t>(size)), {}};
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    message.fd.reset(fd);
  }
  return message;
}

// Our environment with the number of the channel.
std::vector<std::string> environmentOfSuccessor() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  variables.push_back(std::string(kChannelVariable) + "=" + std::to_string(kChannelNumber));
  return variables;
}

std::vector<char*> pointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

// ---- The old process ----------------------------------------------------------------------------

Successor::Successor(EventLoop& loop, Events events)
    : loop_(loop),
      events_(std::move(events)),
      patience_(
          loop.timers(),
          [](void* self) { static_cast<Successor*>(self)->fail("not ready in time"); }, this) {}

Successor::~Successor() {
  if (pid_ <= 0 || ready_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<std::unique_ptr<Successor>> Successor::start(EventLoop& loop, Plan plan, Events events) {
  std::unique_ptr<Successor> successor(new Successor(loop, std::move(events)));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ioFailure("socketpair");
  }
  successor->channel_.reset(ends[0]);
  UniqueFd theirs(ends[1]);
  if (auto spawned = successor->spawn(plan, theirs.get()); !spawned) {
    return proxy::fail(std::move(spawned.error()));
  }
  // Without our copy, sending to a successor that has ended already fails instead of waiting.
  theirs.reset();
  if (auto handed = successor->hand(plan); !handed) return proxy::fail(std::move(handed.error()));
  auto watched = loop.watchLevel(
      successor->channel_.get(), successor->watch_,
      [](void* self, short) { static_cast<Successor*>(self)->onChannel(); }, successor.get());
  if (!watched) return proxy::fail(std::move(watched.error()));
  successor->patience_.arm(loop.now() + kPatience);
  return successor;
}

Result<> Successor::spawn(const Plan& plan, int channel) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, channel, kChannelNumber);
  const std::vector<std::string> environment = environmentOfSuccessor();
  const int error =
      ::posix_spawn(&pid_, plan.executable.c_str(), &files, &attributes,
                    pointersTo(plan.arguments).data(), pointersTo(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return {};
  pid_ = -1;
  errno = error;
  return ioFailure(plan.executable);
}

Result<> Successor::hand(const Plan& plan) {
  const int channel = channel_.get();
  for (const NamedSocket& socket : plan.sockets) {
    if (!sendMessage(channel, std::string(kSocket) + socket.key, socket.fd.get())) {
      return ioFailure("hand over " + socket.key);
    }
  }
  if (!sendMessage(channel, std::string(kDir) + plan.socket_dir) || !sendMessage(channel, kEnd)) {
    return ioFailure("hand over");
  }
  ::fcntl(channel, F_SETFL, ::fcntl(channel, F_GETFL) | O_NONBLOCK);
  return {};
}

void Successor::onChannel() {
  const auto message = receiveMessage(channel_.get());
  if (!message) return;
  if (message->text != kReady) return fail("it has ended");
  ready_ = true;
  watch_.stop();
  patience_.disarm();
  events_.ready();
}

void Successor::fail(std::string_view why) {
  watch_.stop();
  patience_.disarm();
  events_.failed(why);
}

void Successor::confirm() { sendMessage(channel_.get(), kControlEnded); }

// ---- The new process ----------------------------------------------------------------------------

Result<std::unique_ptr<Predecessor>> Predecessor::find() {
  const char* number = std::getenv(kChannelVariable);
  if (number == nullptr) return std::unique_ptr<Predecessor>();
  std::unique_ptr<Predecessor> predecessor(new Predecessor());
  predecessor->channel_.reset(kChannelNumber);
  ::unsetenv(kChannelVariable);
  ::fcntl(kChannelNumber, F_SETFD, FD_CLOEXEC);
  if (auto received = predecessor->receive(); !received) return fail(std::move(received.error()));
  return predecessor;
}

Result<> Predecessor::receive() {
  while (auto message = receiveMessage(channel_.get())) {
    const std::string_view text = message->text;
    if (text == kEnd) return {};
    if (text.empty()) break;
    if (text.starts_with(kDir)) {
      socket_dir_ = text.substr(kDir.size());
    } else if (text.starts_with(kSocket) && message->fd.valid()) {
      sockets_.push_back({std::string(text.substr(kSocket.size())), std::move(message->fd)});
    }
  }
  return fail(ErrorCode::Io, ErrorSource::Internal,
              "the process that is to be replaced has ended before it handed over its sockets");
}

Result<> Predecessor::relieve(EventLoop& loop, std::function<void()> done) {
  done_ = std::move(done);
  ::fcntl(channel_.get(), F_SETFL, ::fcntl(channel_.get(), F_GETFL) | O_NONBLOCK);
  sendMessage(channel_.get(), kReady);
  return loop.watchLevel(
      channel_.get(), watch_,
      [](void* self, short) { static_cast<Predecessor*>(self)->onChannel(); }, this);
}

// Its answer, or its end: in both cases its control process is gone, or soon will be.
void Predecessor::onChannel() {
  watch_.stop();
  done_();
}

}  // namespace flamegate::proxy
