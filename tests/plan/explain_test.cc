#include "plan/explain.h"

#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::plan {
namespace {

Question question_of(std::uint64_t bytes) {
  return {allreduce_of(bytes), {device::Type::float32, device::Operator::sum}, {"gpu0", "gpu1"}, kScratch, {}};
}

TEST(Explain, WithoutATableTheModelDecides) {
  const Json said = explain(question_of(64 * MiB), measured_machine(), nullptr);
  EXPECT_EQ(said["source"], "model");
  EXPECT_EQ(said["chosen"]["algorithm"], "two_shot");
  EXPECT_EQ(said["candidates"][0]["algorithm"], "two_shot");
  EXPECT_TRUE(said["candidates"][0]["measured_us"].is_null());
  EXPECT_NE(said["reason"].get<std::string>().find("most of it moves bytes"), std::string::npos);
}

TEST(Explain, EveryAlgorithmIsACandidateOrRejectedWithItsReason) {
  for (const std::uint64_t bytes : {KiB, 64 * MiB}) {
    const Json said = explain(question_of(bytes), measured_machine(), nullptr);
    std::size_t algorithms = said["rejected"].size() + said["candidates"].size();
    EXPECT_EQ(algorithms, coll::algorithms_of(coll::Operation::allreduce).size());
    for (const Json& each : said["rejected"]) {
      const auto why = each["why"].get<std::string>();
      EXPECT_TRUE(why.find("takes at most") != std::string::npos || why.find("needs buffers") != std::string::npos);
    }
  }
}

TEST(Explain, WindowsGiveTheirAlgorithmsAChance) {
  Question question = question_of(4 * MiB);
  EXPECT_NE(explain(question, measured_machine(), nullptr)["chosen"]["algorithm"], "two_shot_windows");
  question.which.windows = true;
  const Table table = small_table();
  const Json said = explain(question, measured_machine(), &table);
  EXPECT_EQ(said["chosen"]["algorithm"], "two_shot_windows");
  EXPECT_EQ(said["source"], "model") << "tables are of other buffers";
}

TEST(Explain, BetweenWindowsGoesByWhatWasTunedThere) {
  const Table table = table_with_windows();
  Question question = question_of(4 * MiB);
  question.which.windows = true;
  const Json said = explain(question, measured_machine(), &table);
  EXPECT_EQ(said["source"], "table");
  EXPECT_EQ(said["chosen"]["algorithm"], "two_shot_windows");
}

TEST(Explain, SaysWhereWindowsChangeWhichLibraryIsFaster) {
  Table table = table_with_windows();
  const auto reason = [&](bool windows, double few_blocks_us) {
    // Plans of more blocks than sennit has in NCCL's programs do not count there.
    insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(4 * MiB),
                           {{kTwoShot, 24, 0.2}, {{coll::Algorithm::two_shot, 32, 256}, few_blocks_us, 0.1}}));
    Question question = question_of(4 * MiB);
    question.which.windows = windows;
    return explain(question, measured_machine(), &table)["reason"].get<std::string>();
  };
  const std::string said =
      "In NCCL's programs NCCL is faster in ordinary buffers (40.0 µs, sennit 41.0) and sennit between registered "
      "windows (22.0 µs, NCCL 45.0)";
  for (const bool windows : {false, true}) {
    EXPECT_NE(reason(windows, 41).find(said), std::string::npos) << reason(windows, 41);
    EXPECT_EQ(reason(windows, 30).find("NCCL"), std::string::npos) << "sennit in both";
  }
}

TEST(Explain, CandidatesAreInOrderAndAddUp) {
  const Json said = explain(question_of(MiB), measured_machine(), nullptr);
  double last = 0;
  for (const Json& each : said["candidates"]) {
    const double us = each["predicted_us"];
    EXPECT_GE(us, last);
    EXPECT_NEAR(us,
                each["launch_us"].get<double>() + each["crossing_us"].get<double>() + each["moving_us"].get<double>(),
                1e-9);
    last = us;
  }
}

TEST(Explain, OfAMachineThatIsNotHereTheSimulatorDecides) {
  const std::vector<Simulated> simulated{{{coll::Algorithm::linear, 64, 256}, 10},
                                         {{coll::Algorithm::segmented_ring, 128, 256}, 20},
                                         {{coll::Algorithm::linear, 32, 256}, 30},
                                         {{coll::Algorithm::two_shot, 256, 512}, 40}};
  const Json said = explain(question_of(64 * MiB), measured_machine(), nullptr, simulated);
  EXPECT_EQ(said["source"], "simulator");
  EXPECT_EQ(said["chosen"]["algorithm"], "linear");
  EXPECT_EQ(said["chosen"]["blocks"], 64);
  std::vector<std::string> order;
  for (const Json& each : said["candidates"]) order.push_back(each["algorithm"]);
  EXPECT_EQ(order[0], "linear");
  EXPECT_EQ(order[1], "segmented_ring");
  EXPECT_EQ(order[2], "two_shot");
  EXPECT_EQ(said["candidates"][1]["blocks"], 128) << "the plan that was simulated";
  EXPECT_EQ(said["candidates"][1]["simulated_us"], 20);
  EXPECT_TRUE(said["candidates"].back()["simulated_us"].is_null());
  const auto reason = said["reason"].get<std::string>();
  EXPECT_NE(reason.find("linear with 64 blocks of 256 threads should take 10.0 µs, segmented_ring 20.0"),
            std::string::npos)
      << reason;
  EXPECT_NE(reason.find("The cost model, which has one rate for all links, would take two_shot"), std::string::npos)
      << reason;
  const Table table = small_table();
  EXPECT_EQ(explain(question_of(MiB), measured_machine(), &table, simulated)["source"], "table");
}

TEST(Explain, WhatWasTunedGoesFirst) {
  const Table table = small_table();
  const Json said = explain(question_of(MiB), measured_machine(), &table);
  EXPECT_EQ(said["source"], "table");
  EXPECT_EQ(said["chosen"]["algorithm"], "segmented_ring");
  EXPECT_EQ(said["candidates"][0]["measured_us"], 14);
  EXPECT_EQ(said["candidates"][1]["algorithm"], "two_shot");
  EXPECT_EQ(said["candidates"][1]["measured_us"], 14.5);
  EXPECT_NE(said["reason"].get<std::string>().find("the cost model's choice 30.0"), std::string::npos);
}

}  // namespace
}  // namespace sennit::plan
