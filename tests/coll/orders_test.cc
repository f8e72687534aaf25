// Collectives whose threads come in any order: every signal, wait and packet may be held up (see
// device/host/delays.h). SENNIT_TEST_SEED begins with another order.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "coll/algorithms.h"
#include "delayed.h"
#include "job.h"
#include "subjects.h"

namespace sennit::coll {
namespace {

/// All of them behind each other, on threads that are held up here and there.
void run_delayed(LocalTeam& local, const std::vector<std::unique_ptr<Job>>& jobs, std::uint32_t seed) {
  const Delayed delayed(seed);
  for (const auto& job : jobs) job->start();
  finish(local);
  for (const auto& job : jobs) job->verify();
}

class EachInAnyOrder : public testing::TestWithParam<Subject> {};

TEST_P(EachInAnyOrder, IsRight) {
  // Slots and messages are small, so that blocks wait for each other often.
  const std::uint32_t first = first_seed();
  for (std::uint32_t seed = first; seed < first + 3; ++seed) {
    SCOPED_TRACE("SENNIT_TEST_SEED=" + std::to_string(seed));
    const int ranks = 2 + static_cast<int>(seed % 4);
    LocalTeam local(ranks, 64);
    local.set_sockets({0, 1, 0, 1, 2});
    std::vector<std::unique_ptr<Job>> jobs;
    for (unsigned call = 0; call < 12; ++call) {
      Trial what{GetParam().operation, {GetParam().algorithm, 1 + (seed + call) % 3}, kSum};
      what.count = 1 + (seed * 13 + call * 31) % 180;
      what.root = static_cast<int>((seed + call) % static_cast<unsigned>(ranks));
      what.in_place = call % 2 == 0;
      auto job = std::make_unique<Job>(local, what);
      if (job->admitted()) jobs.push_back(std::move(job));
    }
    run_delayed(local, jobs, seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, EachInAnyOrder, testing::ValuesIn(counting_subjects()), title);

TEST(AllInAnyOrder, AreRightWhereTheUseOfSlotsChanges) {
  const auto subjects = counting_subjects();
  const std::uint32_t first = first_seed();
  for (std::uint32_t seed = first; seed < first + 12; ++seed) {
    SCOPED_TRACE("SENNIT_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    const int ranks = 3 + static_cast<int>(seed % 6);
    LocalTeam local(ranks, 64);
    // So few that those which share all slots reach into those of every block.
    const unsigned blocks = 2 + static_cast<unsigned>(random() % 3);
    local.set_blocks(blocks);
    std::vector<std::unique_ptr<Job>> jobs;
    for (unsigned call = 0; call < 24; ++call) {
      const Subject subject = subjects[random() % subjects.size()];
      Trial what{subject.operation, {subject.algorithm, 1 + static_cast<unsigned>(random() % blocks)}, kSum};
      what.count = 1 + random() % 180;
      what.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
      auto job = std::make_unique<Job>(local, what);
      if (job->admitted()) jobs.push_back(std::move(job));
    }
    run_delayed(local, jobs, seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(AllInAnyOrder, AreRightWhereFewBlocksHaveTheSlotsOfAll) {
  // A rank that has yet to read what lies in all slots, while blocks that did not take part begin the next call.
  const std::uint32_t first = first_seed();
  for (std::uint32_t seed = first; seed < first + 12; ++seed) {
    SCOPED_TRACE("SENNIT_TEST_SEED=" + std::to_string(seed));
    LocalTeam local(2 + static_cast<int>(seed % 2), 64);
    constexpr unsigned kBlocks = 4;
    local.set_blocks(kBlocks);
    std::vector<std::unique_ptr<Job>> jobs;
    for (unsigned call = 0; call < 24; ++call) {
      const bool few = call % 2 != 0;
      const Plan plan =
          few ? Plan{Algorithm::direct_whole, 1 + call / 2 % (kBlocks - 1)} : Plan{Algorithm::direct, kBlocks};
      const auto operation = call / 2 % 2 == 0 ? Operation::allgather : Operation::reduce_scatter;
      const std::uint64_t most = most_bytes(operation, {Algorithm::direct_whole, plan.blocks}, local.team(0));
      jobs.push_back(std::make_unique<Job>(local, Trial{operation, plan, kSum, most / sizeof(float)}));
    }
    run_delayed(local, jobs, seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(AllInAnyOrder, AreRightWhereFewBlocksHaveLongerChunks) {
  // Launches that share all slots, that have but their own, and that meet, in turns, with chunks of each.
  const std::uint32_t first = first_seed();
  for (std::uint32_t seed = first; seed < first + 6; ++seed) {
    SCOPED_TRACE("SENNIT_TEST_SEED=" + std::to_string(seed));
    LocalTeam local(2 + static_cast<int>(seed % 2), 64);
    const unsigned few = Shape::kLeastSharing + seed % 3;
    const Plan plans[] = {{Algorithm::direct, few},      {Algorithm::direct, few / 2}, {Algorithm::direct, few + 2},
                          {Algorithm::direct_whole, 3},  {Algorithm::direct, few},     {Algorithm::direct_loads, few},
                          {Algorithm::direct_whole, few}};
    std::vector<std::unique_ptr<Job>> jobs;
    for (unsigned call = 0; call < 14; ++call) {
      const Plan& plan = plans[(call * (1 + seed % 3) + seed) % std::size(plans)];
      const auto operation = call / 2 % 2 == 0 ? Operation::allgather : Operation::reduce_scatter;
      const std::uint64_t most = most_bytes(operation, {Algorithm::direct_whole, plan.blocks}, local.team(0));
      jobs.push_back(std::make_unique<Job>(local, Trial{operation, plan, kSum, most / sizeof(float)}));
    }
    run_delayed(local, jobs, seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sennit::coll
