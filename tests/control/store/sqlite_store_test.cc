// The embedded store against crashes, damage, full and forbidden disks, and a second process.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/store/sqlite_database.h"
#include "tests/control/store/store_support.h"

namespace flamegate::control {
namespace {

using proxy::ErrorCode;
using std::chrono::hours;
namespace fs = std::filesystem;

config::Store embedded(const std::string& path) {
  config::Store config;
  config.path = path;
  return config;
}

WaitingStore openStore(const config::Store& config, WallClock clock = systemWallTime) {
  auto store = createStore(config, manualTuning(std::move(clock)));
  EXPECT_TRUE(store) << store.error().detail;
  return WaitingStore(std::move(*store));
}

void fill(WaitingStore& store, uint64_t count, size_t body_bytes) {
  for (uint64_t i = 1; i <= count; ++i) {
    ASSERT_TRUE(store.put(testRecord(i), testBody(body_bytes, static_cast<uint32_t>(i))));
  }
}

uint64_t countOf(WaitingStore& store) {
  auto page = store.list();
  return page ? page->total : UINT64_MAX;
}

size_t filesNamed(const TempDir& dir, const std::string& part) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(dir.path())) {
    if (entry.path().filename().string().find(part) != std::string::npos) ++count;
  }
  return count;
}

// A failed expectation in the child fails the test by the exit code.
void inChild(const std::function<void()>& body) {
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

// Puts without end and writes the number of each acknowledged profile into the pipe.
[[noreturn]] void writeUntilKilled(const std::string& path, uint64_t first, int pipe) {
  auto store = createStore(embedded(path));
  if (!store) ::_exit(1);
  for (uint64_t number = first;; ++number) {
    (*store)->put(testRecord(number), testBody(12 * 1024, static_cast<uint32_t>(number)),
                  [number, pipe](proxy::Result<> stored) {
                    if (stored && ::write(pipe, &number, sizeof number) < 0) ::_exit(1);
                  });
    // Waits for the queue now and then, so that it never overflows.
    if (number % 64 == 0) {
      static_cast<void>(wait<StoreStats>([&store](auto done) { (*store)->stats(done); }));
    }
  }
}

TEST(SqliteStore, HasWhatItAcknowledgedAfterKillsAtAnyMoment) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  uint64_t next = 1;
  for (int round = 0; round < 25; ++round) {
    int fds[2];
    ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) writeUntilKilled(path, next, fds[1]);
    ::close(fds[1]);
    std::vector<uint64_t> acknowledged;
    uint64_t number = 0;
    const size_t enough = 1 + static_cast<size_t>(round) * 7;
    while (acknowledged.size() < enough &&
           ::read(fds[0], &number, sizeof number) == sizeof number) {
      acknowledged.push_back(number);
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    while (::read(fds[0], &number, sizeof number) == sizeof number) acknowledged.push_back(number);
    ::close(fds[0]);
    ASSERT_GE(acknowledged.size(), enough) << "the child could not open or write the store";

    WaitingStore store = openStore(embedded(path));
    for (uint64_t each : acknowledged) {
      ASSERT_TRUE(store.find(testId(each))) << "round " << round;
      ASSERT_EQ(store.body(testId(each)).value_or(""),
                testBody(12 * 1024, static_cast<uint32_t>(each)));
    }
    next = acknowledged.back() + 1000;
  }
  EXPECT_EQ(filesNamed(dir, "damaged"), 0u);
}

void expectMostOfATruncatedFile(uint64_t cut_bytes, uint64_t lost_max) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  {
    WaitingStore store = openStore(embedded(path));
    fill(store, 50, 12 * 1024);
    ASSERT_TRUE(store.revoke({"jti-1", systemWallTime() + hours(1)}));
  }
  fs::resize_file(path, fs::file_size(path) - cut_bytes);
  WaitingStore store = openStore(embedded(path));
  uint64_t readable = 0;
  for (uint64_t i = 1; i <= 50; ++i) {
    auto body = store.body(testId(i));
    if (body && *body == testBody(12 * 1024, static_cast<uint32_t>(i))) ++readable;
  }
  EXPECT_GE(readable, 50 - lost_max);
  EXPECT_GE(countOf(store), 50 - lost_max);
  EXPECT_EQ(store.revoked()->size(), 1u);
  EXPECT_TRUE(store.put(testRecord(60), "body"));
  EXPECT_EQ(store.body(testId(60)).value_or(""), "body");
}

// The profile that met the end is lost, and the call that met the damage fails.
TEST(SqliteStore, SavesWhatCanBeReadOfATruncatedFile) {
  expectMostOfATruncatedFile(1024, 2);
  expectMostOfATruncatedFile(40 * 1024, 6);
}

TEST(SqliteStore, SavesWhatCanBeReadAroundDamagedPages) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  {
    WaitingStore store = openStore(embedded(path));
    fill(store, 200, 3000);
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(path) / 2 / 4096 * 4096));
    file << std::string(8192, '\xa5');
  }
  WaitingStore store = openStore(embedded(path));
  for (uint64_t i = 1; i <= 200; ++i) static_cast<void>(store.body(testId(i)));
  EXPECT_GE(countOf(store), 150u);
  EXPECT_TRUE(store.put(testRecord(500), "body"));
  EXPECT_EQ(store.body(testId(500)).value_or(""), "body");
}

TEST(SqliteStore, LosesNothingWhenItsLogIsCut) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  inChild([&path] {
    auto store = createStore(embedded(path), manualTuning());
    ASSERT_TRUE(store);
    WaitingStore waiting(std::move(*store));
    fill(waiting, 20, 12 * 1024);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);  // without closing: the log stays
  });
  const std::string log = path + "-wal";
  ASSERT_TRUE(fs::exists(log));
  fs::resize_file(log, fs::file_size(log) - 1024);
  WaitingStore store = openStore(embedded(path));
  EXPECT_GE(countOf(store), 19u) << "the last commit alone lay in the part that is gone";
  EXPECT_EQ(filesNamed(dir, "damaged"), 0u);
}

TEST(SqliteStore, BeginsWithAnEmptyFile) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  std::ofstream(path).close();
  WaitingStore store = openStore(embedded(path));
  EXPECT_TRUE(store.put(testRecord(1), "body"));
  EXPECT_EQ(filesNamed(dir, "damaged"), 0u);
}

TEST(SqliteStore, SetsAFileAsideThatIsNoDatabase) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  std::ofstream(path) << std::string(10'000, 'x');
  WaitingStore store = openStore(embedded(path));
  EXPECT_TRUE(store.put(testRecord(1), "body"));
  EXPECT_EQ(countOf(store), 1u);
  EXPECT_EQ(filesNamed(dir, "damaged"), 1u);
}

TEST(SqliteStore, RefusesAnotherProgramsDatabase) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  {
    auto database = SqliteDatabase::create(path);
    ASSERT_TRUE(database);
    ASSERT_TRUE((*database)->execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1)"));
  }
  auto store = createStore(embedded(path), manualTuning());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::Conflict);
  EXPECT_EQ(filesNamed(dir, "damaged"), 0u);
}

TEST(SqliteStore, RefusesASecondProcessOnItsFile) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  WaitingStore store = openStore(embedded(path));
  inChild([&path] {
    auto second = createStore(embedded(path), manualTuning());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    EXPECT_NE(second.error().detail.find("in use by another"), std::string::npos);
  });
  EXPECT_TRUE(store.put(testRecord(1), "body"));
  store.close();
  openStore(embedded(path));
}

TEST(SqliteStore, IsReadableByItsOwnerOnly) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  WaitingStore store = openStore(embedded(path));
  fill(store, 1, 100);
  for (const auto& entry : fs::directory_iterator(dir.path())) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077, 0u) << entry.path();
  }
}

TEST(SqliteStore, ComesUpWhenItsFolderDoes) {
  TempDir dir;
  const std::string folder = dir.file("later");
  WaitingStore store = openStore(embedded(folder + "/store.db"));
  auto refused = store.put(testRecord(1), "body");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_FALSE(store.stats()->available);
  fs::create_directory(folder);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!store.put(testRecord(1), "body")) ASSERT_LT(std::chrono::steady_clock::now(), end);
  EXPECT_TRUE(store.stats()->available);
}

TEST(SqliteStore, BeginsAnewWhenItsFileIsRemoved) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  WaitingStore store = openStore(embedded(path));
  fill(store, 3, 100);
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(path + part);
  EXPECT_TRUE(store.put(testRecord(9), "body"));
  EXPECT_EQ(countOf(store), 1u);
  store.close();
  WaitingStore again = openStore(embedded(path));
  EXPECT_EQ(again.body(testId(9)).value_or(""), "body");
}

TEST(SqliteStore, ReportsAReadOnlyFolder) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0555), 0);
  inChild([&path] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0) {
      ASSERT_EQ(::setresgid(kNobody, kNobody, kNobody), 0);
      ASSERT_EQ(::setresuid(kNobody, kNobody, kNobody), 0);
    }
    WaitingStore store = openStore(embedded(path));
    auto refused = store.put(testRecord(1), "body");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
    EXPECT_EQ(store.find(testId(1)).error().code, ErrorCode::Unavailable);
    EXPECT_FALSE(store.list());
    EXPECT_FALSE(store.stats()->available);
  });
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
}

// Puts until one is refused; what was acknowledged must stay readable meanwhile.
uint64_t putUntilRefused(WaitingStore& store, ErrorCode& code) {
  for (uint64_t number = 1; number < 100'000; ++number) {
    auto stored = store.put(testRecord(number), testBody(50'000));
    if (stored) continue;
    code = stored.error().code;
    return number - 1;
  }
  return 0;
}

TEST(SqliteStore, GoesOnWhenFilesMayGrowAgain) {
  TempDir dir;
  inChild([&dir] {
    WaitingStore store = openStore(embedded(dir.file("store.db")));
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlimit small{1 << 20, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    ErrorCode code{};
    const uint64_t stored = putUntilRefused(store, code);
    EXPECT_GT(stored, 0u);
    EXPECT_TRUE(code == ErrorCode::Unavailable || code == ErrorCode::Full);
    EXPECT_EQ(countOf(store), stored);
    EXPECT_EQ(store.body(testId(stored)).value_or(""), testBody(50'000));
    EXPECT_FALSE(store.stats()->available);

    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_TRUE(store.put(testRecord(200'000), "body"));
    EXPECT_EQ(countOf(store), stored + 1);
    EXPECT_TRUE(store.stats()->available);
  });
}

TEST(SqliteStore, ReportsAFullDiskAndGoesOnWhenThereIsRoom) {
  TempDir dir;
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root";
  inChild([&dir] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
      return;  // not permitted here
    }
    WaitingStore store = openStore(embedded(dir.file("store.db")));
    ErrorCode code{};
    const uint64_t stored = putUntilRefused(store, code);
    EXPECT_GT(stored, 0u);
    EXPECT_EQ(code, ErrorCode::Full);
    EXPECT_EQ(countOf(store), stored);
    EXPECT_FALSE(store.stats()->available);
    ASSERT_EQ(::mount("tmpfs", dir.path().c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
    EXPECT_TRUE(store.sweep());
    EXPECT_TRUE(store.stats()->available) << "the sweep tried a write";
    EXPECT_TRUE(store.put(testRecord(200'000), "body"));
  });
}

TEST(SqliteStore, GivesTheSpaceOfErasedProfilesBack) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  WaitingStore store = openStore(embedded(path));
  fill(store, 300, 100'000);
  ASSERT_TRUE(store.sweep());
  for (uint64_t i = 1; i <= 300; ++i) ASSERT_TRUE(store.erase(testId(i)));
  ASSERT_TRUE(store.sweep());
  EXPECT_LT(fs::file_size(path) + fs::file_size(path + "-wal"), 3'000'000u);
}

TEST(SqliteStore, StartsWithManyExpiredProfilesAndForgetsThem) {
  TempDir dir;
  const std::string path = dir.file("store.db");
  FakeWallClock clock;
  {
    auto store = createStore(embedded(path), manualTuning(clock.asClock()));
    ASSERT_TRUE(store);
    for (uint64_t i = 1; i <= 4000; ++i) (*store)->put(testRecord(i), testBody(500), [](auto) {});
  }
  clock.advance(hours(48));
  WaitingStore store = openStore(embedded(path), clock.asClock());
  EXPECT_EQ(countOf(store), 0u);
  EXPECT_EQ(store.stats()->profiles, 0u) << "expired ones are not even loaded";
  EXPECT_TRUE(store.put(testRecord(5000), "body"));
  ASSERT_TRUE(store.sweep());
  EXPECT_LT(fs::file_size(path), 3'000'000u);
  EXPECT_EQ(countOf(store), 1u);
}

TEST(SqliteStore, SweepsByItself) {
  TempDir dir;
  FakeWallClock clock;
  StoreTuning tuning;
  tuning.clock = clock.asClock();
  tuning.queue.sweep_every = std::chrono::milliseconds(10);
  auto store = createStore(embedded(dir.file("store.db")), std::move(tuning));
  ASSERT_TRUE(store);
  WaitingStore waiting(std::move(*store));
  fill(waiting, 5, 100);
  clock.advance(hours(25));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (waiting.stats()->evicted_age < 5) ASSERT_LT(std::chrono::steady_clock::now(), end);
}

}  // namespace
}  // namespace flamegate::control
