#include "proxy/route/path.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace flamegate::proxy {
namespace {

TEST(Path, ComesIntoNormalForm) {
  const std::pair<const char*, const char*> paths[] = {
      {"/", "/"},
      {"/a/b", "/a/b"},
      {"/a/b/", "/a/b/"},
      {"//", "/"},
      {"//a///b", "/a/b"},
      {"/a//", "/a/"},
      {"/.", "/"},
      {"/a/.", "/a/"},
      {"/a/./b", "/a/b"},
      {"/..", "/"},
      {"/../../a", "/a"},
      {"/a/../b", "/b"},
      {"/a/b/..", "/a/"},
      {"/a/b/../..", "/"},
      {"/a/...", "/a/..."},
      {"/a/.b", "/a/.b"},
      {"/a/..b/c", "/a/..b/c"},
      {"/%61%62", "/ab"},
      {"/%7Euser", "/~user"},
      {"/%2e%2E/a", "/a"},
      {"/a/%2e%2e/b", "/b"},
      {"/a%2fb", "/a%2Fb"},
      {"/a/%2F../b", "/a/%2F../b"},
      {"/%252e%252e/", "/%252e%252e/"},
      {"/%c3%a9", "/%C3%A9"},
      {"/\xc3\xa9", "/\xc3\xa9"},
      {"/a;b=c/../d", "/d"},
      {"/a\\..\\b", "/a\\..\\b"},
      {"/%5f_flamegate/", "/__flamegate/"},
      {"a/b", "/a/b"},
      {"*", "/*"},
      {"", "/"},
  };
  for (const auto& [path, normal] : paths) {
    EXPECT_EQ(normalizePath(path), normal) << path;
    EXPECT_EQ(normalizePath(normal), normal) << "once normal, always: " << path;
  }
}

TEST(Path, HasNoNormalFormWithAMalformedEscapeOrNul) {
  for (const char* path :
       {"/%", "/%4", "/%4/", "/%zz", "/%0g", "/a%", "/%00", "/a/%00b", "/%%41"}) {
    EXPECT_FALSE(normalizePath(path)) << path;
  }
}

TEST(Path, IsPlainWhenNothingIsToBeNormalized) {
  for (const char* path : {"/", "/a", "/a/b.c", "/a.b/c.", "/index.html", "/a/", "/a-b_c~d",
                           "/0123456789abcdef/0123456789abcdef"}) {
    EXPECT_TRUE(isPlainPath(path)) << path;
  }
  for (const char* path : {"//", "/.", "/..", "/.a", "/a//b", "/a/.b", "/%41", "/a%",
                           "/23456789abcdef//", "/23456789abcde//", "/23456789abcde/.",
                           "/23456789abcdef/.", "/0123456789abcdef0123456789%41"}) {
    EXPECT_FALSE(isPlainPath(path)) << path;
  }
}

// A plain path is taken as it is, so it must be what normalizing would give.
TEST(Path, PlainPathsAreNormalAtAnyPlaceInABlock) {
  std::mt19937 random(7);
  constexpr char kAlphabet[] = "aaaaaaaab/.%/";
  for (int round = 0; round < 50'000; ++round) {
    std::string path = "/";
    for (size_t i = random() % 50; i > 0; --i) path += kAlphabet[random() % (sizeof kAlphabet - 1)];
    if (isPlainPath(path)) {
      ASSERT_EQ(normalizePath(path), path);
    } else {
      const bool special = path.find("//") != std::string::npos ||
                           path.find("/.") != std::string::npos ||
                           path.find('%') != std::string::npos;
      ASSERT_TRUE(special) << path;
    }
  }
}

}  // namespace
}  // namespace flamegate::proxy
