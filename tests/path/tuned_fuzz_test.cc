// The reader of put tables under damage: what it reads must be usable, and what it refuses must say why.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "base/units.h"
#include "machine/mutant.h"
#include "machines.h"
#include "path/split.h"
#include "path/tuned.h"
#include "places.h"

namespace sennit::path {
namespace {

std::string measured_table() {
  std::ostringstream text;
  text << std::ifstream(places::source("results/hgx-h200-4/put-table.json")).rdbuf();
  return text.str();
}

void check(const std::string& text, const machine::Machine& machine) {
  const Result<Json> json = parse_json(text, "mutant");
  if (!json.ok()) {
    EXPECT_FALSE(json.status().text().empty());
    return;
  }
  const Result<PutTable> table = put_table_from_json(*json, "mutant");
  if (!table.ok()) {
    EXPECT_NE(table.status().text().find("mutant"), std::string::npos) << table.status().text();
    EXPECT_FALSE(table.status().remedy().empty());
    return;
  }
  const std::string written = to_json(*table).dump();
  const auto again = put_table_from_json(*parse_json(written, "again"), "again");
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(to_json(*again).dump(), written);
  SplitOptions options;
  options.tuned = &*table;
  for (const bool both_ways : {false, true})
    for (const std::uint64_t bytes : {std::uint64_t(1), 5 * MiB, 64 * MiB + 3, 3 * GiB}) {
      options.both_ways = both_ways;
      const auto split = path::split(machine, "gpu0", "gpu1", bytes, options);
      ASSERT_TRUE(split.ok()) << split.status().text();
      std::uint64_t carried = 0;
      for (const Share& share : split->shares) {
        EXPECT_EQ(share.offset, carried);
        carried += share.bytes;
      }
      EXPECT_EQ(carried, bytes);
    }
}

TEST(TunedFuzz, TablesAreUsableOrRefusedWithAReason) {
  // A few entries: reading hundreds under a sanitizer leaves time for few mutants.
  Json table = *parse_json(measured_table(), "seed");
  table["entries"].erase(table["entries"].begin() + 8, table["entries"].end());
  const std::string seed = table.dump(1);
  const machine::Machine machine = hgx_h200_4();
  ASSERT_TRUE(put_table_from_json(*parse_json(seed, "seed"), "seed").ok());
  Random random(20261121);
  // Bounded by count, so that every run does the same, and by time, so that sanitizers do not stall a slow machine.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  int tried = 0, read = 0;
  for (; tried < 2000 && std::chrono::steady_clock::now() < end; ++tried) {
    const std::string text = mutate(seed, random);
    const auto json = parse_json(text, "mutant");
    read += json.ok() && put_table_from_json(*json, "mutant").ok() ? 1 : 0;
    check(text, machine);
    if (testing::Test::HasFailure()) FAIL() << "mutant " << tried << "\n" << text.substr(0, 4000);
  }
  EXPECT_GT(tried, 10);
  EXPECT_GT(read, 0) << "no mutant was read: the second half was never tried";
}

}  // namespace
}  // namespace sennit::path
