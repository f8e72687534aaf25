// The readers under damage: a fixed, seeded sequence of mutations of every shipped machine and every sample dump.
// A coverage-guided search over the same two readers is tests/fuzz/machine_fuzz.cc.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "machine/catalogue.h"
#include "machine/document.h"
#include "machine/made_up.h"
#include "machine/nccl_xml.h"
#include "machine/validate.h"

namespace sennit::machine {
namespace {

using Random = std::mt19937_64;

std::size_t pick(Random& random, std::size_t count) {
  return std::size_t(random() % count);
}

/// Replaces one number of the text by one of the values that break programs.
void swap_number(std::string& text, Random& random) {
  constexpr const char* kNumbers[] = {
      "-1",         "0",   "1e400", "-0.0", "18446744073709551616", "9223372036854775807", "1e9", "1e-30",
      "2147483648", "NaN", "\"7\"", "[]"};
  std::vector<std::size_t> starts;
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t i = 1; i < text.size(); ++i)
    if (digit(i) && !digit(i - 1)) starts.push_back(i);
  if (starts.empty()) return;
  const std::size_t at = starts[pick(random, starts.size())];
  std::size_t end = at;
  while (end < text.size() && (digit(end) || text[end] == '.')) ++end;
  text.replace(at, end - at, kNumbers[pick(random, std::size(kNumbers))]);
}

std::string mutate(std::string text, Random& random) {
  for (std::size_t round = 1 + pick(random, 3); round > 0 && !text.empty(); --round) {
    const std::size_t at = pick(random, text.size());
    switch (pick(random, 6)) {
      case 0: text[at] = char(text[at] ^ (1 << pick(random, 8))); break;
      case 1: text.resize(at); break;
      case 2: swap_number(text, random); break;
      case 3: text.erase(at, 1 + pick(random, 40)); break;
      case 4: text.insert(at, text.substr(pick(random, text.size()), 1 + pick(random, 200))); break;
      default: text[at] = char(random()); break;
    }
  }
  return text;
}

/// Reads `text`; whatever comes out must be a valid machine that survives writing, or an error that says something.
void check(const std::string& text, bool xml) {
  const Result<Json> json = xml ? Result<Json>(Json()) : parse_json(text, "mutant");
  if (!json.ok()) {
    EXPECT_FALSE(json.status().text().empty());
    return;
  }
  const Result<Machine> machine = xml ? from_nccl_xml(text, "mutant") : from_json(*json, "mutant");
  if (!machine.ok()) {
    EXPECT_GT(machine.status().text().size(), 20u);
    EXPECT_FALSE(machine.status().remedy().empty());
    return;
  }
  EXPECT_EQ(validate(*machine).text(), "ok");
  const std::string written = to_json(*machine).dump();  // throws where text is not UTF-8
  const Result<Machine> again = from_json(*parse_json(written, "again"), "again");
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
