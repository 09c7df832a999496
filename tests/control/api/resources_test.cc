// Every resource below the prefix, as values.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "control/profiles/compression.h"
#include "tests/control/api/api_fixture.h"

namespace flamegate::control {
namespace {

using nlohmann::json;
using proxy::Method;
using std::chrono_literals::operator""s;
using Phase = agent::CaptureRecord::Phase;

json bodyOf(const ApiResponse& response) {
  return json::parse(response.body.view(), nullptr, false);
}
std::string errorOf(const ApiResponse& response) {
  const json body = bodyOf(response);
  return body.contains("error") ? body["error"]["code"].get<std::string>() : "";
}
std::string headerOf(const ApiResponse& response, std::string_view name) {
  const std::string* const value = response.findHeader(name);
  return value == nullptr ? "" : *value;
}

class ResourcesTest : public ApiFixture {};

// ---- Rights and methods -------------------------------------------------------------------------

TEST_F(ResourcesTest, NeedsTheRightOfTheResource) {
  const std::string id = putStored();
  ApiRequest list = get({"profiles"});
  list.caller.allow = agent::Rights(agent::Right::Trigger) | agent::Right::Manage;
  EXPECT_EQ(answer(list).status, 403);
  ApiRequest erase = request(Method::Delete, {"api", "v1", "profiles", id});
  erase.caller.allow = agent::Rights(agent::Right::View) | agent::Right::Trigger;
  EXPECT_EQ(answer(erase).status, 403);
  ApiRequest nobody = get({"profiles"});
  nobody.caller.allow = {};
  EXPECT_EQ(answer(nobody).status, 403);
  ApiRequest page = request(Method::Get, {""});
  page.caller.allow = agent::Right::Trigger;
  EXPECT_EQ(answer(page).status, 403);
}

TEST_F(ResourcesTest, NamesTheMethodsOfAPath) {
  const ApiResponse response = answer(request(Method::Post, {"api", "v1", "profiles", "x"}));
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(headerOf(response, "allow"), "GET, HEAD, DELETE");
  EXPECT_EQ(answer(request(Method::Get, {"api", "v1", "nothing"})).status, 404);
  EXPECT_EQ(answer(request(Method::Post, {"nothing"})).status, 404);
  EXPECT_EQ(answer(request(Method::Head, {"api", "v1", "profiles"})).status, 200);
}

TEST_F(ResourcesTest, RefusesChangesFromForeignPages) {
  const auto pin = [&](const std::string& origin, const std::string& site) {
    ApiRequest call = request(Method::Post, {"api", "v1", "profiles", putStored(), "pin"});
    call.origin = origin;
    call.sec_fetch_site = site;
    return answer(call).status;
  };
  EXPECT_EQ(pin("", ""), 200);
  EXPECT_EQ(pin("http://shop.example", "same-origin"), 200);
  EXPECT_EQ(pin("HTTP://Shop.Example", ""), 200);
  EXPECT_EQ(pin("https://public.example", ""), 200);
  EXPECT_EQ(pin("", "none"), 200);
  EXPECT_EQ(pin("https://shop.example", ""), 403) << "another scheme is another origin";
  EXPECT_EQ(pin("http://shop.example:81", ""), 403);
  EXPECT_EQ(pin("null", ""), 403);
  EXPECT_EQ(pin("http://shop.example", "cross-site"), 403);
  EXPECT_EQ(pin("", "same-site"), 403);
}

TEST_F(ResourcesTest, TakesJsonBodiesOnly) {
  ApiRequest call = request(Method::Post, {"api", "v1", "profiles", putStored(), "pin"});
  call.body = "{}";
  EXPECT_EQ(answer(call).status, 415);
  call.content_type = "text/plain";
  EXPECT_EQ(answer(call).status, 415);
  call.content_type = "application/json; charset=utf-8";
  EXPECT_EQ(answer(call).status, 200);
}

TEST_F(ResourcesTest, SaysWhatThisVersionDoesNotServe) {
  for (const char* name : {"campaigns", "merge", "diff"}) {
    const ApiResponse response = answer(get({name}));
    EXPECT_EQ(response.status, 501) << name;
    EXPECT_EQ(errorOf(response), "not-available");
  }
}

// ---- The list -----------------------------------------------------------------------------------

TEST_F(ResourcesTest, ListsInPages) {
  for (int i = 0; i < 3; ++i) putStored();
  const json first = bodyOf(answer(get({"profiles"}, {{"limit", "2"}})));
  EXPECT_EQ(first["profiles"].size(), 2U);
  EXPECT_EQ(first["total"], 3);
  ASSERT_TRUE(first.contains("next"));
  const json second = bodyOf(
      answer(get({"profiles"}, {{"limit", "2"}, {"cursor", first["next"].get<std::string>()}})));
  EXPECT_EQ(second["profiles"].size(), 1U);
  EXPECT_FALSE(second.contains("next"));
}

TEST_F(ResourcesTest, Filters) {
  putStored();
  ProfileRecord other = record(newId(), ProfileState::Failed);
  other.reason = FailReason::NoUpload;
  other.status = 404;
  other.route = "GET /users/:id";
  other.duration = Micros(800'000);
  put(other, std::nullopt);
  const auto total = [&](const char* name, const char* value) {
    return bodyOf(answer(get({"profiles"}, {{name, value}})))["total"].get<int>();
  };
  EXPECT_EQ(total("status", "404"), 1);
  EXPECT_EQ(total("status", "4xx"), 1);
  EXPECT_EQ(total("status", "5xx"), 0);
  EXPECT_EQ(total("state", "failed"), 1);
  EXPECT_EQ(total("route", "GET /users/:id"), 1);
  EXPECT_EQ(total("min_ms", "799.5"), 1);
  EXPECT_EQ(total("from", "2027-01-15T08:00:00Z"), 2);
  EXPECT_EQ(total("from", "1800000000001"), 0);
  EXPECT_EQ(total("to", "1800000000001"), 2);
  EXPECT_EQ(total("q", "USERS"), 1);
  EXPECT_EQ(total("host", ""), 2);
}

TEST_F(ResourcesTest, RefusesBadFilters) {
  const std::vector<QueryPair> bad = {
      {"status", "4x"},      {"status", "999"},    {"status", "abc"},
      {"state", "done"},     {"trigger", "Query"}, {"min_ms", "-1"},
      {"min_ms", "1e3"},     {"min_ms", "nan"},    {"min_ms", "5ms"},
      {"from", "today"},     {"to", "-5"},         {"sort", "name"},
      {"sort", "--samples"}, {"limit", "0"},       {"limit", "501"},
      {"limit", "x"},        {"cursor", "!"},      {"from", "253402300800000"}};
  for (const QueryPair& pair : bad) {
    EXPECT_EQ(answer(get({"profiles"}, {pair})).status, 400) << pair.name << "=" << pair.value;
  }
  EXPECT_EQ(answer(get({"profiles"}, {{"unknown", "x"}})).status, 200);
}

// ---- One profile --------------------------------------------------------------------------------

TEST_F(ResourcesTest, ShowsMetadata) {
  const std::string id = putStored();
  const ApiResponse response = answer(get({"profiles", id}));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(headerOf(response, "content-type"), "application/json");
  const json body = bodyOf(response);
  EXPECT_EQ(body["id"], id);
  EXPECT_EQ(body["state"], "stored");
  EXPECT_EQ(body["duration_ms"], 1.5);
  EXPECT_EQ(body["links"]["page"], "/__flamegate/p/" + id);
  EXPECT_EQ(body["links"]["download"], "/__flamegate/api/v1/profiles/" + id + "/download");
}

TEST_F(ResourcesTest, DoesNotKnowStrangers) {
  EXPECT_EQ(answer(get({"profiles", std::string(newId().text())})).status, 404);
  for (const char* id : {"x", "../etc", "ABCDEFGHIJKLMNOPQRST", "0123456789012345678\x01"}) {
    EXPECT_EQ(answer(get({"profiles", id})).status, 404) << id;
    EXPECT_EQ(answer(get({"profiles", id, "download"})).status, 404) << id;
    EXPECT_EQ(answer(request(Method::Delete, {"api", "v1", "profiles", id})).status, 404) << id;
    EXPECT_EQ(answer(request(Method::Post, {"api", "v1", "profiles", id, "pin"})).status, 404);
  }
}

TEST_F(ResourcesTest, HoldsUntilSettled) {
  const auto id = newId();
  const auto response = ask(get({"profiles", std::string(id.text())}, {{"wait", "5s"}}));
  settle();
  EXPECT_FALSE(response->has_value());
  join_.onCapture(capture(id, Phase::Begin));
  agent::CaptureRecord end = capture(id, Phase::End);
  end.failure = "refused";
  join_.onCapture(end);
  settle();
  ASSERT_TRUE(response->has_value());
  EXPECT_EQ(bodyOf(**response)["reason"], "refused");
}

TEST_F(ResourcesTest, AnswersWhenTheWaitIsOver) {
  const auto running = newId();
  join_.onCapture(capture(running, Phase::Begin));
  const auto known = ask(get({"profiles", std::string(running.text())}, {{"wait", "5s"}}));
  const auto unknown = ask(get({"profiles", std::string(newId().text())}, {{"wait", "5s"}}));
  settle();
  advance(6s);
  ASSERT_TRUE(known->has_value() && unknown->has_value());
  EXPECT_EQ((*known)->status, 200);
  EXPECT_EQ(bodyOf(**known)["state"], "running");
  EXPECT_EQ((*unknown)->status, 404);
}

TEST_F(ResourcesTest, ClampsAndChecksTheWait) {
  const auto id = std::string(newId().text());
  const auto response = ask(get({"profiles", id}, {{"wait", "10h"}}));
  settle();
  advance(59s);
  EXPECT_FALSE(response->has_value());
  advance(2s);
  EXPECT_TRUE(response->has_value());
  for (const char* wait : {"5", "x", "-1s", "5 s", ""}) {
    EXPECT_EQ(answer(get({"profiles", id}, {{"wait", wait}})).status, 400) << wait;
  }
  EXPECT_EQ(answer(get({"profiles", id}, {{"wait", "0"}})).status, 404);
}

TEST_F(ResourcesTest, DeletesAndPins) {
  const std::string id = putStored();
  const json pinned = bodyOf(answer(request(Method::Post, {"api", "v1", "profiles", id, "pin"})));
  EXPECT_TRUE(pinned.contains("pinned_until"));
  const json unpinned =
      bodyOf(answer(request(Method::Delete, {"api", "v1", "profiles", id, "pin"})));
  EXPECT_FALSE(unpinned.contains("pinned_until"));
  EXPECT_EQ(answer(request(Method::Delete, {"api", "v1", "profiles", id})).status, 204);
  EXPECT_EQ(answer(get({"profiles", id})).status, 404);
  EXPECT_EQ(answer(get({"profiles", id, "download"})).status, 404);
  EXPECT_EQ(answer(request(Method::Delete, {"api", "v1", "profiles", id})).status, 404);
}

// ---- Files of a profile -------------------------------------------------------------------------

TEST_F(ResourcesTest, GivesTheStoredFileAsItIs) {
  const std::string id = putStored();
  const ApiResponse response = answer(get({"profiles", id, "download"}, {{"format", "pprof"}}));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body.view(), encodePprof(profile()));
  EXPECT_EQ(response.findHeader("content-encoding"), nullptr);
  EXPECT_EQ(headerOf(response, "x-content-type-options"), "nosniff");
  const std::string disposition = headerOf(response, "content-disposition");
  EXPECT_TRUE(disposition.starts_with("attachment; filename=\"")) << disposition;
  EXPECT_NE(disposition.find(id), std::string::npos);
}

TEST_F(ResourcesTest, GivesEveryFormat) {
  const std::string id = putStored();
  for (const char* format : {"pprof", "speedscope", "collapsed", "callgrind", "pstats", "chrome",
                             "cpuprofile", "svg", "html", "json"}) {
    const ApiResponse response = answer(get({"profiles", id, "download"}, {{"format", format}}));
    EXPECT_EQ(response.status, 200) << format;
    EXPECT_FALSE(response.body.view().empty()) << format;
    EXPECT_TRUE(headerOf(response, "content-disposition").starts_with("attachment")) << format;
  }
  EXPECT_EQ(answer(get({"profiles", id, "download"}, {{"format", "jpeg"}})).status, 400);
}

TEST_F(ResourcesTest, SaysWhyThereIsNoFile) {
  const auto running = newId();
  put(record(running, ProfileState::Running), std::nullopt);
  const ApiResponse unsettled = answer(get({"profiles", std::string(running.text()), "download"}));
  EXPECT_EQ(unsettled.status, 409);
  EXPECT_EQ(headerOf(unsettled, "retry-after"), "1");
  const auto failed = newId();
  ProfileRecord what = record(failed, ProfileState::Failed);
  what.reason = FailReason::NoUpload;
  put(what, std::nullopt);
  EXPECT_EQ(answer(get({"profiles", std::string(failed.text()), "tree"})).status, 404);
}

TEST_F(ResourcesTest, ShowsTreeAndTimeline) {
  const std::string id = putStored();
  const json tree = bodyOf(answer(get({"profiles", id, "tree"}, {{"nodes", "100"}})));
  EXPECT_EQ(tree["total"], 2'000'000);
  const json timeline = bodyOf(answer(get({"profiles", id, "timeline"})));
  EXPECT_EQ(timeline["threads"].size(), 1U);
  for (const char* nodes : {"1", "0", "200001", "x", ""}) {
    EXPECT_EQ(answer(get({"profiles", id, "tree"}, {{"nodes", nodes}})).status, 400) << nodes;
  }
}

// ---- The rest -----------------------------------------------------------------------------------

TEST_F(ResourcesTest, GroupsByRouteAndHost) {
  putStored();
  putStored();
  const json routes = bodyOf(answer(get({"routes"})));
  ASSERT_EQ(routes["routes"].size(), 1U);
  EXPECT_EQ(routes["routes"][0]["name"], "GET /cart");
  EXPECT_EQ(routes["routes"][0]["profiles"], 2);
  EXPECT_EQ(routes["routes"][0]["mean_ms"], 1.5);
  EXPECT_EQ(bodyOf(answer(get({"hosts"})))["hosts"][0]["name"], "web-1");
  EXPECT_EQ(answer(get({"hosts"}, {{"status", "x"}})).status, 400);
}

TEST_F(ResourcesTest, FollowsAPageview) {
  const auto id = newId();
  join_.onCapture(capture(id, Phase::Begin));
  settle();
  const json first = bodyOf(answer(get({"pageviews", "pv1"})));
  ASSERT_EQ(first["profiles"].size(), 1U);
  EXPECT_EQ(first["profiles"][0]["state"], "running");
  const std::string after = std::to_string(first["seq"].get<uint64_t>());
  EXPECT_TRUE(bodyOf(answer(get({"pageviews", "pv1"}, {{"after", after}})))["profiles"].empty());
  join_.onCapture(capture(id, Phase::End));
  settle();
  const json second = bodyOf(answer(get({"pageviews", "pv1"}, {{"after", after}})));
  ASSERT_EQ(second["profiles"].size(), 1U);
  EXPECT_EQ(second["profiles"][0]["state"], "waiting");
  EXPECT_TRUE(bodyOf(answer(get({"pageviews", "other"})))["profiles"].empty());
  EXPECT_EQ(answer(get({"pageviews", "pv1"}, {{"after", "x"}})).status, 400);
}

TEST_F(ResourcesTest, TellsItsStatus) {
  putStored();
  agent::CaptureRecord end = capture(newId(), Phase::End);
  end.ack = {agent::AckState::Busy, "python/1.0", "cpython/3.11", {}};
  agents_.onAck(end, executor_.wallNow());
  ApiRequest call = get({"status"});
  call.caller.allow = agent::Rights(agent::Right::View) | agent::Right::Manage;
  call.caller.holder = "ada";
  const json body = bodyOf(answer(call));
  EXPECT_EQ(body["rights"], json({"view", "manage"}));
  EXPECT_EQ(body["name"], "ada");
  EXPECT_EQ(body["version"], "1.2.3");
  EXPECT_EQ(body["store"]["kind"], "memory");
  EXPECT_EQ(body["store"]["profiles"], 1);
  EXPECT_EQ(body["agents"][0]["latest_refusal"], "busy");
}

TEST_F(ResourcesTest, ServesPagesUnderAStrictPolicy) {
  for (const std::vector<std::string>& path : std::vector<std::vector<std::string>>{
           {""}, {"profiles"}, {"p", "0123456789abcdefghij"}, {"status"}}) {
    const ApiResponse response = answer(request(Method::Get, path));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(headerOf(response, "content-type"), "text/html; charset=utf-8");
    EXPECT_NE(headerOf(response, "content-security-policy").find("frame-ancestors 'none'"),
              std::string::npos);
    EXPECT_EQ(headerOf(response, "content-security-policy").find("unsafe-inline"),
              std::string::npos);
    EXPECT_EQ(headerOf(response, "x-content-type-options"), "nosniff");
    EXPECT_EQ(headerOf(response, "referrer-policy"), "no-referrer");
  }
  EXPECT_EQ(answer(request(Method::Get, {"etc", "passwd"})).status, 404);
  EXPECT_EQ(answer(request(Method::Get, {"assets", "../index.html"})).status, 404);
}

TEST_F(ResourcesTest, ServesAssetsForEver) {
  const ui::Asset* hashed = nullptr;
  for (const ui::Asset& asset : ui::assets()) {
    if (asset.immutable && !asset.gzip.empty() && asset.path.starts_with("assets/"))
      hashed = &asset;
  }
  ASSERT_NE(hashed, nullptr);
  ApiRequest call = request(Method::Get, {"assets", std::string(hashed->path.substr(7))});
  const ApiResponse plain = answer(call);
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(plain.body.view(), hashed->body);
  EXPECT_NE(headerOf(plain, "cache-control").find("immutable"), std::string::npos);
  EXPECT_EQ(headerOf(plain, "vary"), "accept-encoding");

  call.accept_encoding = "br, gzip;q=0.5";
  const ApiResponse gzipped = answer(call);
  EXPECT_EQ(headerOf(gzipped, "content-encoding"), "gzip");
  EXPECT_EQ(*inflateGzip(gzipped.body.view()), hashed->body);
  EXPECT_NE(headerOf(gzipped, "etag"), headerOf(plain, "etag"));

  call.if_none_match = "\"x\", W/" + headerOf(gzipped, "etag");
  EXPECT_EQ(answer(call).status, 304);
  call.accept_encoding = "gzip;q=0";
  EXPECT_EQ(answer(call).status, 200) << "the other representation has another validator";
}

TEST_F(ResourcesTest, RedirectsToTheViewer) {
  const std::string id = putStored();
  const ApiResponse response = answer(request(Method::Get, {"flamegraph"}, {{"id", id}}));
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(headerOf(response, "location"), "/__flamegate/p/" + id);
  EXPECT_EQ(answer(request(Method::Get, {"flamegraph"}, {{"id", "//evil"}})).status, 404);
}

}  // namespace
}  // namespace flamegate::control
