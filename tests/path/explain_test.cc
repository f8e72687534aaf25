#include "path/explain.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/units.h"
#include "machines.h"

namespace sennit::path {
namespace {

/// A cache of its own, and a machine that it may know.
class ExplainPut : public testing::Test {
 protected:
  ExplainPut() : folder_(testing::TempDir() + "explain-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    setenv("SENNIT_CACHE", folder_.c_str(), 1);
    machine_.fingerprint = "0123456789abcdef";
    machine_.devices.front().uuid = "GPU-1";
  }
  ~ExplainPut() override {
    unsetenv("SENNIT_CACHE");
    std::filesystem::remove_all(folder_);
  }

  void keep(const std::string& text) { std::ofstream(*put_table_file(machine_.fingerprint)) << text; }
  void keep_table(const NamedShares& shares) {
    PutTable table;
    table.fingerprint = machine_.fingerprint;
    table.date = "2026-11-21";
    table.entries = {{machine_.devices.front().id, "gpu1", false, 64 * MiB, shares, 100, 1, 110}};
    keep(to_json(table).dump());
  }
  Json answer(const Ground& ground = {}, const std::string& from = "gpu0", SplitOptions options = {}) {
    auto made = explain_put(machine_, from, "gpu1", 64 * MiB, std::move(options), ground);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return made.ok() ? *made : Json();
  }

  std::string folder_;
  machine::Machine machine_ = hgx_h200_4();
};

TEST_F(ExplainPut, ComputesWhereNothingWasTuned) {
  const Json document = answer();
  EXPECT_EQ(document["tuned"], false);
  EXPECT_EQ(document["decided_by"], "model");
  EXPECT_EQ(document["measured"], true);
  EXPECT_GT(document["shares"].size(), 1u);
}

TEST_F(ExplainPut, FollowsTheTableThatWasKept) {
  keep_table({{"direct", 0.75}, {"host0 (sm)", 0.25}});
  for (const std::string from : {"gpu0", "GPU-1"}) {
    const Json document = answer({}, from);
    EXPECT_EQ(document["tuned"], true);
    EXPECT_EQ(document["decided_by"], "table");
    EXPECT_EQ(document["from"], "gpu0");
    ASSERT_EQ(document["shares"].size(), 2u);
    EXPECT_NEAR(document["shares"][1]["share"].get<double>(), 0.25, 1e-3);
  }
}

TEST_F(ExplainPut, ComputesForMachinesThatAreOnlyImagined) {
  keep_table({{"direct", 0.75}, {"host0 (sm)", 0.25}});
  EXPECT_EQ(answer({.kept = false, .named = true})["tuned"], false);
}

TEST_F(ExplainPut, LetsAskedSharesGoBeforeTheTable) {
  keep_table({{"direct", 0.75}, {"host0 (sm)", 0.25}});
  SplitOptions options;
  options.forced = {{"direct", 1.0}};
  const Json document = answer({}, "gpu0", options);
  EXPECT_EQ(document["decided_by"], "request");
  EXPECT_EQ(document["shares"].size(), 1u);
}

TEST_F(ExplainPut, TakesATableThatIsBrokenForNone) {
  keep("{\"version\": 1, \"kind\": \"put ta");
  EXPECT_EQ(answer()["tuned"], false);
}

TEST_F(ExplainPut, StaysOnTheDirectPathUntilThisMachineIsTuned) {
  machine_ = hgx_h200_4_unmeasured();
  const Json here = answer({.kept = true, .named = false});
  ASSERT_EQ(here["shares"].size(), 1u);
  EXPECT_EQ(here["shares"][0]["route"], "direct");
  EXPECT_EQ(here["decided_by"], "caution");
  ASSERT_FALSE(here["rejected"].empty());
  EXPECT_NE(here["rejected"][0]["reason"].get<std::string>().find("sennit tune"), std::string::npos);
  EXPECT_GT(answer({.kept = true, .named = true})["shares"].size(), 1u);
}

TEST_F(ExplainPut, NamesADeviceThatIsNotThere) {
  const auto refused = explain_put(machine_, "gpu7", "gpu1", 1, {}, {});
  EXPECT_EQ(refused.status().code(), Code::not_found);
  EXPECT_NE(refused.status().text().find("gpu7"), std::string::npos);
}

}  // namespace
}  // namespace sennit::path
