#include "bench/mpi/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

using testing::ElementsAre;

TEST(Operation, EachIsCalledByItsName) {
  for (const Benchmark& each : all_benchmarks()) {
    EXPECT_THAT(*parse_benchmarks(name(each)), ElementsAre(each));
    if (osu_name(each).empty()) continue;
    EXPECT_THAT(*parse_benchmarks(osu_name(each)), ElementsAre(each));
    EXPECT_THAT(*parse_benchmarks(osu_name(each).substr(4)), ElementsAre(each));
  }
  EXPECT_EQ(parse_benchmarks("all")->size(), all_benchmarks().size());
  EXPECT_THAT(*parse_benchmarks("all-to-all"), ElementsAre(Benchmark{Operation::alltoall}));
  const auto none = parse_benchmarks("swap");
  EXPECT_EQ(none.status().code(), Code::invalid_argument);
  EXPECT_THAT(none.status().remedy(), testing::HasSubstr("alltoall, alltoallv, alltoallw, reduce_scatter_block"));
}

TEST(Operation, NamesOfOsusMeanTheSame) {
  using enum Operation;
  const std::pair<const char*, Benchmark> cases[] = {
      {"osu_bw", {bandwidth}},
      {"bibw", {bidirectional}},
      {"osu_mbw_mr", {multi_pair}},
      {"osu_multi_lat", {multi_latency}},
      {"osu_latency_persistent", {latency, Style::persistent}},
      {"put-latency", {put}},
      {"osu_acc_latency", {accumulate}},
      {"osu_iallgatherv", {allgatherv, Style::nonblocking}},
      {"osu_bcast_persistent", {bcast, Style::persistent}},
      {"ineighbor_alltoallw", {neighbor_alltoallw, Style::nonblocking}}};
  for (const auto& [text, meant] : cases) EXPECT_THAT(*parse_benchmarks(text), ElementsAre(meant)) << text;
  EXPECT_EQ(name({allreduce, Style::persistent}), "allreduce_init");
  const auto all = parse_benchmarks("osu");
  for (const Benchmark& each : *all) EXPECT_NE(osu_name(each), "") << name(each);
  EXPECT_FALSE(parse_benchmarks("osu_scan")) << "it has no scan";
}

TEST(Operation, MessagesAreNoCollectives) {
  for (const Operation each : all_operations())
    if (is_one_sided(each)) {
      EXPECT_FALSE(is_message(each) || gathers(each) || scatters(each) || can_be_in_place(each)) << name(each);
      EXPECT_LE(reduces(each), updates(each)) << name(each);
    } else if (is_message(each)) {
      EXPECT_FALSE(reduces(each) || gathers(each) || scatters(each) || can_be_in_place(each)) << name(each);
    } else {
      EXPECT_FALSE(has_window(each)) << name(each);
    }
}

}  // namespace
}  // namespace sennit::bench::mpi
