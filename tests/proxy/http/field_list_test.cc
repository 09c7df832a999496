#include <string>

#include <gtest/gtest.h>

#include "proxy/http/head.h"

namespace flamegate::proxy {
namespace {

TEST(FieldList, FindsByIdAndByNameWhatWasNotRemoved) {
  FieldList fields;
  fields.add("Cookie", "a=1");
  fields.add("X-Tag", "one");
  fields.add("cookie", "b=2");
  ASSERT_NE(fields.find(HeaderId::Cookie), nullptr);
  EXPECT_EQ(fields.find(HeaderId::Cookie)->value(), "a=1");
  EXPECT_EQ(fields.find("x-tag")->value(), "one");
  EXPECT_EQ(fields.find(HeaderId::Host), nullptr);
  fields.remove(0);
  EXPECT_EQ(fields.find(HeaderId::Cookie)->value(), "b=2");
  EXPECT_EQ(fields.removeAll(HeaderId::Cookie), 1u);
  EXPECT_EQ(fields.find(HeaderId::Cookie), nullptr);
  EXPECT_TRUE(fields.has(HeaderId::Cookie)) << "it was there";
}

TEST(FieldList, FindsASingleFieldOnlyWhenThereIsOne) {
  FieldList fields;
  EXPECT_FALSE(fields.findSingle(HeaderId::Origin));
  fields.add("Origin", "https://a.example");
  EXPECT_EQ(fields.findSingle(HeaderId::Origin), "https://a.example");
  fields.add("Origin", "https://b.example");
  EXPECT_FALSE(fields.findSingle(HeaderId::Origin));
  fields.remove(0);
  EXPECT_EQ(fields.findSingle(HeaderId::Origin), "https://b.example");
}

TEST(FieldList, WalksTheFieldsOfOneIdInTheirOrder) {
  FieldList fields;
  EXPECT_EQ(fields.first(HeaderId::Cookie), nullptr);
  for (const char* value : {"a=1", "b=2", "c=3"}) {
    fields.add("Cookie", value);
    fields.add("X-Other", value);
  }
  fields.add("Referer", "/");
  std::string walked;
  for (const Field* field = fields.first(HeaderId::Cookie); field != nullptr;
       field = fields.next(*field)) {
    walked += field->value();
  }
  EXPECT_EQ(walked, "a=1b=2c=3");
  EXPECT_EQ(fields.next(*fields.first(HeaderId::Referer)), nullptr);
}

TEST(FieldList, KnowsWhichIdsRepeat) {
  FieldList fields;
  fields.add("Cookie", "a=1");
  fields.add("Referer", "/");
  EXPECT_TRUE(fields.hasAny({HeaderId::Host, HeaderId::Referer}));
  EXPECT_FALSE(fields.hasAny({HeaderId::Host, HeaderId::Origin}));
  EXPECT_FALSE(fields.repeatsAny({HeaderId::Cookie, HeaderId::Referer}));
  fields.add("Cookie", "b=2");
  EXPECT_TRUE(fields.repeatsAny({HeaderId::Cookie, HeaderId::Referer}));
  EXPECT_FALSE(fields.repeatsAny({HeaderId::Referer}));
  fields.clear();
  EXPECT_FALSE(fields.repeatsAny({HeaderId::Cookie}));
}

TEST(FieldList, RefusesAFieldTooMany) {
  FieldList fields;
  for (size_t i = 0; i < kFieldsMax; ++i) EXPECT_TRUE(fields.add("A", "b"));
  EXPECT_TRUE(fields.full());
  EXPECT_FALSE(fields.add("A", "b"));
  fields.clear();
  EXPECT_EQ(fields.size(), 0u);
  EXPECT_TRUE(fields.add("A", "b"));
}

TEST(FieldList, ForgetsPresenceWhenCleared) {
  FieldList fields;
  fields.add("Host", "a");
  fields.add("Flamegate-Ack", "v=1");
  EXPECT_TRUE(fields.has(HeaderId::FlamegatePrivate));
  fields.clear();
  EXPECT_FALSE(fields.has(HeaderId::Host));
  EXPECT_FALSE(fields.has(HeaderId::FlamegatePrivate));
}

TEST(RequestHead, SplitsTheTargetAtItsFirstQuestionMark) {
  RequestHead head;
  head.target = "/a?b?c";
  EXPECT_EQ(head.path(), "/a");
  EXPECT_EQ(head.query(), "b?c");
  head.target = "/a?";
  EXPECT_EQ(head.path(), "/a");
  EXPECT_EQ(head.query(), "");
  head.target = "?q";
  EXPECT_EQ(head.path(), "/");
  EXPECT_EQ(head.query(), "q");
}

}  // namespace
}  // namespace flamegate::proxy
