#include "sim/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "coll/links.h"
#include "device/trace/block.h"
#include "sim/job.h"
#include "thorough.h"

namespace sennit::sim {
namespace {

using coll::Algorithm;
using coll::Operation;
using device::Act;
using device::Recording;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

constexpr std::uint64_t kScratch = std::uint64_t{64} << 20;
/// So little that messages of some KiB take many chunks.
constexpr std::uint64_t kLittle = coll::Shape::kSlotsOffset + coll::kMostBlocks * 8192;

std::vector<int> one_socket(int ranks) {
  return std::vector<int>(static_cast<std::size_t>(ranks), 0);
}

std::string text(const std::vector<Finding>& findings) {
  std::string all;
  for (const Finding& finding : findings) all += std::string(name(finding.fault)) + ": " + finding.what + "\n";
  return all;
}

/// Null where the plan does not admit the case.
std::unique_ptr<Job> job_of(const Collective& what, const std::vector<int>& sockets, std::uint64_t scratch) {
  auto job = Job::create(sockets, scratch);
  EXPECT_TRUE(job.ok()) << job.status().text();
  if (!job->admits(what)) return nullptr;
  const Status called = job->call(what);
  EXPECT_TRUE(called.ok()) << called.text();
  return std::make_unique<Job>(std::move(*job));
}

std::string describe(const Collective& what) {
  return std::string(coll::name(what.operation)) + " by " + std::string(coll::name(what.plan.algorithm)) + ", " +
         std::to_string(what.plan.blocks) + " blocks, " + std::to_string(what.bytes) + " bytes" +
         (what.in_place ? ", in place" : "") + ", root " + std::to_string(what.root);
}

TEST(Check, EveryAlgorithmOfEveryOperationIsRight) {
  int checked = 0;
  for (const int ranks : thorough() ? std::vector{2, 3, 5, 8} : std::vector{3})
    for (const Operation operation : coll::all_operations())
      for (const Algorithm algorithm : coll::algorithms_of(operation))
        for (const std::uint64_t bytes : {0, 4, 1000, 100'004})
          for (const bool in_place : {false, true})
            for (const std::uint64_t scratch : {kScratch, kLittle}) {
              const Collective what{operation, {algorithm, 2, 256}, bytes, 1, in_place, {}, true};
              const auto job = job_of(what, one_socket(ranks), scratch);
              if (job == nullptr) continue;
              const auto findings = check(job->recording(), job->promises());
              ASSERT_TRUE(findings.empty()) << describe(what) << ", " << ranks << " ranks\n" << text(findings);
              ++checked;
            }
  EXPECT_GT(checked, thorough() ? 1500 : 375);
}

TEST(Check, RanksOfSeveralSockets) {
  for (const std::vector<int>& sockets : {std::vector{0, 0, 1, 1}, {0, 1, 1}, {0, 1, 2, 0, 1, 2}, {1, 0, 0, 0, 1}})
    for (const std::uint64_t scratch : {kScratch, kLittle}) {
      const Collective what{Operation::allreduce, {Algorithm::hierarchical, 2, 256}, 60'000, 0, false, {}};
      const auto job = job_of(what, sockets, scratch);
      const auto findings = check(job->recording(), job->promises());
      ASSERT_TRUE(findings.empty()) << text(findings);
    }
}

/// What one launch leaves behind, the next one must cope with: any collective may follow any other.
TEST(Check, AnyCollectiveAfterAnyOther) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto draw = [&](std::size_t below) {
      return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
    };
    const int ranks = 2 + static_cast<int>(draw(7));
    auto job = Job::create(one_socket(ranks), draw(2) == 0 ? kScratch : kLittle);
    ASSERT_TRUE(job.ok()) << job.status().text();
    std::string calls;
    for (int call = 0; call < 12; ++call) {
      const auto operations = coll::all_operations();
      const Operation operation = operations[draw(operations.size())];
      const auto algorithms = coll::algorithms_of(operation);
      const std::uint64_t bytes = std::uint64_t{4} << draw(15);
      const unsigned blocks = 1 + static_cast<unsigned>(draw(3));
      const Collective what{operation,    {algorithms[draw(algorithms.size())], blocks, 256},
                            bytes,        static_cast<int>(draw(static_cast<std::size_t>(ranks))),
                            draw(2) == 0, {},
                            true};
      if (!job->admits(what)) continue;
      calls += describe(what) + "\n";
      const Status called = job->call(what);
      ASSERT_TRUE(called.ok()) << called.text();
    }
    const auto findings = check(job->recording(), job->promises());
    ASSERT_TRUE(findings.empty()) << ranks << " ranks\n" << calls << text(findings);
  }
}

// What follows breaks a right job in one place, and names what must be found.

struct Broken {
  Recording recording;
  Promises promises;
  explicit Broken(const Collective& what, int ranks = 3) {
    const auto job = job_of(what, one_socket(ranks), kLittle);
    recording = job->recording();
    promises = job->promises();
  }
  /// The strand of block 0 of rank `rank`'s first launch.
  device::Strand& block(int rank) {
    for (device::Strand& strand : recording.strands)
      if (strand.rank == rank && strand.block == 0) return strand;
    throw std::logic_error("no block");
  }
  device::Step& first(int rank, Act act) {
    for (device::Step& step : block(rank).steps)
      if (step.act == act) return step;
    throw std::logic_error("no such step");
  }
  void drop(int rank, Act act) {
    std::erase_if(block(rank).steps, [&](const device::Step& step) { return step.act == act; });
  }
  std::vector<Finding> found() const { return check(recording, promises); }
};
auto finds(Fault fault, const std::string& what) {
  return Contains(testing::AllOf(Field(&Finding::fault, fault), Field(&Finding::what, HasSubstr(what))));
}

const Collective kTwoShot{Operation::allreduce, {Algorithm::two_shot, 1, 256}, 30'000, 0, false, {}};
const Collective kPackets{Operation::allreduce, {Algorithm::two_shot_packets, 1, 256}, 3'000, 0, false, {}};

TEST(CheckFinds, ASignalThatNeverComes) {
  Broken job(kTwoShot);
  job.drop(1, Act::signal);
  EXPECT_THAT(job.found(), finds(Fault::deadlock, "rank 0, allreduce_two_shot block 0"));
  EXPECT_THAT(job.found(), finds(Fault::deadlock, "nobody signals that word"));
}

TEST(CheckFinds, WhoDoesNotWait) {
  Broken job(kTwoShot);
  job.drop(1, Act::await);
  EXPECT_THAT(job.found(), testing::AnyOf(finds(Fault::unwritten, "rank 1, allreduce_two_shot block 0"),
                                          finds(Fault::race, "rank 1, allreduce_two_shot block 0")));
}

TEST(CheckFinds, EachArrivalThatARingDoesNotWaitFor) {
  const Collective ring{Operation::allreduce, {Algorithm::segmented_ring, 1, 256}, 3 * 8192, 0, false, {}};
  Broken whole(ring);
  const auto steps = whole.block(1).steps;
  int dropped = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // Waits for room are implied by others where a ring closes.
    if (steps[i].act != Act::await || steps[i].wait_id != coll::Links<device::TraceBlock>::kArrival) continue;
    Broken job(whole);
    job.block(1).steps.erase(job.block(1).steps.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(job.found().empty()) << "without step " << i;
    ++dropped;
  }
  EXPECT_GT(dropped, 4);
}

TEST(CheckFinds, BytesThatAreStillOnTheirWay) {
  Broken job(kTwoShot);
  // Rank 1 says that a chunk is there before it has sent it.
  auto& steps = job.block(1).steps;
  const auto send = std::ranges::find(steps, Act::move, &device::Step::act);
  const auto signal = std::ranges::find(send, steps.end(), Act::signal, &device::Step::act);
  const auto end =
      std::find_if(signal, steps.end(), [&](const device::Step& step) { return step.group != signal->group; });
  std::rotate(send, signal, end);
  EXPECT_THAT(job.found(), finds(Fault::race, "rank 1"));
}

TEST(CheckFinds, PacketsThatNobodyTakes) {
  Broken job(kPackets);
  job.block(0).steps.pop_back();
  EXPECT_THAT(job.found(), finds(Fault::unwritten, "rank 0, lane"));  // its caller misses a part of the result
  for (device::Strand& strand : job.recording.strands)
    if (strand.rank == 0 && strand.block < 0)
      std::erase_if(strand.steps,
                    [](const device::Step& step) { return step.act == Act::move && step.destinations == 0; });
  EXPECT_THAT(job.found(), finds(Fault::unread, "nobody takes the packets that"));
}

TEST(CheckFinds, PacketsOfAnotherTag) {
  Broken job(kPackets);
  ++job.first(2, Act::move).value;
  EXPECT_THAT(job.found(), finds(Fault::deadlock, "waits for ever"));
}

TEST(CheckFinds, BytesThatNobodyReads) {
  Broken job({Operation::allgather, {Algorithm::direct, 1, 256}, 1000, 0, false, {}});
  auto& steps = job.block(1).steps;
  steps.erase(std::ranges::find_if(steps, [](const device::Step& step) {
    return step.act == Act::move && step.group > 3;  // behind what it sends
  }));
  EXPECT_FALSE(job.found().empty());
}

TEST(CheckFinds, ASignalForWhichNobodyWaits) {
  Broken job(kTwoShot);
  device::Strand& block = job.block(1);
  device::Step signal = job.first(1, Act::signal);
  device::End nobodys = block.destination(signal, 0);
  nobodys.offset = 7 * sizeof(device::Word);  // of a rank that there is not
  signal.ends = static_cast<std::uint32_t>(block.ends.size());
  block.ends.push_back(nobodys);
  block.steps.push_back(signal);
  EXPECT_THAT(job.found(), finds(Fault::unawaited, "nobody waits for what"));
}

TEST(CheckFinds, ABarrierThatDoesNotWait) {
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::dissemination}) {
    Broken job({Operation::barrier, {algorithm, 1, 32}, 0, 0, false, {}}, 4);
    auto& steps = job.block(1).steps;
    const auto last = std::ranges::find(steps.rbegin(), steps.rend(), Act::await, &device::Step::act);
    steps.erase(std::next(last).base());
    EXPECT_THAT(job.found(), finds(Fault::race, "rank 1, lane")) << coll::name(algorithm);
  }
}

/// Ranks work straight on each other's buffers: what callers do before and after has to be kept apart from that.
TEST(CheckFinds, WindowsWhoseRanksDoNotMeetBeforeOrAfter) {
  const Collective what{Operation::allreduce, {Algorithm::two_shot_windows, 1, 256}, 3000, 0, false, {}};
  const Broken whole(what);
  std::set<device::Word> wait_ids;
  for (const device::Strand& strand : whole.recording.strands)
    for (const device::Step& step : strand.steps)
      if (step.act == Act::await) wait_ids.insert(step.wait_id);
  EXPECT_GE(wait_ids.size(), 2u);
  for (const device::Word wait_id : wait_ids) {
    Broken job(whole);
    for (device::Strand& strand : job.recording.strands)
      std::erase_if(strand.steps,
                    [&](const device::Step& step) { return step.act == Act::await && step.wait_id == wait_id; });
    EXPECT_THAT(job.found(), Contains(Field(&Finding::fault, Fault::race))) << "without wait " << wait_id;
  }
}

TEST(CheckFinds, AWordThatGoesBackOrHasTwoWriters) {
  Broken back(kTwoShot);
  auto& steps = back.block(1).steps;
  const auto last = std::ranges::find(steps.rbegin(), steps.rend(), Act::signal, &device::Step::act);
  last->value -= 5;
  EXPECT_THAT(back.found(), finds(Fault::race, "takes back what"));

  Broken two(kTwoShot);
  const device::Step& first = two.first(1, Act::signal);
  const device::End word = two.block(1).destination(first, 0);
  device::Strand& other = two.block(2);
  device::Step same = two.first(2, Act::signal);
  same.ends = static_cast<std::uint32_t>(other.ends.size());
  other.ends.push_back(word);
  other.steps.insert(other.steps.begin(), same);
  EXPECT_THAT(two.found(), finds(Fault::race, "signals a word while"));
}

TEST(CheckFinds, WhatHappensAtTheSameTime) {
  // Rank 1 sends one peer what it receives from the other in the same step.
  Broken job({Operation::allgather, {Algorithm::direct_whole, 1, 256}, 1000, 0, false, {}});
  device::Strand& block = job.block(1);
  const auto first = std::ranges::find(block.steps, Act::move, &device::Step::act);
  const auto second = std::next(first);
  ASSERT_EQ(first->group, second->group);
  block.ends[second->ends] = block.ends[first->ends + 1];
  EXPECT_THAT(job.found(), finds(Fault::race, "at the same time"));
}

TEST(CheckFinds, DataWhereAWordIs) {
  Broken job(kTwoShot);
  device::Strand& block = job.block(1);
  const device::Step& send = job.first(1, Act::move);
  block.ends[send.ends + 1].offset = 0;  // of the words
  EXPECT_THAT(job.found(), finds(Fault::outside, "is something else elsewhere"));
}

TEST(CheckFinds, MemoryOutsideOfEveryRegion) {
  Broken job(kTwoShot);
  device::Strand& block = job.block(0);
  const device::Step& step = job.first(0, Act::move);
  block.ends[step.ends].offset = 29'999;
  EXPECT_THAT(job.found(), finds(Fault::outside, "is in no region"));
}

TEST(CheckFinds, AnInputThatIsMissing) {
  Broken job(kTwoShot);
  for (device::Step& step : job.block(2).steps)
    if (step.act == Act::move && step.sources == 3) {  // the reduction takes its own input twice instead of a peer's
      job.block(2).ends[step.ends] = job.block(2).ends[step.ends + 2];
      break;
    }
  EXPECT_FALSE(job.found().empty());
}

/// Averages divide and pre-multiplied sums multiply each input once, and a result is finished once.
TEST(CheckFinds, NumbersThatAreScaledTwiceOrNever) {
  for (const Algorithm algorithm : {Algorithm::segmented_ring, Algorithm::recursive_doubling, Algorithm::two_shot}) {
    const Collective what{Operation::allreduce, {algorithm, 1, 256}, 3000, 0, false, {}};
    const Broken whole(what);
    EXPECT_TRUE(whole.found().empty());
    const auto broken = [&](auto change) {
      Broken job(whole);
      for (device::Step& step : job.block(1).steps)
        if (step.act == Act::move && step.reduces) {
          change(step);
          break;
        }
      return job.found();
    };
    EXPECT_THAT(broken([](device::Step& step) { step.raw ^= 1; }), finds(Fault::result, "takes source 0 for"));
    EXPECT_THAT(broken([](device::Step& step) { step.last = !step.last; }),
                Contains(Field(&Finding::fault, Fault::result)));
  }
}

TEST(CheckFinds, AnotherOrderOnAnotherRank) {
  // Everyone reduces everything: nothing but the order of the sources makes bits the same.
  Broken job({Operation::allreduce, {Algorithm::one_shot, 1, 256}, 1000, 0, false, {}});
  device::Strand& block = job.block(2);
  for (const device::Step& step : block.steps)
    if (step.act == Act::move && step.sources == 3) std::swap(block.ends[step.ends], block.ends[step.ends + 1]);
  EXPECT_THAT(job.found(), finds(Fault::result, "added in another order on rank 2"));
}

}  // namespace
}  // namespace sennit::sim
