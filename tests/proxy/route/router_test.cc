#include "proxy/route/router.h"

#include <gtest/gtest.h>

#include "proxy/route/path.h"

namespace flamegate::proxy {
namespace {

using config::PathMatch;
using config::Rewrite;
using config::Route;

Route prefix(std::string text) {
  Route route;
  route.match.path = {PathMatch::Kind::Prefix, std::move(text)};
  return route;
}

std::unique_ptr<Router> routerOf(const std::vector<Route>& routes) {
  auto router = Router::create(routes);
  EXPECT_TRUE(router) << (router ? "" : router.error().detail);
  return std::move(*router);
}

// A request without fields but those added.
struct Request {
  explicit Request(std::string_view target, std::string_view authority = "a") {
    head.method_text = "GET";
    head.target = target;
    head.authority = authority;
  }
  std::optional<size_t> route(const Router& router) const { return router.find(head, head.path()); }

  RequestHead head;
};

TEST(Router, TakesTheFirstRouteThatHolds) {
  Route exact;
  exact.match.path = {PathMatch::Kind::Exact, "/api/ping"};
  Route expression;
  expression.match.path = {PathMatch::Kind::Regex, "/user/[0-9]+"};
  const auto router = routerOf({exact, prefix("/api/"), expression});
  EXPECT_EQ(Request("/api/ping").route(*router), 0u);
  EXPECT_EQ(Request("/api/ping?x").route(*router), 0u);
  EXPECT_EQ(Request("/api/ping/").route(*router), 1u);
  EXPECT_EQ(Request("/api/").route(*router), 1u);
  EXPECT_EQ(Request("/api").route(*router), std::nullopt);
  EXPECT_EQ(Request("/user/12").route(*router), 2u);
  EXPECT_EQ(Request("/user/12/x").route(*router), std::nullopt) << "the whole path";
  EXPECT_EQ(Request("/").route(*router), std::nullopt);
}

TEST(Router, TakesAnUnconditionalFirstRouteForEverything) {
  const auto router = routerOf({prefix("/"), prefix("/api/")});
  EXPECT_EQ(Request("/api/x").route(*router), 0u);
  EXPECT_EQ(Request("*").route(*router), 0u);
}

TEST(Router, HasNoRouteWithoutRoutes) {
  EXPECT_EQ(Request("/").route(*routerOf({})), std::nullopt);
}

TEST(Router, ComparesHostsWithoutCaseAndPort) {
  Route named = prefix("/");
  named.hosts = {{"shop.example", false}, {"example.org", true}};
  const auto router = routerOf({named});
  EXPECT_EQ(Request("/", "Shop.Example:8080").route(*router), 0u);
  EXPECT_EQ(Request("/", "a.example.org").route(*router), 0u);
  EXPECT_EQ(Request("/", "a.b.EXAMPLE.org:1").route(*router), 0u);
  EXPECT_EQ(Request("/", "example.org").route(*router), std::nullopt);
  EXPECT_EQ(Request("/", "badexample.org").route(*router), std::nullopt);
  EXPECT_EQ(Request("/", ".example.org").route(*router), std::nullopt);
  EXPECT_EQ(Request("/", "shop.example.evil").route(*router), std::nullopt);
  EXPECT_EQ(Request("/", "").route(*router), std::nullopt);
  EXPECT_TRUE(router->servesHost("SHOP.example"));
  EXPECT_TRUE(router->servesHost("x.example.org"));
  EXPECT_FALSE(router->servesHost("other.example"));
  Route any = prefix("/x");
  EXPECT_TRUE(routerOf({named, any})->servesHost("other.example"));
}

TEST(Router, LooksAtMethodsHeadersAndQuery) {
  Route route = prefix("/");
  route.match.methods = {"GET", "PURGE"};
  route.match.headers = {{"X-Version", false, "2"}, {"X-User", true, "[a-z]+"}};
  route.match.query = {{"debug", false, "on off"}, {"n", true, "[0-9]*"}};
  const auto router = routerOf({route});
  const auto matches = [&](std::string_view target, std::string_view method,
                           std::string_view version, std::string_view user) {
    Request request(target);
    request.head.method_text = method;
    request.head.fields.add("x-version", version);
    request.head.fields.add("x-user", user);
    return request.route(*router).has_value();
  };
  EXPECT_TRUE(matches("/?n=1&debug=on+off", "GET", "2", "ann"));
  EXPECT_TRUE(matches("/?d%65bug=on%20off&n", "PURGE", "2", "ann"));
  EXPECT_FALSE(matches("/?n=1&debug=on+off", "POST", "2", "ann"));
  EXPECT_FALSE(matches("/?n=1&debug=on+off", "GET", "3", "ann"));
  EXPECT_FALSE(matches("/?n=1&debug=on+off", "GET", "2", "ann1"));
  EXPECT_FALSE(matches("/?n=x&debug=on+off", "GET", "2", "ann"));
  EXPECT_FALSE(matches("/?n=1", "GET", "2", "ann"));
  EXPECT_FALSE(matches("/", "GET", "2", "ann"));
  EXPECT_EQ(Request("/?n=1&debug=on+off").route(*router), std::nullopt) << "no header";
}

TEST(Router, RewritesThePathAndKeepsTheQuery) {
  Route by_prefix = prefix("/api/");
  by_prefix.rewrite = Rewrite{Rewrite::Kind::Prefix, "", "/v1/"};
  Route to_root = prefix("/app");
  to_root.rewrite = Rewrite{Rewrite::Kind::Prefix, "", ""};
  Route by_expression = prefix("/");
  by_expression.rewrite = Rewrite{Rewrite::Kind::Regex, "^/u/([0-9]+)", "/users/\\1"};
  const auto router = routerOf({by_prefix, to_root, by_expression, prefix("/")});
  std::string memory;
  EXPECT_EQ(router->rewrite(0, "/api/x?/api/", "/api/x", memory), "/v1/x?/api/");
  EXPECT_EQ(router->rewrite(0, "/api/", "/api/", memory), "/v1/");
  EXPECT_EQ(router->rewrite(1, "/app?x", "/app", memory), "/?x");
  EXPECT_EQ(router->rewrite(1, "/app/y", "/app/y", memory), "/y");
  EXPECT_EQ(router->rewrite(2, "/u/12/z?q=/u/1", "/u/12/z", memory), "/users/12/z?q=/u/1");
  EXPECT_EQ(router->rewrite(2, "/other", "/other", memory), "/other");
  EXPECT_EQ(router->rewrite(0, "//x/../%61pi/y?q=//", "/api/y", memory), "/v1/y?q=//");
  const std::string target = "/left/alone?x";
  EXPECT_EQ(router->rewrite(3, target, "/plain", memory).data(), target.data());
}

TEST(Router, RefusesExpressionsThatDoNotCompile) {
  Route route;
  route.match.path = {PathMatch::Kind::Regex, "("};
  EXPECT_FALSE(Router::create({route}));
  route = prefix("/");
  route.match.headers = {{"X", true, "["}};
  EXPECT_FALSE(Router::create({route}));
  route = prefix("/");
  route.rewrite = Rewrite{Rewrite::Kind::Regex, "*", ""};
  const auto router = Router::create({route});
  ASSERT_FALSE(router);
  EXPECT_EQ(router.error().source, ErrorSource::Config);
}

TEST(HostOf, LeavesThePortOut) {
  EXPECT_EQ(hostOf("a:80"), "a");
  EXPECT_EQ(hostOf("a"), "a");
  EXPECT_EQ(hostOf("[::1]:80"), "[::1]");
  EXPECT_EQ(hostOf("[::1]"), "[::1]");
  EXPECT_EQ(hostOf(""), "");
}

}  // namespace
}  // namespace flamegate::proxy
