#include "agent-protocol/token/control_call.h"

#include <string>

#include <gtest/gtest.h>

namespace flamegate::agent {
namespace {

constexpr int64_t kNow = 1760000000000;
constexpr std::string_view kTarget = "/__flamegate/api/v1/profiles?limit=5";
const SessionKeyRing kKeys(SessionKeys::derive("the session secret, 32 bytes or more"));
const ControlCall kCall{Rights(Right::View) | Right::Manage, "J\xc3\xb6rg;=\n",
                        "shop.example.com:8080", true};

TEST(ControlCall, SaysWhatWasSigned) {
  const std::string field = signCall(kCall, "GET", kTarget, kNow, kKeys.current());
  EXPECT_EQ(field.find_first_of("\r\n ,"), field.find(','));
  EXPECT_EQ(verifyCall(field, "GET", kTarget, kNow, kKeys), kCall);
  const ControlCall nobody;
  EXPECT_EQ(
      verifyCall(signCall(nobody, "GET", "/", kNow, kKeys.current()), "GET", "/", kNow, kKeys),
      nobody);
}

TEST(ControlCall, IsBoundToMethodTargetAndMinute) {
  const std::string field = signCall(kCall, "GET", kTarget, kNow, kKeys.current());
  EXPECT_FALSE(verifyCall(field, "DELETE", kTarget, kNow, kKeys));
  EXPECT_FALSE(verifyCall(field, "GET", "/__flamegate/", kNow, kKeys));
  EXPECT_TRUE(verifyCall(field, "GET", kTarget, kNow + 60000, kKeys));
  EXPECT_FALSE(verifyCall(field, "GET", kTarget, kNow + 60001, kKeys));
  EXPECT_TRUE(verifyCall(field, "GET", kTarget, kNow - 60000, kKeys));
  EXPECT_FALSE(verifyCall(field, "GET", kTarget, kNow - 60001, kKeys));
}

TEST(ControlCall, IsRefusedWhenAnyByteIsChanged) {
  const std::string field = signCall(kCall, "GET", kTarget, kNow, kKeys.current());
  for (size_t i = 0; i < field.size(); ++i) {
    std::string changed = field;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(verifyCall(changed, "GET", kTarget, kNow, kKeys)) << changed;
    EXPECT_FALSE(verifyCall(field.substr(0, i), "GET", kTarget, kNow, kKeys));
  }
  EXPECT_FALSE(verifyCall("", "GET", kTarget, kNow, kKeys));
  EXPECT_FALSE(verifyCall(std::string(1 << 20, 'x'), "GET", kTarget, kNow, kKeys));
}

TEST(ControlCall, FollowsTheFormulaOfItsHeader) {
  const std::string field = signCall(kCall, "GET", kTarget, kNow, kKeys.current());
  const std::string holder = proxy::toBase64Url(kCall.holder);
  const std::string site = proxy::toBase64Url(kCall.site);
  const std::string text = "FG1-CTL\n1760000000000\nGET\n" + std::string(kTarget) +
                           "\nview,manage\n" + holder + "\n" + site + "\nhttps";
  const auto key =
      proxy::hmacSha256("the session secret, 32 bytes or more", "flamegate control v1");
  EXPECT_EQ(field,
            "v=1;ts=1760000000000;allow=view,manage;for=" + holder + ";site=" + site +
                ";scheme=https;sig=" +
                proxy::toBase64Url(proxy::asView(proxy::hmacSha256(proxy::asView(key), text))));
}

TEST(ControlCall, CutsLongNamesInsteadOfFailing) {
  const ControlCall call{Right::View, std::string(5000, 'n'), std::string(5000, 's'), false};
  const auto verified =
      verifyCall(signCall(call, "GET", "/", kNow, kKeys.current()), "GET", "/", kNow, kKeys);
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->holder.size(), 128U);
  EXPECT_EQ(verified->site.size(), 260U);
}

}  // namespace
}  // namespace flamegate::agent
