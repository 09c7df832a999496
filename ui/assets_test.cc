#include "ui/assets.h"

#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <zlib.h>

#include "proxy/base/encoding.h"

namespace flamegate::ui {
namespace {

std::string inflateGzip(std::string_view bytes, size_t size) {
  std::string out(size + 1, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::string hashOf(std::string_view bytes) {
  return proxy::toHex(proxy::asView(proxy::sha256(bytes))).substr(0, 16);
}

TEST(UiAssets, AreTheFilesThatTheManifestHashed) {
  ASSERT_GT(assets().size(), 5U);
  for (const Asset& asset : assets()) {
    EXPECT_EQ(asset.etag, "\"" + hashOf(asset.body) + "\"") << asset.path;
  }
}

TEST(UiAssets, GzipVariantsHoldTheSameBytesUnderAnotherTag) {
  int variants = 0;
  for (const Asset& asset : assets()) {
    if (asset.gzip.empty()) continue;
    ++variants;
    EXPECT_EQ(inflateGzip(asset.gzip, asset.body.size()), asset.body) << asset.path;
    EXPECT_NE(asset.gzip_etag, asset.etag) << asset.path;
  }
  EXPECT_GT(variants, 3);
}

TEST(UiAssets, AreFoundByTheirExactPathOnly) {
  for (const Asset& asset : assets()) {
    const bool page = asset.path == "index.html";
    EXPECT_EQ(findAsset(asset.path), page ? nullptr : &asset) << asset.path;
  }
  for (const std::string_view path : {"", "/", "assets", "assets/", "../ui/assets.h", "b/x.js",
                                      "speedscope", "speedscope/", "index.html", "zzz"}) {
    EXPECT_EQ(findAsset(path), nullptr) << path;
  }
}

TEST(UiAssets, NamesThatDoNotChangeAreRevalidated) {
  const Asset* page = findAsset("speedscope/index.html");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(cacheControl(*page), "no-cache");
  const Asset* badge = findAsset(badgePath());
  ASSERT_NE(badge, nullptr);
  EXPECT_NE(cacheControl(*badge).find("immutable, no-transform"), std::string_view::npos);
}

TEST(UiAssets, BadgeIntegrityIsTheHashOfTheBadge) {
  const Asset* badge = findAsset(badgePath());
  ASSERT_NE(badge, nullptr);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  ASSERT_EQ(EVP_Digest(badge->body.data(), badge->body.size(), digest.data(), &size, EVP_sha384(),
                       nullptr),
            1);
  std::string text(static_cast<size_t>(4) * ((size + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), digest.data(),
                  static_cast<int>(size));
  EXPECT_EQ(badgeIntegrity(), "sha384-" + text);
  EXPECT_LE(badge->gzip.size(), 6U * 1024);
}

TEST(UiAssets, ConsolePageNamesItsAssetsUnderThePrefix) {
  const ConsolePage page = consolePage("/__flamegate");
  EXPECT_EQ(page.body.find("@PREFIX@"), std::string::npos);
  EXPECT_NE(page.body.find(R"(content="/__flamegate")"), std::string::npos);
  EXPECT_NE(page.body.find(R"(src="/__flamegate/assets/)"), std::string::npos);
  EXPECT_EQ(page.body.find("<style"), std::string::npos);
  EXPECT_EQ(page.body.find("<script>"), std::string::npos);
}

TEST(UiAssets, ConsolePageEscapesThePrefixAndTagsItApart) {
  const ConsolePage odd = consolePage("/a\"><script>&");
  EXPECT_NE(odd.body.find(R"(content="/a&quot;&gt;&lt;script&gt;&amp;")"), std::string::npos);
  const std::set<std::string> tags = {consolePage("/a").etag, consolePage("/b").etag, odd.etag};
  EXPECT_EQ(tags.size(), 3U);
  EXPECT_EQ(consolePage("/a").etag, consolePage("/a").etag);
}

TEST(UiAssets, KnowsTheConsolesPages) {
  for (const std::string_view path :
       {"", "profiles", "p/0123456789abcdefghij", "routes", "routes/GET%20%2F", "hosts", "hosts/web-1",
        "campaigns", "campaigns/new", "compare", "live", "status", "flamegraph"}) {
    EXPECT_TRUE(isConsolePath(path)) << path;
  }
  for (const std::string_view path :
       {"p", "p/", "hosts/", "api/v1/profiles", "assets/x.js", "b/x.js", "profilesx"}) {
    EXPECT_FALSE(isConsolePath(path)) << path;
  }
}

}  // namespace
}  // namespace flamegate::ui
