// The C++ code yields every value of the golden vectors, which a generator in another language
// wrote.
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent-protocol/token/agent_signature.h"
#include "agent-protocol/token/keys.h"
#include "agent-protocol/token/secret.h"
#include "agent-protocol/wire/ack.h"
#include "agent-protocol/wire/meta.h"
#include "agent-protocol/wire/upload.h"

namespace flamegate::agent {
namespace {

using nlohmann::json;

json load(const std::string& name) {
  std::ifstream file(std::string(FLAMEGATE_SOURCE_DIR) + "/agent-protocol/vectors/" + name);
  return json::parse(file);
}

std::string fromHex(const json& value) {
  const auto text = value.get<std::string>();
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

KeyRing ringOf(const json& vectors) {
  return KeyRing(AgentKeys::derive(fromHex(vectors["secret_hex"])),
                 AgentKeys::derive(fromHex(vectors["previous_secret_hex"])));
}

std::string hex(const proxy::Sha256& key) { return proxy::toHex(proxy::asView(key)); }

TEST(Vectors, KeysFollowFromSecretFiles) {
  const json vectors = load("keys.json");
  ASSERT_FALSE(vectors["good"].empty());
  for (const json& example : vectors["good"]) {
    SCOPED_TRACE(example["name"]);
    const auto secret = secretFromText(fromHex(example["file_hex"]));
    ASSERT_TRUE(secret);
    EXPECT_EQ(proxy::toHex(*secret), example["secret_hex"]);
    const AgentKeys keys = AgentKeys::derive(*secret);
    EXPECT_EQ(hex(keys.request), example["request_key_hex"]);
    EXPECT_EQ(hex(keys.upload), example["upload_key_hex"]);
    EXPECT_EQ(keys.kid, example["kid"]);
  }
  for (const json& example : vectors["bad"]) {
    EXPECT_FALSE(secretFromText(fromHex(example["file_hex"]))) << example["name"];
  }
}

TEST(Vectors, RequestHeadersGetTheAnswerThatTheRulesDemand) {
  const json vectors = load("request.json");
  const KeyRing ring = ringOf(vectors);
  ASSERT_GT(vectors["cases"].size(), 100U);
  for (const json& example : vectors["cases"]) {
    SCOPED_TRACE(example["name"]);
    const auto header = example["header"].get<std::string>();
    const json& service = example["service"];
    RequestCheck check =
        checkRequest(header, example["method"].get<std::string>(),
                     service.is_null() ? std::string() : service.get<std::string>(),
                     example["now_ms"].get<int64_t>(), ring);
    // What an agent with a memory and free limits does on top.
    if (check.answer == AckState::Started && example.contains("seen")) {
      const auto seen = example["seen"].get<std::set<std::string>>();
      if (seen.contains(std::string(check.header.id.text()))) check.answer = AckState::Replay;
    }
    if (example["state"].is_null()) {
      EXPECT_FALSE(check.answer);
      continue;
    }
    ASSERT_TRUE(check.answer);
    EXPECT_EQ(ackStateName(*check.answer), example["state"].get<std::string>());
    if (example.contains("options")) {
      EXPECT_EQ(modeName(check.header.mode), example["options"]["mode"].get<std::string>());
      EXPECT_EQ(check.header.interval_us, example["options"]["us"]);
      EXPECT_EQ(check.header.max_ms, example["options"]["max"]);
    }
  }
}

TEST(Vectors, TheProxyWritesTheHeaderByteForByte) {
  const json vectors = load("request.json");
  const json& formatted = vectors["formatted"];
  const json& fields = formatted["fields"];
  RequestHeader header;
  header.id = *ProfileId::parse(fields["id"].get<std::string>());
  header.ts_ms = std::stoull(fields["ts"].get<std::string>());
  header.ttl_ms = std::stoull(fields["ttl"].get<std::string>());
  header.service = fields["svc"];
  header.mode = *parseMode(fields["mode"].get<std::string>());
  header.interval_us = std::stoull(fields["us"].get<std::string>());
  header.max_ms = std::stoull(fields["max"].get<std::string>());
  signRequest(header, formatted["method"].get<std::string>(), ringOf(vectors).current());
  EXPECT_EQ(header.format(), formatted["header"]);
}

TEST(Vectors, AcknowledgementsReadAndWriteAlike) {
  const json vectors = load("ack.json");
  for (const json& example : vectors["good"]) {
    SCOPED_TRACE(example["name"]);
    const auto ack = parseAck(example["header"].get<std::string>());
    ASSERT_TRUE(ack);
    const json& expected = example["ack"];
    EXPECT_EQ(ack->id.text(), expected["id"].get<std::string>());
    EXPECT_EQ(ackStateName(ack->state), expected["state"].get<std::string>());
    EXPECT_EQ(ack->agent, expected["agent"]);
    EXPECT_EQ(ack->runtime, expected["runtime"]);
    EXPECT_EQ(ack->caps, expected["caps"].get<std::vector<std::string>>());
    EXPECT_EQ(ack->now_ms.has_value(), !expected["now_ms"].is_null());
    if (ack->now_ms) {
      EXPECT_EQ(*ack->now_ms, expected["now_ms"]);
    }
    EXPECT_EQ(parseAck(ack->format()), ack);
  }
  EXPECT_EQ(parseAck(vectors["good"][0]["header"].get<std::string>())->format(),
            vectors["good"][0]["header"]);
  for (const json& example : vectors["bad"]) {
    EXPECT_FALSE(parseAck(example["header"].get<std::string>())) << example["name"];
  }
}

TEST(Vectors, UploadsVerifyExactlyWhenTheyShould) {
  const json vectors = load("upload.json");
  const KeyRing ring = ringOf(vectors);
  for (const json& example : vectors["cases"]) {
    SCOPED_TRACE(example["name"]);
    const auto method = example["method"].get<std::string>();
    const auto path = example["path"].get<std::string>();
    const auto meta = example["meta"].get<std::string>();
    const auto digest = proxy::sha256(fromHex(example["body_hex"]));
    const UploadFacts facts{method, path, proxy::asView(digest), meta};
    const auto auth = parseUploadAuth(example["auth"].get<std::string>());
    const int64_t now = example["now_ms"];
    const AgentKeys* keys = auth ? verifyUpload(*auth, facts, now, ring) : nullptr;
    EXPECT_EQ(keys != nullptr, example["valid"].get<bool>());
    if (keys == nullptr) continue;
    const UploadAuth again =
        signUpload(facts, static_cast<int64_t>(auth->ts_ms), auth->nonce, *keys);
    EXPECT_TRUE(example["auth"].get<std::string>().starts_with(again.format()));
  }
  for (const json& example : vectors["answers"]) {
    SCOPED_TRACE(example["name"]);
    const auto auth = parseAnswerAuth(example["auth"].get<std::string>());
    const auto nonce = example["nonce"].get<std::string>();
    const std::string body = fromHex(example["body_hex"]);
    EXPECT_EQ(auth && verifyAnswer(*auth, nonce, body, ring), example["valid"].get<bool>());
    if (auth && example["valid"].get<bool>()) {
      EXPECT_TRUE(example["auth"].get<std::string>().starts_with(
          signAnswer(nonce, body, *ring.find(auth->kid)).format()));
    }
  }
}

TEST(Vectors, TheMetaReadsAsItsJson) {
  const json vectors = load("upload.json");
  const auto meta = parseMeta(vectors["meta"]["header"].get<std::string>());
  ASSERT_TRUE(meta);
  const json expected = json::parse(vectors["meta"]["json"].get<std::string>());
  EXPECT_EQ(meta->agent, expected["agent"]);
  EXPECT_EQ(meta->runtime, expected["runtime"]);
  EXPECT_EQ(meta->host, expected["host"]);
  EXPECT_EQ(meta->pid, expected["pid"]);
  EXPECT_EQ(meta->start_unix_ns, expected["start_unix_ns"]);
  EXPECT_EQ(meta->end_unix_ns, expected["end_unix_ns"]);
  EXPECT_EQ(meta->measured_period_us, expected["measured_period_us"]);
  EXPECT_EQ(meta->ticks->taken, expected["ticks"]["taken"]);
  EXPECT_EQ(meta->route, expected["route"]);
  EXPECT_EQ(meta->overhead_ns, expected["overhead_ns"]);
  EXPECT_FALSE(meta->truncated);
}

TEST(Vectors, IdsAndPartsFollowTheirGrammar) {
  const json vectors = load("grammar.json");
  for (const json& example : vectors["ids"]) {
    const auto id = ProfileId::parse(example["id"].get<std::string>());
    ASSERT_TRUE(id) << example["id"];
    EXPECT_EQ(id->unixMillis(), example["ms"]);
  }
  for (const json& id : vectors["bad_ids"]) {
    EXPECT_FALSE(ProfileId::parse(id.get<std::string>())) << id;
  }
  for (const json& part : vectors["parts"]) EXPECT_TRUE(isPart(part.get<std::string>())) << part;
  for (const json& part : vectors["bad_parts"]) {
    EXPECT_FALSE(isPart(part.get<std::string>())) << part;
  }
}

}  // namespace
}  // namespace flamegate::agent
