#include "agent-protocol/token/secret.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace flamegate::agent {
namespace {

namespace fs = std::filesystem;

class SecretFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "flamegate-secret-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "app.key") const { return (folder_ / name).string(); }
  void write(const std::string& content) const {
    std::ofstream(path(), std::ios::binary) << content;
  }

  fs::path folder_;
};

TEST_F(SecretFile, IsMadeOnceWithModeAndForm) {
  const auto made = readOrCreateSecretFile(path());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->size(), 64U);
  EXPECT_EQ(made->find_first_not_of("0123456789abcdef"), std::string::npos);
  struct stat info {};
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_EQ(info.st_size, 65);
  EXPECT_EQ(*readOrCreateSecretFile(path()), *made);
  EXPECT_EQ(*readSecretFile(path()), *made);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no draft is left behind";
}

TEST_F(SecretFile, IsTheSameForAllWhoMakeItAtOnce) {
  std::vector<std::string> secrets(8);
  std::vector<std::thread> makers;
  for (auto& secret : secrets) {
    makers.emplace_back([this, &secret] { secret = readOrCreateSecretFile(path()).value(); });
  }
  for (auto& maker : makers) maker.join();
  EXPECT_EQ(std::set<std::string>(secrets.begin(), secrets.end()).size(), 1U);
}

TEST_F(SecretFile, KeepsItsTextAsBytesLessOneLineEnd) {
  const std::string words = "  thirty-two bytes and then some  ";
  for (const char* end : {"", "\n", "\r\n"}) {
    write(words + end);
    EXPECT_EQ(*readSecretFile(path()), words);
  }
  write(words + "\n\n");
  EXPECT_EQ(*readSecretFile(path()), words + "\n");
}

TEST_F(SecretFile, IsRefusedWhenShortOrLong) {
  write(std::string(31, 'x').append("\n"));
  EXPECT_EQ(readSecretFile(path()).error().code, proxy::ErrorCode::Malformed);
  EXPECT_FALSE(readOrCreateSecretFile(path())) << "a bad file is never replaced";
  write(std::string(kSecretBytesMax, 'x').append("\r\n"));
  EXPECT_TRUE(readSecretFile(path()));
  write(std::string(kSecretBytesMax + 1, 'x'));
  EXPECT_EQ(readSecretFile(path()).error().code, proxy::ErrorCode::TooLarge);
  write(std::string(100000, 'x'));
  EXPECT_EQ(readSecretFile(path()).error().code, proxy::ErrorCode::TooLarge);
}

TEST_F(SecretFile, NamesItsPathButNotItsContentWhenItFails) {
  write("short but secret");
  const auto failure = readSecretFile(path());
  ASSERT_FALSE(failure);
  EXPECT_NE(failure.error().detail.find(path()), std::string::npos);
  EXPECT_EQ(failure.error().detail.find("short but secret"), std::string::npos);
}

TEST_F(SecretFile, FailsWhereThereIsNoFolder) {
  EXPECT_FALSE(readOrCreateSecretFile(path("missing/app.key")));
  EXPECT_EQ(readSecretFile(path("missing/app.key")).error().code, proxy::ErrorCode::NotFound);
}

}  // namespace
}  // namespace flamegate::agent
