#include "sim/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <numeric>

#include "machine/known.h"
#include "places.h"
#include "sim/job.h"
#include "sim/predict.h"
#include "sim/what_if.h"
#include "thorough.h"

namespace sennit::sim {
namespace {

using coll::Algorithm;
using coll::Operation;
using testing::DoubleNear;
using testing::HasSubstr;

/// GPUs of which every pair has a link of its own.
machine::Machine mesh(int gpus, double gbps) {
  machine::Machine machine;
  machine.name = "mesh";
  for (int i = 0; i < gpus; ++i) {
    machine::Device gpu;
    gpu.id = "gpu" + std::to_string(i);
    machine.devices.push_back(gpu);
    for (int j = 0; j < i; ++j) {
      machine::Link link;
      link.from = "gpu" + std::to_string(j);
      link.to = gpu.id;
      link.kind = machine::LinkKind::nvlink;
      link.forward_gbps.value = link.backward_gbps.value = gbps;
      machine.links.push_back(link);
    }
  }
  return machine;
}

/// Nothing takes time but the links.
Costs free_of_charge() {
  Costs costs;
  for (const NamedCost& each : kCosts) costs.*each.cost = 0;
  costs.block_gbps = costs.block_reduce_gbps = costs.packet_gbps = costs.memory_gbps = 1e9;
  costs.link_efficiency = costs.load_efficiency = costs.packet_efficiency = 1;
  costs.blocks_per_sm = 1e9;
  return costs;
}

Setting setting_of(int ranks, const Costs& costs = free_of_charge()) {
  Setting setting;
  for (int rank = 0; rank < ranks; ++rank) setting.gpus.push_back("gpu" + std::to_string(rank));
  setting.costs = costs;
  return setting;
}

Job job_of(const Collective& what, int ranks, unsigned most_blocks = ~0u) {
  auto job = Job::create(std::vector<int>(static_cast<std::size_t>(ranks), 0), std::uint64_t{64} << 20, most_blocks);
  EXPECT_TRUE(job.ok()) << job.status().text();
  const Status called = job->call(what);
  EXPECT_TRUE(called.ok()) << called.text();
  return std::move(*job);
}

double us(const Job& job, const machine::Machine& machine, const Setting& setting) {
  const auto replayed = replay(job.recording(), machine, setting);
  EXPECT_TRUE(replayed.ok()) << replayed.status().text();
  return replayed.ok() ? replayed->us : -1;
}

constexpr std::uint64_t kLong = std::uint64_t{64} << 20;

/// Where bytes alone take time, algorithms take what their formulas say: docs/tune/algorithms/.
TEST(Replay, TakesWhatTheClosedFormsSay) {
  struct Form {
    Operation operation;
    Algorithm algorithm;
    double bytes_over_a_link;  // of the busiest link, for each byte of the message
  };
  for (const int n : {2, 3, 4, 8})
    for (const Form& form : {Form{Operation::allreduce, Algorithm::two_shot, 2.0 / n},
                             {Operation::allreduce, Algorithm::segmented_ring, 2.0 * (n - 1) / n},
                             {Operation::reduce_scatter, Algorithm::direct, 1},
                             {Operation::allgather, Algorithm::direct, 1},
                             {Operation::all_to_all, Algorithm::direct, 1},
                             {Operation::all_to_all, Algorithm::copy_engines_windows, 1.0 * (n - 1)},
                             {Operation::broadcast, Algorithm::chain, 1},
                             {Operation::scatter, Algorithm::direct, 1}}) {
      const Job job = job_of({form.operation, {form.algorithm, 16, 256}, kLong, 0, false, {}}, n, 1);
      // A ring of two goes both ways over the same link, which carries each at full speed. Rounds of an all-to-all by
      // engines use one link at a time.
      const double expected = static_cast<double>(kLong) * form.bytes_over_a_link / 100e3;
      EXPECT_THAT(us(job, mesh(n, 100), setting_of(n)), DoubleNear(expected, 0.1 * expected))
          << coll::name(form.operation) << " by " << coll::name(form.algorithm) << ", " << n << " ranks";
    }
}

TEST(Replay, EachCostCountsAsOftenAsItIsMet) {
  const Collective what{Operation::barrier, {Algorithm::direct, 1, 32}, 0, 0, false, {}};
  const Job barrier = job_of(what, 2);
  Costs costs = free_of_charge();
  costs.early_us = 3;
  costs.launch_us = 3;
  costs.signal_us = 2;
  EXPECT_DOUBLE_EQ(us(barrier, mesh(2, 100), setting_of(2, costs)), 5) << "a launch and a signal";
  const Job packets = job_of({Operation::allgather, {Algorithm::packets, 1, 256}, 8, 0, false, {}}, 2);
  costs.packet_us = 7;
  EXPECT_THAT(us(packets, mesh(2, 100), setting_of(2, costs)), DoubleNear(10, 0.01)) << "a launch and a packet";
}

/// Who has nothing to send still says that it has come.
TEST(Replay, EmptyPacketsArriveToo) {
  const Collective what{Operation::broadcast, {Algorithm::packets, 2, 256}, 64, 0, true, {}};
  EXPECT_GT(us(job_of(what, 4), mesh(4, 100), setting_of(4, Costs())), 0);
  EXPECT_GT(us(job_of({Operation::allreduce, {Algorithm::one_shot_packets, 4, 256}, 8, 0, true, {}}, 4), mesh(4, 100),
               setting_of(4, Costs())),
            0);
}

TEST(Replay, FoldedBlocksTakeAsLongAsAllOfThem) {
  const Costs costs;
  for (const Algorithm algorithm : {Algorithm::two_shot_whole, Algorithm::two_shot_packets}) {
    const Collective what{Operation::allreduce, {algorithm, 32, 256}, 256 << 10, 0, false, {}};
    const double all = us(job_of(what, 4), mesh(4, 100), setting_of(4, costs)),
                 folded = us(job_of(what, 4, 1), mesh(4, 100), setting_of(4, costs));
    EXPECT_THAT(folded, DoubleNear(all, 0.02 * all)) << coll::name(algorithm);
  }
}

/// Blocks that have drifted apart get as far as the busiest link lets them, and nobody faster than alone.
TEST(Replay, BlocksThatDriftApartFillTheLinks) {
  machine::Machine machine = mesh(4, 100);
  const auto replayed = [&](unsigned blocks, std::uint64_t bytes, double in_step) {
    const Collective what{Operation::allgather, {Algorithm::ring, blocks, 256}, bytes, 0, false, {}};
    const Job job = job_of(what, 4, 1);
    Costs costs;
    costs.in_step = in_step;
    return replay(job.recording(), machine, setting_of(4, costs)).value();
  };
  const Replayed together = replayed(256, kLong, 1e9), apart = replayed(256, kLong, Costs().in_step),
                 at_once = replayed(256, kLong, 0);
  EXPECT_EQ(together.us, together.in_step_us);
  EXPECT_EQ(apart.in_step_us, together.us);
  EXPECT_LT(apart.us, together.us);
  EXPECT_LT(at_once.us, apart.us);
  EXPECT_NEAR(at_once.loads.front().busy, 1, 1e-9) << "nothing is left of the busiest link";
  double sum = 0;
  for (const Critical& each : apart.critical) sum += each.us;
  EXPECT_NEAR(sum, apart.us, 1e-6 * apart.us);
  // Of one block nobody takes what it leaves.
  const Replayed alone = replayed(1, std::uint64_t{4} << 20, 0);
  EXPECT_GT(alone.us, 0.95 * alone.in_step_us);
}

double mean_back_to_back(const machine::Machine& machine, const Question& question, const coll::Plan& plan) {
  const auto found = predict(machine, question, plan);
  EXPECT_TRUE(found.ok() && *found) << coll::name(plan);
  return found.ok() && *found ? (*found)->back_to_back_us : -1;
}

/// Whatever plan: a faster link makes nothing slower, and a little more makes a little difference.
TEST(Predict, NoLinkIsTooFast) {
  struct Case {
    const char* machine;
    const char* link;
    Operation operation;
    std::uint64_t bytes;
    unsigned blocks;  // 0: any
  };
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  std::vector<Case> cases{{"mist", "socket", Operation::allreduce, 64 * kMiB, 128},
                          {"mist", "nvlink", Operation::broadcast, 16 * kMiB, 64},
                          {"cedar", "nvlink", Operation::allreduce, 16 * kMiB, 256},
                          {"beluga", "pcie", Operation::allgather, kMiB, 16},
                          {"hgx-h200-4", "nvlink", Operation::all_to_all, 16 * kMiB, 256},
                          {"cscs", "nvlink", Operation::reduce_scatter, kMiB, 32},
                          {"ri2", "pcie", Operation::gather, kMiB, 8},
                          {"dgx-1v", "nvlink", Operation::reduce, 4 * kMiB, 128},
                          {"dgx-1v", "pcie", Operation::allreduce, kMiB / 16, 8},   // NVLink stays what is taken
                          {"helios", "pcie", Operation::broadcast, kMiB / 16, 4}};  // every other call is long
  if (std::getenv("SENNIT_TEST_ALL") != nullptr) {
    cases.clear();
    for (const char* machine :
         {"mist", "cedar", "beluga", "helios", "hgx-h200-4", "cscs", "ri2", "dgx-1v", "dgx-a100", "dgx-h100"})
      for (const char* link : {"socket", "nvlink", "pcie"})
        for (const Operation operation :
             {Operation::allreduce, Operation::reduce_scatter, Operation::allgather, Operation::reduce,
              Operation::broadcast, Operation::gather, Operation::scatter, Operation::all_to_all})
          for (const std::uint64_t bytes : {kMiB / 16, kMiB, 16 * kMiB})
            cases.push_back({machine, link, operation, bytes, 0});
  }
  if (!thorough()) cases.erase(cases.begin(), cases.end() - 2);  // those of the shortest calls
  for (const Case& each : cases) {
    machine::Machine machine =
        machine::known_machine(places::source("machines/" + std::string(each.machine) + ".json"), "").value().machine;
    Question question;
    question.what = {each.operation, {}, each.bytes, 0, coll::works_in_place(each.operation), {}};
    question.ranks = std::min<int>(4, static_cast<int>(gpus_of(machine).size()));
    if (each.blocks != 0) question.blocks = each.blocks;
    std::map<std::string, double> before;
    for (const char* factor : {"1x", "1.0001x", "1.1x", "2x"}) {
      machine::Machine faster = machine;
      if (!apply_what_if(faster, std::string(each.link) + ".bandwidth=" + factor).ok()) break;  // has no such link
      const auto found = predict(faster, question);
      if (!found.ok()) break;  // GPUs that reach each other by nothing
      for (const Prediction& one : *found) {
        const double us = one.back_to_back_us;
        const auto [least, is_new] = before.try_emplace(coll::name(one.plan), us);
        if (us > 1.02 * least->second) {
          // Calls back to back may take turns in being long and short; a mean over more of them decides.
          question.calls = 16;
          EXPECT_LE(mean_back_to_back(faster, question, one.plan),
                    1.02 * mean_back_to_back(machine, question, one.plan))
              << each.machine << ' ' << each.link << ' ' << factor << ' ' << coll::name(each.operation) << ' '
              << each.bytes << ' ' << coll::name(one.plan);
          question.calls = Question().calls;
        }
        if (std::string_view(factor) == "1.0001x") {
          EXPECT_GE(us, 0.98 * least->second) << coll::name(one.plan);
        }
        least->second = std::min(least->second, us);
      }
    }
  }
}

/// However many blocks stand for all, they drift apart as far.
TEST(Replay, BlocksThatDriftApartDoSoAlike) {
  const Collective what{Operation::allreduce, {Algorithm::segmented_ring, 64, 256}, 32 << 20, 0, false, {}};
  const double all = us(job_of(what, 4), mesh(4, 100), setting_of(4, Costs())),
               folded = us(job_of(what, 4, 4), mesh(4, 100), setting_of(4, Costs()));
  EXPECT_THAT(folded, DoubleNear(all, 0.03 * all));
}

TEST(Replay, ShortMessagesKeepOnlyTheBlocksBusyThatHaveAPart) {
  const Collective what{Operation::all_to_all_v, {Algorithm::direct, 256, 256}, 64 << 10, 0, false, {}};
  const double all = us(job_of(what, 4), mesh(4, 10), setting_of(4)),
               folded = us(job_of(what, 4, 1), mesh(4, 10), setting_of(4));
  EXPECT_THAT(folded, DoubleNear(all, 0.05 * all));
}

TEST(Replay, SaysWhatTheTimeWentInto) {
  const Job job = job_of({Operation::broadcast, {Algorithm::chain, 16, 256}, kLong, 0, false, {}}, 3, 4);
  machine::Machine machine = mesh(3, 100);
  machine.links[2].forward_gbps.value = 20;  // gpu1 to gpu2
  const auto replayed = replay(job.recording(), machine, setting_of(3, Costs()));
  ASSERT_TRUE(replayed.ok()) << replayed.status().text();
  EXPECT_EQ(replayed->critical.front().what, "gpu1>gpu2 is full");
  EXPECT_GT(replayed->critical.front().us, 0.9 * replayed->us);
  double sum = 0;
  for (const Critical& each : replayed->critical) sum += each.us;
  EXPECT_NEAR(sum, replayed->us, 1e-6 * replayed->us);
  EXPECT_EQ(replayed->loads.front().resource, "gpu1>gpu2");
  EXPECT_GT(replayed->loads.front().busy, 0.9);
  EXPECT_LE(replayed->loads.front().busy, 1 / Costs().link_efficiency + 1e-9);
}

TEST(Replay, DrawsATimelineOfEveryStrand) {
  const Job job = job_of({Operation::allreduce, {Algorithm::two_shot_whole, 4, 256}, 256 << 10, 0, false, {}}, 2);
  Setting setting = setting_of(2, Costs());
  setting.timeline = true;
  const auto replayed = replay(job.recording(), mesh(2, 100), setting);
  ASSERT_TRUE(replayed.ok());
  std::map<std::uint32_t, double> until;
  for (const Span& span : replayed->timeline) {
    EXPECT_LT(span.begin_us, span.end_us);
    EXPECT_GE(span.begin_us, until[span.strand] - 1e-9) << "a strand does one thing at a time";
    EXPECT_LE(span.end_us, replayed->us + 1e-9);
    until[span.strand] = span.end_us;
  }
  EXPECT_EQ(until.size(), 2u * (1 + 4)) << "a lane and four blocks of each rank";
}

TEST(Replay, IsTheSameAgain) {
  const Job job = job_of({Operation::allreduce, {Algorithm::segmented_ring, 64, 256}, 16 << 20, 0, false, {}}, 4, 4);
  EXPECT_EQ(us(job, mesh(4, 100), setting_of(4, Costs())), us(job, mesh(4, 100), setting_of(4, Costs())));
}

TEST(Replay, ALinkTwiceAsFastHalvesWhatItHoldsUp) {
  const Job job = job_of({Operation::allreduce, {Algorithm::two_shot, 64, 256}, kLong, 0, false, {}}, 4, 4);
  const double slow = us(job, mesh(4, 25), setting_of(4, Costs())),
               fast = us(job, mesh(4, 50), setting_of(4, Costs()));
  EXPECT_THAT(slow / fast, DoubleNear(2, 0.1));
}

/// Of a gather the senders wait for nobody. Those that begin together pause together between two calls, and the
/// root's link idles; apart, one's pause is the others' time.
TEST(Predict, RanksThatNeedNotWaitStayApart) {
  const machine::Machine machine =
      machine::known_machine(places::source("machines/hgx-h200-4.json"), "").value().machine;
  const auto back_to_back = [&](Operation operation, Algorithm algorithm, double skew_us) {
    Question question;
    question.what = {operation, {}, std::uint64_t{1} << 20, 0, false, {}};
    question.algorithm = algorithm;
    question.blocks = 32;
    question.costs.skew_us = skew_us;
    return predict(machine, question).value().front().back_to_back_us;
  };
  EXPECT_LT(back_to_back(Operation::gather, Algorithm::direct, 2),
            0.85 * back_to_back(Operation::gather, Algorithm::direct, 0));
  const double together = back_to_back(Operation::allreduce, Algorithm::two_shot, 0);
  EXPECT_THAT(back_to_back(Operation::allreduce, Algorithm::two_shot, 2), DoubleNear(together, 0.05 * together))
      << "ranks that wait for each other are soon together";
}

TEST(Replay, BadInputIsNamed) {
  const Job job = job_of({Operation::barrier, {Algorithm::direct, 1, 32}, 0, 0, false, {}}, 2);
  EXPECT_THAT(replay(job.recording(), mesh(2, 100), setting_of(3)).status().text(), HasSubstr("3 GPUs for 2 ranks"));
  EXPECT_THAT(replay(job.recording(), mesh(1, 100), setting_of(2)).status().text(),
              HasSubstr("machine 'mesh' has no GPU 'gpu1'"));
  machine::Machine apart = mesh(2, 100);
  apart.links.clear();
  EXPECT_THAT(replay(job.recording(), apart, setting_of(2)).status().text(), HasSubstr("do not reach each other"));
  device::Recording stuck = job.recording();
  for (device::Strand& strand : stuck.strands)
    if (strand.rank == 1)
      std::erase_if(strand.steps, [](const device::Step& step) { return step.act == device::Act::signal; });
  const Status status = replay(stuck, mesh(2, 100), setting_of(2)).status();
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.text(), HasSubstr("rank 0, barrier_direct block 0"));
}

}  // namespace
}  // namespace sennit::sim
