#include "path/tuned.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "machine/mutant.h"
#include "machines.h"
#include "path/split.h"

namespace sennit::path {
namespace {

TunedPut entry(std::uint64_t bytes, NamedShares shares, bool both_ways = false) {
  return {"gpu0", "gpu1", both_ways, bytes, std::move(shares), 100, 1, 110};
}

PutTable table() {
  PutTable made;
  made.fingerprint = "0123456789abcdef";
  made.date = "2026-11-21";
  made.entries = {entry(16 * MiB, {{"direct", 1.0}}), entry(64 * MiB, {{"direct", 0.92}, {"host0 (sm)", 0.08}}),
                  entry(256 * MiB, {{"direct", 0.91}, {"host0 (engine)", 0.09}}),
                  entry(1 * GiB, {{"direct", 0.89}, {"host0 (engine)", 0.11}})};
  return made;
}

TEST(PutTable, TakesTheSmallerNeighbourWhereRoutesDiffer) {
  EXPECT_EQ(table().shares("gpu0", "gpu1", false, 4096)->size(), 1u);
  EXPECT_EQ(table().shares("gpu0", "gpu1", false, 32 * MiB)->size(), 1u);
  EXPECT_EQ((*table().shares("gpu0", "gpu1", false, 128 * MiB))[1].first, "host0 (sm)");
}

TEST(PutTable, InterpolatesWhereRoutesAgree) {
  const auto shares = *table().shares("gpu0", "gpu1", false, 512 * MiB);
  EXPECT_EQ(shares[1].first, "host0 (engine)");
  EXPECT_NEAR(shares[1].second, 0.10, 1e-9);
  EXPECT_NEAR(shares[0].second + shares[1].second, 1, 1e-9);
  EXPECT_NEAR((*table().shares("gpu0", "gpu1", false, 8 * GiB))[1].second, 0.11, 1e-9);
}

TEST(PutTable, KnowsWhatItDoesNotKnow) {
  EXPECT_FALSE(table().shares("gpu1", "gpu0", false, MiB).has_value());
  EXPECT_FALSE(table().shares("gpu0", "gpu1", true, MiB).has_value());
}

TEST(PutTable, TellsBelowWhichSizeNothingIsSplit) {
  EXPECT_EQ(table().least_split("gpu0", "gpu1"), 64 * MiB);
  EXPECT_EQ(table().least_split("gpu1", "gpu0"), 0u);
  PutTable single = table();
  single.entries.resize(1);
  EXPECT_EQ(single.least_split("gpu0", "gpu1"), ~std::uint64_t{0});
}

TEST(PutTable, SurvivesARoundTrip) {
  const auto back = put_table_from_json(to_json(table()), "test");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(to_json(*back), to_json(table()));
}

TEST(PutTable, NamesWhatIsWrong) {
  Json document = to_json(table());
  document["entries"][1]["shares"]["direct"] = 0.5;
  const Status status = put_table_from_json(document, "table.json").status();
  EXPECT_EQ(status.code(), Code::corrupt);
  for (const char* part : {"entries[1]", "sum to", "table.json", "sennit tune"})
    EXPECT_NE(status.text().find(part), std::string::npos) << status.text();
  document["version"] = 99;
  EXPECT_FALSE(put_table_from_json(document, "t").ok());
  EXPECT_FALSE(put_table_from_json(Json::array(), "t").ok());
  Json bent = to_json(table());
  bent["entries"][0]["us"] = "fast";
  EXPECT_FALSE(put_table_from_json(bent, "t").ok());
}

TEST(PutTable, ThatIsDamagedIsReadOrRefusedAndNeverCrashes) {
  Random random(20260101);
  const std::string text = to_json(table()).dump(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string mutant = mutate(text, random);
    const auto json = parse_json(mutant, "mutant");
    const auto read = json ? put_table_from_json(*json, "mutant") : Result<PutTable>(json.status());
    if (!read.ok()) {
      ++refused;
      ASSERT_FALSE(read.status().remedy().empty()) << mutant;
      continue;
    }
    ASSERT_TRUE(put_table_from_json(to_json(*read), "written").ok()) << mutant;
    (void)read->shares("gpu0", "gpu1", false, 100 * MiB);
    SplitOptions options;
    options.tuned = &*read;
    const auto planned = split(hgx_h200_4(), "gpu0", "gpu1", 100 * MiB, options);
    ASSERT_TRUE(planned.ok()) << mutant;
    std::uint64_t sum = 0;
    for (const Share& share : planned->shares) sum += share.bytes;
    ASSERT_EQ(sum, 100 * MiB) << mutant;
  }
  EXPECT_GT(refused, 1000);
}

TEST(Split, FollowsTheTableWhereThereIsOne) {
  const PutTable made = table();
  SplitOptions options;
  options.tuned = &made;
  const auto machine = hgx_h200_4();
  const auto big = split(machine, "gpu0", "gpu1", 1 * GiB, options);
  ASSERT_TRUE(big.ok());
  ASSERT_EQ(big->shares.size(), 2u);
  EXPECT_TRUE(big->tuned);
  EXPECT_EQ(big->shares[1].candidate.route.name(), "host0 (engine)");
  EXPECT_NEAR(double(big->shares[1].bytes) / double(1 * GiB), 0.11, 1e-3);
  EXPECT_EQ(split(machine, "gpu0", "gpu1", 16 * MiB, options)->shares.size(), 1u);
  EXPECT_FALSE(split(machine, "gpu2", "gpu3", 1 * GiB, options)->tuned) << "never tuned: the model decides";
}

TEST(Split, IgnoresATableOfRoutesThatAreGone) {
  PutTable made = table();
  made.entries[3].shares[1].first = "gpu9 (engine)";
  SplitOptions options;
  options.tuned = &made;
  const auto big = split(hgx_h200_4(), "gpu0", "gpu1", 1 * GiB, options);
  ASSERT_TRUE(big.ok());
  EXPECT_FALSE(big->tuned);
}

}  // namespace
}  // namespace sennit::path
