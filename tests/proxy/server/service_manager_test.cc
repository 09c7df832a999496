#include "proxy/server/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "proxy/server/listen_sockets.h"
#include "tests/proxy/net/sockets.h"

namespace flamegate::proxy {
namespace {

constexpr int kFirst = 3;

// Runs `check` in a child process whose descriptors from 3 on are `fds`; the child ends with its result.
template <typename Check>
bool holdsInService(const std::vector<int>& fds, const std::string& count, Check check,
                    bool for_us = true) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<int> copies;
    for (int fd : fds) copies.push_back(::fcntl(fd, F_DUPFD, 100));
    for (size_t i = 0; i < copies.size(); ++i) ::dup2(copies[i], kFirst + static_cast<int>(i));
    ::setenv("LISTEN_PID", std::to_string(for_us ? ::getpid() : ::getppid()).c_str(), 1);
    ::setenv("LISTEN_FDS", count.c_str(), 1);
    ::_exit(check() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

config::Listener listenerAt(const Address& address) {
  config::Listener listener;
  listener.address.host = address.host();
  listener.address.port = address.port();
  return listener;
}

TEST(ServiceManager, HandsListeningSocketsOver) {
  const UniqueFd listening = listenAnywhere();
  EXPECT_TRUE(holdsInService({listening.get()}, "1", [] {
    const std::vector<UniqueFd> taken = takeInheritedSockets();
    return taken.size() == 1 && taken[0].get() == kFirst &&
           (::fcntl(kFirst, F_GETFD) & FD_CLOEXEC) != 0 &&
           (::fcntl(kFirst, F_GETFL) & O_NONBLOCK) != 0 && std::getenv("LISTEN_FDS") == nullptr &&
           takeInheritedSockets().empty();
  }));
}

TEST(ServiceManager, LeavesSocketsOfAnotherProcessAlone) {
  const UniqueFd listening = listenAnywhere();
  EXPECT_TRUE(holdsInService(
      {listening.get()}, "1",
      [] { return takeInheritedSockets().empty() && ::fcntl(kFirst, F_GETFD) == 0; }, false));
}

TEST(ServiceManager, ClosesWhatDoesNotListen) {
  const SocketPair pair = makeSocketPair();
  const UniqueFd listening = listenAnywhere();
  EXPECT_TRUE(holdsInService({pair.ours.get(), listening.get()}, "2", [] {
    const std::vector<UniqueFd> taken = takeInheritedSockets();
    return taken.size() == 1 && taken[0].get() == kFirst + 1 && ::fcntl(kFirst, F_GETFD) == -1;
  }));
}

TEST(ServiceManager, TakesNothingWhenTheCountIsNoCount) {
  const UniqueFd listening = listenAnywhere();
  for (const char* count : {"", "x", "-1", "1x", "257", "99999999999"}) {
    EXPECT_TRUE(holdsInService({listening.get()}, count, [] {
      return takeInheritedSockets().empty();
    })) << count;
  }
}

TEST(ServiceManager, ListenersAreServedFromInheritedSockets) {
  UniqueFd listening = listenAnywhere();
  const Address address = localAddress(listening.get());
  const int original = listening.get();
  std::vector<UniqueFd> inherited;
  inherited.push_back(std::move(listening));
  ListenSockets sockets(2, std::move(inherited));
  // Nothing else may listen there, so an own socket could not be opened.
  ASSERT_TRUE(sockets.open({listenerAt(address)}));
  EXPECT_EQ(sockets.boundTo(listenerAt(address)), address.toString());
  for (size_t worker : {0, 1}) {
    auto fds = sockets.duplicate({listenerAt(address)}, worker);
    ASSERT_TRUE(fds);
    EXPECT_EQ(localAddress(fds->front().fd.get()).toString(), address.toString());
  }
  sockets.closeOthers({});
  EXPECT_EQ(::fcntl(original, F_GETFD), -1);
}

// A service manager's end of NOTIFY_SOCKET.
struct Manager {
  explicit Manager(std::string_view name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, name.size());
    const std::string variable(name);
    ::setenv("NOTIFY_SOCKET", variable.c_str(), 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  }
  ~Manager() { ::unsetenv("NOTIFY_SOCKET"); }
  UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST(ServiceManager, IsToldOnItsSocket) {
  const std::string path = testing::TempDir() + "notify-" + std::to_string(::getpid());
  for (const std::string& name : {path, "@flamegate-" + std::to_string(::getpid())}) {
    const Manager manager(name);
    notifyServiceManager("READY=1");
    EXPECT_EQ(receiveSome(manager.fd.get(), 7), "READY=1") << name;
  }
  ::unlink(path.c_str());
}

TEST(ServiceManager, IsNotMissedWhenItIsNotThere) {
  ::unsetenv("NOTIFY_SOCKET");
  notifyServiceManager("READY=1");
  for (const std::string& name : {std::string("/nonexistent/notify"), std::string("relative"),
                                  "/" + std::string(200, 'x')}) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    notifyServiceManager("READY=1");
  }
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace flamegate::proxy
