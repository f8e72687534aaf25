// Every algorithm of every operation against a plain reference, on the host executor: the text that GPUs run. The
// file is long, as all of them share its subjects.
#include "coll/algorithms.h"

#include <gtest/gtest.h>

#include <random>

#include "base/units.h"
#include "coll/cost.h"
#include "job.h"
#include "subjects.h"
#include "thorough.h"

namespace sennit::coll {
namespace {

class Algorithms : public testing::TestWithParam<Subject> {
 protected:
  Trial make(unsigned blocks, device::Reduction reduction, std::uint64_t count) const {
    return {GetParam().operation, {GetParam().algorithm, blocks}, reduction, count};
  }
};

TEST_P(Algorithms, AnyRanksAndAwkwardCounts) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    if (!thorough() && ranks != 3 && ranks != kMostRanks) continue;
    LocalTeam local(ranks, 256);
    if (ranks >= 3)
      local.set_sockets([&] {
        std::vector<int> sockets;
        for (int rank = 0; rank < ranks; ++rank) sockets.push_back(rank * 2 / ranks);
        return sockets;
      }());
    int turn = 0;
    for (const std::uint64_t count : {1, 3, 64, 257, 4099})
      for (const unsigned blocks : {1u, 3u}) {
        Trial what = make(blocks, kSum, count);
        what.in_place = (turn / 2 + ranks) % 2 == 0;  // both with either number of blocks
        what.root = turn++ % ranks;
        check(local, what);
        if (HasFatalFailure()) return;
      }
  }
}

TEST_P(Algorithms, EveryTypeAndOperator) {
  // Each type and operator meets two numbers of ranks; which, no pattern of either decides. Sanitizers have all with
  // three ranks.
  constexpr int kNumbers = kMostRanks - 1;
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    if (!thorough() && ranks != 3) continue;
    LocalTeam local(ranks, 256);
    for (const device::Type type : device::all_types())
      for (const device::Operator op : device::all_operators()) {
        const int turn = (int(type) * 5 + int(op) * 3 + int(op) / 4 + ranks) % kNumbers;
        if (!device::supports(type, op) || (thorough() && turn != 0 && turn != 3)) continue;
        if (!reduces(GetParam().operation) && op != device::Operator::sum) continue;
        device::Reduction reduction{type, op};
        reduction.real_scale = 0.5;
        reduction.integer_scale = type == device::Type::int8 ? 1 : 3;
        if (type == device::Type::float8_e5m2 || type == device::Type::float8_e4m3) reduction.real_scale = 1;
        Trial what = make(2, reduction, 107 + 13 * static_cast<unsigned>(ranks));
        what.in_place = (int(type) + int(op)) % 2 == 0;
        what.root = ranks - 1;
        check(local, what);
        if (HasFatalFailure()) return;
      }
  }
}

TEST_P(Algorithms, AnyAlignmentOfTheElement) {
  LocalTeam local(3, 256);
  for (const auto type : {device::Type::int8, device::Type::bfloat16, device::Type::float32, device::Type::float64})
    for (const std::uint64_t offset : {1, 3}) {
      Trial what = make(2, {type, device::Operator::sum}, 777);
      what.offset = offset;
      check(local, what);
    }
}

TEST_P(Algorithms, UpToTheLimit) {
  // Where a plan has one: as much as it admits, and a little less, among numbers of ranks that divide nothing evenly.
  for (const int ranks : thorough() ? std::vector{3, 5, 6, 8} : std::vector{5}) {
    LocalTeam local(ranks, 256);
    constexpr unsigned kBlocks = 3;
    const std::uint64_t most = most_bytes(GetParam().operation, make(kBlocks, kSum, 0).plan, local.team(0));
    if (most > MiB) return;
    for (const std::uint64_t less : {0, 1, 3}) {
      Trial what = make(kBlocks, kSum, most / 4 - less);
      what.root = ranks / 2;
      check(local, what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Algorithms, RanksRunAheadOfEachOther) {
  // Nothing between the calls: a rank may be calls ahead, and sizes, blocks and roots change from call to call.
  constexpr int kRanks = 4, kCalls = 40;
  LocalTeam local(kRanks, 512);
  std::vector<std::unique_ptr<Job>> jobs;
  for (int call = 0; call < kCalls; ++call) {
    Trial what = make(1 + static_cast<unsigned>(call) % 3, kSum, 1 + static_cast<std::uint64_t>(call) * 31 % 700);
    what.root = call % kRanks;
    what.in_place = call % 2 == 0;
    auto job = std::make_unique<Job>(local, what);
    if (job->admitted()) jobs.push_back(std::move(job));
  }
  ASSERT_GE(jobs.size(), std::size_t{kCalls / 2});
  for (const int rank : {2, 0, 3, 1})
    for (const auto& job : jobs) job->start(rank);
  finish(local);
  for (const auto& job : jobs) job->verify();
}

TEST_P(Algorithms, ARankThatDoesNotComeIsNamed) {
  LocalTeam local(3, 256, std::chrono::milliseconds(300));
  Trial what = make(1, kSum, 100);
  what.root = 2;
  Job job(local, what);
  for (const int rank : {0, 1}) job.start(rank);
  bool named = false, waited = false;
  for (const int rank : {0, 1}) {
    const Status status = local.lane(rank).synchronize();
    if (status.ok()) continue;
    waited = true;
    EXPECT_EQ(status.code(), Code::timed_out);
    named = named || status.text().find("rank 2") != std::string::npos;
  }
  // To send is not to wait: who only sends a little may go on.
  const bool only_sends = GetParam().operation == Operation::gather || GetParam().operation == Operation::reduce;
  EXPECT_TRUE(waited || only_sends);
  EXPECT_EQ(named, waited);
}

TEST_P(Algorithms, CallsBehindOneThatGaveUpDoNotWaitTheirOwnTime) {
  LocalTeam local(2, 256, std::chrono::milliseconds(400));
  Trial what = make(1, kSum, 100);
  what.root = 1;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int call = 0; call < 8; ++call) jobs.push_back(std::make_unique<Job>(local, what));
  const auto start = std::chrono::steady_clock::now();
  for (const auto& job : jobs) job->start(0);
  const Status status = local.lane(0).synchronize();
  const auto took = std::chrono::steady_clock::now() - start;
  if (status.ok()) return;  // to send is not to wait
  EXPECT_EQ(status.code(), Code::timed_out);
  EXPECT_LT(took, std::chrono::milliseconds(3 * 400)) << "eight calls, and several waits in some";
}

INSTANTIATE_TEST_SUITE_P(Every, Algorithms, testing::ValuesIn(counting_subjects()), title);

TEST(Hierarchical, SocketsOfAnySize) {
  for (const std::vector<int>& sockets :
       {std::vector<int>{0, 1, 2}, {0, 0, 0}, {0, 1, 1, 0}, {1, 0, 1, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 1, 2, 2, 2}}) {
    LocalTeam local(static_cast<int>(sockets.size()), 256);
    local.set_sockets(sockets);
    Trial what{
        Operation::allreduce, {Algorithm::hierarchical, 2}, {device::Type::float32, device::Operator::average}, 1001};
    what.in_place = true;
    check(local, what);
  }
}

/// A message of other length for every pair.
TEST(AllToAllV, AnyLengths) {
  for (const int ranks : {2, 3, 5, 8}) {
    LocalTeam local(ranks, 256);
    std::mt19937 random(static_cast<unsigned>(ranks));
    for (int round = 0; round < 8; ++round) {
      const auto n = static_cast<std::size_t>(ranks);
      std::vector<std::vector<std::uint64_t>> lengths(n, std::vector<std::uint64_t>(n));
      for (auto& row : lengths)
        for (auto& length : row) length = random() % 3 == 0 ? 0 : random() % (round % 2 == 0 ? 4000 : 60000);
      const auto byte = [](std::size_t from, std::size_t to, std::uint64_t i) {
        return static_cast<std::byte>(from * 91 + to * 17 + i * 3 + i / 256);
      };
      std::vector<std::vector<std::byte>> inputs(n), outputs(n);
      for (std::size_t rank = 0; rank < n; ++rank) {
        std::uint64_t to_receive = 0;
        for (std::size_t peer = 0; peer < n; ++peer) {
          for (std::uint64_t i = 0; i < lengths[rank][peer]; ++i) inputs[rank].push_back(byte(rank, peer, i));
          to_receive += lengths[peer][rank];
        }
        outputs[rank].resize(to_receive);
        Call call{Operation::all_to_all_v, nullptr, nullptr, 0, kEveryRank, {}, {}};
        std::uint64_t sent = 0, received = 0;
        for (std::size_t peer = 0; peer < n; ++peer) {
          call.messages.with[peer] = {inputs[rank].data() + sent,
                                      lengths[rank][peer],
                                      outputs[rank].data() + received,
                                      lengths[peer][rank],
                                      0,
                                      0};
          sent += lengths[rank][peer];
          received += lengths[peer][rank];
        }
        const int at = static_cast<int>(rank);
        const Algorithm algorithm = round % 4 < 2 ? Algorithm::direct : Algorithm::direct_loads;
        ASSERT_TRUE(launch({algorithm, 2}, call, local.team(at), nullptr, local.lane(at)).ok());
      }
      finish(local);
      for (std::size_t rank = 0; rank < n; ++rank) {
        std::uint64_t at = 0;
        for (std::size_t peer = 0; peer < n; ++peer)
          for (std::uint64_t i = 0; i < lengths[peer][rank]; ++i, ++at)
            ASSERT_EQ(outputs[rank][at], byte(peer, rank, i))
                << "rank " << rank << " from " << peer << ", byte " << i;
      }
    }
  }
}

class Barriers : public testing::TestWithParam<Subject> {};

TEST_P(Barriers, NobodyPassesBeforeAllHaveCome) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    LocalTeam local(ranks, 256);
    const auto n = static_cast<std::size_t>(ranks);
    constexpr int kRounds = 20;
    std::vector<int> numbers(kRounds);
    for (int round = 0; round < kRounds; ++round) numbers[static_cast<std::size_t>(round)] = round;
    std::vector<int> said(n, -1);  // plain memory: ThreadSanitizer knows who orders it
    std::vector<std::vector<int>> seen(n, std::vector<int>(n * kRounds));
    const Call call{Operation::barrier, nullptr, nullptr, 0, kEveryRank, {}, {}};
    for (int rank = 0; rank < ranks; ++rank) {
      device::Lane& lane = local.lane(rank);
      const auto at = static_cast<std::size_t>(rank);
      for (std::size_t round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(lane.copy(&said[at], &numbers[round], sizeof(int)).ok());
        ASSERT_TRUE(launch({GetParam().algorithm, 1}, call, local.team(rank), nullptr, lane).ok());
        ASSERT_TRUE(lane.copy(&seen[at][round * n], said.data(), n * sizeof(int)).ok());
        ASSERT_TRUE(launch({GetParam().algorithm, 1}, call, local.team(rank), nullptr, lane).ok());
      }
    }
    finish(local);
    for (std::size_t rank = 0; rank < n; ++rank)
      for (std::size_t i = 0; i < n * kRounds; ++i) ASSERT_EQ(seen[rank][i], int(i / n)) << "rank " << rank;
  }
}

/// Who sends to whom differs with the shape, the number of ranks and the root: all of them, with counts that fill no
/// slot, one, and several.
TEST(BroadcastTree, OfEveryShapeReachesAllRanksFromEveryRoot) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    LocalTeam local(ranks, 256);
    for (int root = 0; root < ranks; ++root)
      for (const Algorithm algorithm :
           {Algorithm::chain, Algorithm::tree, Algorithm::knomial_2, Algorithm::knomial_4, Algorithm::knomial_8})
        for (const std::uint64_t count : {1, 61, 1027}) {
          Trial what{Operation::broadcast, {algorithm, 2}, kSum, count};
          what.root = root;
          what.in_place = root % 2 == 0;
          check(local, what);
          if (HasFatalFailure()) return;
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Barriers, testing::ValuesIn([] {
                           auto subjects = all_subjects();
                           std::erase_if(subjects,
                                         [](const Subject& one) { return one.operation != Operation::barrier; });
                           return subjects;
                         }()),
                         title);

/// Any operations, one after the other, with nothing between them.
TEST(Collective, RandomCallsAreRight) {
  const unsigned seed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto upto = [&](std::size_t n) { return static_cast<unsigned>(random() % n); };
  const auto subjects = counting_subjects();
  for (int round = 0; round < 8; ++round) {
    const int ranks = 2 + int(upto(7));
    LocalTeam local(ranks, 16 * (4 + upto(64)));
    std::vector<int> sockets;
    for (int rank = 0; rank < ranks; ++rank) sockets.push_back(int(upto(3)));
    local.set_sockets(sockets);
    std::vector<std::unique_ptr<Job>> jobs;
    for (int call = 0; call < 60; ++call) {
      const Subject subject = subjects[upto(subjects.size())];
      Trial what{subject.operation, {subject.algorithm, 1 + upto(4)}};
      what.reduction.type = device::all_types()[upto(device::kTypes)];
      do what.reduction.op = device::all_operators()[upto(device::kOperators)];
      while (!device::supports(what.reduction.type, what.reduction.op));
      what.count = 1 + upto(3000) / static_cast<unsigned>(ranks);
      what.offset = upto(5);
      what.in_place = upto(2) == 0;
      what.root = int(upto(static_cast<std::size_t>(ranks)));
      auto job = std::make_unique<Job>(local, what);
      if (job->admitted()) jobs.push_back(std::move(job));
    }
    for (const auto& job : jobs) job->start();
    finish(local);
    for (const auto& job : jobs) {
      job->verify();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Collective, TakesNoMoreBlocksThanHaveSlots) {
  LocalTeam local(2, 64);
  local.set_blocks(3);
  check(local, {Operation::allreduce, {Algorithm::two_shot_whole, 3}, kSum, 8});
  std::byte numbers[32] = {};
  const Call call{Operation::allreduce, numbers, numbers, sizeof numbers, 0, kSum, {}};
  const Status status = launch({Algorithm::two_shot_whole, 4}, call, local.team(0), nullptr, local.lane(0));
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.remedy(), "Use 1 to 3");
}

TEST(Collective, PartsRoundedUpToLinesFitTheirSlots) {
  // Slots of no special length, as any size of scratch makes them, and parts that are a little more than whole ones.
  for (const std::uint64_t slot : {5088, 1040, 9000})
    for (const Subject& subject : counting_subjects())
      for (const std::uint64_t slots : {2, 4}) {
        LocalTeam local(3, slot);
        check(local, {subject.operation, {subject.algorithm, 1}, kSum, slots * slot / sizeof(float)});
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(Collective, CountsWrapAround) {
  LocalTeam local(3, 256);
  for (int rank = 0; rank < 3; ++rank)
    for (BlockCounts& counts : local.counts(rank)) {
      counts.epoch = 0xFFFFFFFEu;
      for (int peer = 0; peer < 3; ++peer) counts.sent[peer] = counts.taken[peer] = 0xFFFFFFFDu;
      counts.meetings = 0xFFFFFFFEu;
    }
  for (int rank = 0; rank < 3; ++rank)
    for (unsigned block = 0; block < 2; ++block)
      for (int peer = 0; peer < 3; ++peer) {
        *local.team(rank).produced(rank, peer, block) = 0xFFFFFFFDu;
        *local.team(rank).consumed(rank, peer, block) = 0xFFFFFFFDu;
        *local.team(rank).met(rank, peer, block) = 0xFFFFFFFEu;
      }
  for (int call = 0; call < 6; ++call)
    for (const Subject& subject : counting_subjects())
      check(local, {subject.operation, {subject.algorithm, 2}, kSum, 500});
}

TEST(Collective, NoPacketOutlivesItsCall) {
  LocalTeam local(3, 256);
  for (const Subject& subject : counting_subjects())
    check(local, {subject.operation, {subject.algorithm, 2}, {device::Type::bfloat16, device::Operator::sum}, 999});
  for (int rank = 0; rank < 3; ++rank)
    for (std::uint64_t epoch : {0, 1})
      for (unsigned block = 0; block < 2; ++block)
        for (std::uint64_t i = 0; i < kPlaceBytes / sizeof(device::Packet); ++i) {
          const device::Packet& packet =
              local.team(0).packets(rank, rank == 0 ? 1 : 0, block)[Team::use_of(epoch).offset + i];
          ASSERT_TRUE(packet.tag0 == 0 && packet.tag1 == 0) << "rank " << rank << ", packet " << i;
        }
}

TEST(Collective, TheCostModelKnowsHowSlotsAreUsed) {
  for (const Subject& subject : counting_subjects()) {
    const Work work = work_of({subject.operation, Arithmetic::fast, 1000}, subject.algorithm, 4);
    EXPECT_EQ(work.packets, sends_packets(subject.algorithm)) << name(subject.algorithm);
    if (work.packets || work.engines || work.meets) continue;
    LocalTeam local(4, 256);
    check(local, {subject.operation, {subject.algorithm, 1}, kSum, 250});
    const device::Word use = local.counts(0)[0].use;
    EXPECT_TRUE(layout_in(use) == work.layout && way_in(use) == work.way)
        << name(subject.operation) << " by " << name(subject.algorithm);
  }
}

TEST(Collective, PlansThatCannotWorkAreRefused) {
  LocalTeam local(2, 256);
  float numbers[4] = {};
  auto* const data = reinterpret_cast<std::byte*>(numbers);
  const Call call{Operation::allreduce, data, data, 16, kEveryRank, kSum, {}};
  const auto refused = [&](const Plan& plan, const Call& asked) {
    const Status status = launch(plan, asked, local.team(0), nullptr, local.lane(0));
    EXPECT_EQ(status.code(), Code::invalid_argument);
    return status.text();
  };
  refused({Algorithm::two_shot, 0}, call);
  refused({Algorithm::two_shot, kMostBlocks + 1}, call);
  EXPECT_NE(refused({Algorithm::dissemination, 1}, call).find("two_shot"), std::string::npos);
  Call large = call;
  large.bytes = most_bytes(Operation::allreduce, {Algorithm::one_shot_packets, 1}, local.team(0)) + 1;
  const std::string text = refused({Algorithm::one_shot_packets, 1}, large);
  EXPECT_NE(text.find("at most " + format_bytes(large.bytes - 1)), std::string::npos) << text;
}

TEST(Collective, AlgorithmsHaveNames) {
  EXPECT_EQ(parse_algorithm(Operation::allreduce, "fastest").status().code(), Code::invalid_argument);
  EXPECT_EQ(parse_algorithm(Operation::allgather, "two_shot").status().code(), Code::invalid_argument);
  EXPECT_EQ(*parse_algorithm(Operation::allreduce, "segmented_ring"), Algorithm::segmented_ring);
  for (const Operation operation : all_operations()) {
    ASSERT_FALSE(algorithms_of(operation).empty()) << name(operation);
    for (const Algorithm algorithm : algorithms_of(operation))
      EXPECT_EQ(*parse_algorithm(operation, name(algorithm)), algorithm);
  }
}

TEST(Collective, TheFirstAlgorithmHasNoLimits) {
  LocalTeam local(8, 16);
  for (const Operation operation : all_operations())
    EXPECT_EQ(most_bytes(operation, {algorithms_of(operation).front(), 1}, local.team(0)), ~std::uint64_t{0})
        << name(operation);
}

}  // namespace
}  // namespace sennit::coll
