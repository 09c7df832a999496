#include "tests/control/store/store_support.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace flamegate::control {
namespace {

constexpr std::chrono::seconds kServerStartMax{20};

std::vector<char*> argumentPointers(const std::vector<std::string>& arguments) {
  std::vector<char*> out;
  for (const std::string& argument : arguments) out.push_back(const_cast<char*>(argument.c_str()));
  out.push_back(nullptr);
  return out;
}

// Runs a program with its output in a pipe, or nowhere.
pid_t spawn(const std::vector<std::string>& arguments, int output_fd) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output_fd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  auto pointers = argumentPointers(arguments);
  pid_t pid = -1;
  const int failure = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failure == 0 ? pid : -1;
}

std::string outputOf(const std::vector<std::string>& arguments) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return {};
  const pid_t pid = spawn(arguments, fds[1]);
  ::close(fds[1]);
  std::string out;
  char bytes[4096];
  for (ssize_t size; (size = ::read(fds[0], bytes, sizeof bytes)) > 0;) {
    out.append(bytes, static_cast<size_t>(size));
  }
  ::close(fds[0]);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "flamegate-XXXXXX").string();
  if (char* made = ::mkdtemp(name.data())) path_ = made;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

proxy::Result<> WaitingStore::put(ProfileRecord record, std::optional<std::string> body) {
  return wait<void>([&](auto done) { store_->put(std::move(record), std::move(body), done); });
}
proxy::Result<ProfileRecord> WaitingStore::update(const std::string& id, RecordChange change,
                                                  std::optional<std::string> body) {
  return wait<ProfileRecord>(
      [&](auto done) { store_->update(id, std::move(change), std::move(body), done); });
}
proxy::Result<ProfileRecord> WaitingStore::find(const std::string& id) {
  return wait<ProfileRecord>([&](auto done) { store_->find(id, done); });
}
proxy::Result<std::string> WaitingStore::body(const std::string& id) {
  return wait<std::string>([&](auto done) { store_->body(id, done); });
}
proxy::Result<ListPage> WaitingStore::list(ListQuery query) {
  return wait<ListPage>([&](auto done) { store_->list(std::move(query), done); });
}
proxy::Result<std::vector<Group>> WaitingStore::groups(GroupBy by, ListQuery filters,
                                                       size_t limit) {
  return wait<std::vector<Group>>(
      [&](auto done) { store_->groups(by, std::move(filters), limit, done); });
}
proxy::Result<> WaitingStore::erase(const std::string& id) {
  return wait<void>([&](auto done) { store_->erase(id, done); });
}
proxy::Result<ProfileRecord> WaitingStore::pin(const std::string& id) {
  return wait<ProfileRecord>([&](auto done) { store_->pin(id, done); });
}
proxy::Result<ProfileRecord> WaitingStore::unpin(const std::string& id) {
  return wait<ProfileRecord>([&](auto done) { store_->unpin(id, done); });
}
proxy::Result<> WaitingStore::revoke(RevokedToken token) {
  return wait<void>([&](auto done) { store_->revoke(std::move(token), done); });
}
proxy::Result<std::vector<RevokedToken>> WaitingStore::revoked() {
  return wait<std::vector<RevokedToken>>([&](auto done) { store_->revoked(done); });
}
proxy::Result<StoreStats> WaitingStore::stats() {
  return wait<StoreStats>([&](auto done) { store_->stats(done); });
}
proxy::Result<> WaitingStore::sweep() {
  return wait<void>([&](auto done) { store_->sweep(done); });
}

std::string testId(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%020llu", static_cast<unsigned long long>(number));
  return text;
}

ProfileRecord testRecord(uint64_t number, WallTime started_at) {
  ProfileRecord record;
  record.id = testId(number);
  record.state = ProfileState::Stored;
  record.trigger = number % 2 == 0 ? Trigger::Query : Trigger::Campaign;
  record.method = "GET";
  record.path = "/shop/items/" + std::to_string(number);
  record.host = "host-" + std::to_string(number % 3);
  record.route = "GET /shop/items/:id";
  record.service = "shop";
  record.status = number % 5 == 0 ? 404 : 200;
  record.site = "shop.example.com";
  record.started_at = started_at;
  record.duration = Micros(1000 * static_cast<int64_t>(number) + 250);
  record.samples = number * 10;
  record.agent = "python/1.0";
  return record;
}

std::vector<std::string> idsOf(const ListPage& page) {
  std::vector<std::string> ids;
  for (const ProfileRecord& record : page.records) ids.push_back(record.id);
  return ids;
}

std::string testBody(size_t size, uint32_t seed) {
  std::minstd_rand random(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random() >> 8);
  return out;
}

StoreTuning manualTuning(WallClock clock) {
  StoreTuning tuning;
  tuning.queue.sweep_every = std::chrono::milliseconds(0);
  tuning.clock = std::move(clock);
  return tuning;
}

RedisServer::RedisServer(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  start();
}

RedisServer::~RedisServer() { stop(); }

bool RedisServer::available() {
  return outputOf({"redis-server", "--version"}).starts_with("Redis server");
}

void RedisServer::start() {
  std::vector<std::string> arguments = {
      "redis-server", "--port", "0",     "--unixsocket", dir_.file("redis.sock"), "--save", "",
      "--appendonly", "no",     "--dir", dir_.path(),    "--daemonize",           "no"};
  arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
  pid_ = spawn(arguments, -1);
  ASSERT_GT(pid_, 0);
  const auto end = std::chrono::steady_clock::now() + kServerStartMax;
  // Without the login that a server may demand, NOAUTH is an answer as well.
  for (std::string answer; answer != "PONG" && !answer.starts_with("NOAUTH");) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "redis-server does not answer";
    answer = command({"PING"});
  }
}

void RedisServer::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

config::Store RedisServer::config() const {
  config::Store config;
  config.kind = config::Store::Kind::Redis;
  config.redis.address = config::Address::unixSocket(dir_.file("redis.sock"));
  config.redis.user = user_;
  config.redis.password = password_;
  config.redis.timeout = std::chrono::seconds(10);
  return config;
}

std::string RedisServer::command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> line = {"redis-cli", "-s", dir_.file("redis.sock"), "--no-auth-warning"};
  if (!user_.empty()) line.insert(line.end(), {"--user", user_});
  if (!password_.empty()) line.insert(line.end(), {"--pass", password_});
  line.insert(line.end(), arguments.begin(), arguments.end());
  return outputOf(line);
}

std::vector<std::string> RedisServer::keys() const {
  std::vector<std::string> out;
  std::string key;
  for (char c : command({"KEYS", "*"}) + "\n") {
    if (c != '\n') {
      key.push_back(c);
    } else if (!key.empty()) {
      out.push_back(std::move(key));
      key.clear();
    }
  }
  return out;
}

void RedisServer::setLogin(std::string user, std::string password) {
  user_ = std::move(user);
  password_ = std::move(password);
}

}  // namespace flamegate::control
