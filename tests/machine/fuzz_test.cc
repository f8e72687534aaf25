// The readers under damage: a fixed, seeded sequence of mutations of every shipped machine and every sample dump.
// A coverage-guided search over the same two readers is tests/fuzz/machine_fuzz.cc.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "machine/catalogue.h"
#include "machine/document.h"
#include "machine/made_up.h"
#include "machine/mutant.h"
#include "machine/nccl_xml.h"
#include "machine/validate.h"

namespace sennit::machine {
namespace {

/// Reads `text`; whatever comes out must be a valid machine that survives writing, or an error that says something.
void check(const std::string& text, bool xml) {
  const Result<Json> json = xml ? Result<Json>(Json()) : parse_json(text, "mutant");
  if (!json.ok()) {
    EXPECT_FALSE(json.status().text().empty());
    return;
  }
  const Result<Machine> machine = xml ? from_nccl_xml(text, "mutant") : machine::from_json(*json, "mutant");
  if (!machine.ok()) {
    EXPECT_GT(machine.status().text().size(), 20u);
    EXPECT_FALSE(machine.status().remedy().empty());
    return;
  }
  EXPECT_EQ(validate(*machine).text(), "ok");
  const std::string written = to_json(*machine).dump();  // throws where text is not UTF-8
  const Result<Machine> again = machine::from_json(*parse_json(written, "again"), "again");
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(to_json(*again).dump(), written);
  const Result<std::string> exported = to_nccl_xml(*machine);
  EXPECT_TRUE(exported.ok() || !exported.status().text().empty());
}

TEST(Fuzz, ReadersNeverCrashAndAlwaysSayWhy) {
  std::vector<std::pair<std::string, bool>> seeds;
  for (const std::filesystem::path& file : shipped()) seeds.emplace_back(text_of(file), false);
  for (const auto& entry : std::filesystem::directory_iterator(data_folder()))
    if (entry.path().extension() == ".xml") seeds.emplace_back(text_of(entry.path()), true);
  // Folders list in any order; the sequence must not depend on it.
  std::ranges::sort(seeds);
  ASSERT_GE(seeds.size(), 10u);
  Random random(20261121);
  // Bounded by count, so that every run does the same, and by time, so that sanitizers do not stall a slow machine.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  int tried = 0;
  for (; tried < 3000 && std::chrono::steady_clock::now() < end; ++tried) {
    const auto& [text, xml] = seeds[std::size_t(tried) % seeds.size()];
    check(mutate(text, random), xml);
    if (testing::Test::HasFailure()) FAIL() << "mutant " << tried;
  }
  EXPECT_GT(tried, int(seeds.size()));
}

}  // namespace
}  // namespace sennit::machine
