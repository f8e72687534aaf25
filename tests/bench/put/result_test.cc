#include "bench/put/result.h"

#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::bench::put {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Row row(const char* variant, std::uint64_t bytes, double median, double spread) {
  Row made;
  made.variant = variant;
  made.from = "gpu0";
  made.to = "gpu1";
  made.what = {bytes, false, 1};
  made.time = {median, spread, median * 0.9, median * 1.2, 11};
  made.limit_gbps = 447;
  made.verified = true;
  return made;
}

TEST(ResultRow, SaysEverythingThatABandwidthNeeds) {
  Row one = row("sennit", 1'000'000'000, 2500, 10);
  one.split = {{"direct", 0.9}, {"host0 (sm)", 0.1}};
  const Json json = to_json(one);
  EXPECT_DOUBLE_EQ(json.at("gbps").get<double>(), 400);
  EXPECT_EQ(json.at("traffic"), "one_way");
  EXPECT_EQ(json.at("split").at(1).at("route"), "host0 (sm)");
  EXPECT_EQ(json.at("verified"), true);
  const auto read = row_from(json);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(to_json(*read), json);
}

TEST(ResultRow, HasNoSplitWhereThereIsNone) {
  EXPECT_FALSE(to_json(row("engine", MiB, 10, 1)).contains("split"));
}

TEST(ResultOutcome, ReadsWhatItWrote) {
  Outcome outcome;
  outcome.rows = {row("sennit", MiB, 10, 1), row("nccl", MiB, 12, 1)};
  outcome.warnings = {"nccl is slow: ask why."};
  outcome.versions = {{"nccl", "2.28.9"}};
  outcome.setup_ms = 12.5;
  const auto read = outcome_from(to_json(outcome));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(to_json(*read), to_json(outcome));
  EXPECT_EQ(outcome_from(Json::object()).status().code(), Code::corrupt);
}

TEST(Unsteady, NamesLargeMessagesOnly) {
  EXPECT_THAT(unsteady({row("sennit", MiB, 10, 5), row("sennit", 64 * MiB, 100, 5)}), IsEmpty());
  const auto sentences = unsteady({row("engine", 64 * MiB, 100, 20)});
  ASSERT_THAT(sentences, SizeIs(1));
  EXPECT_THAT(sentences[0], HasSubstr("engine of 64 MiB from gpu0 to gpu1"));
  EXPECT_THAT(sentences[0], HasSubstr("20 %"));
}

TEST(Timestamp, IsIso8601InUtc) {
  EXPECT_TRUE(std::regex_match(timestamp(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"))) << timestamp();
}

}  // namespace
}  // namespace sennit::bench::put
