// Bad input and dying ranks: an error that names what is wrong, in time, and nothing is lost.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace sennit::capi {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The text that a rank printed after "TOPIC: ".
std::string said(const comm::Job& job, int rank, const std::string& topic) {
  for (const std::string& line : job.lines.at(std::size_t(rank)))
    if (line.starts_with(topic + ": ")) return line.substr(topic.size() + 2);
  return "nothing of " + topic + " in " + job.line(rank);
}

TEST(BadInput, IsNamedAndHarmless) {
  const comm::Job job = run_ranks(2, {"bad_arguments"});
  const std::pair<const char*, const char*> expected[] = {
      {"null source", "null pointer (put 1 B to rank 1)"},
      {"freed source", "belongs to no allocation"},
      {"foreign source", "belongs to no allocation"},
      {"beyond the source", "64 KiB from"},
      {"beyond the window", "reach beyond rank 1's window of 64 KiB"},
      {"offset beyond all", "reach beyond rank 1's window"},
      {"no such rank", "there is no rank 2"},
      {"negative rank", "there is no rank -1"},
      {"a stream", "the host executor has no foreign streams"},
      {"a thread's stream", "cudaStreamPerThread is another stream in every thread"},
      {"null destination", "null pointer (get 1 B from rank 1)"},
      {"overlap", "source and destination overlap"},
      {"overlap with own window", "source and destination overlap"},
      {"no end", "reach beyond the allocation"},
      {"unmapped end", "cannot be read"},
      {"read-only destination", "cannot be written"},
      {"read-only destination of a get", "cannot be written"},
      {"hole", "cannot be read"},
      {"hole in the source of a put", "cannot be read"},
      {"free in use", "is registered"},
      {"free twice", "is not memory that this communicator allocated"},
      {"free inside", "is not memory that this communicator allocated"}};
  for (const auto& [topic, text] : expected)
    EXPECT_THAT(said(job, 0, topic), AllOf(StartsWith("invalid_argument: "), HasSubstr(text))) << topic;
  EXPECT_EQ(said(job, 0, "nothing from nowhere"), "ok");
  EXPECT_EQ(said(job, 0, "read-only source"), "ok");
  EXPECT_EQ(job.line(1), "still works");
}

TEST(BadInput, ToARegistrationIsToldToAllRanks) {
  const comm::Job job = run_ranks(3, {"bad_registrations"});
  for (int rank = 0; rank < 3; ++rank) {
    for (const auto& [topic, text] :
         {std::pair("null", "null pointer"), std::pair("pageable", "is pageable host memory"),
          std::pair("too long", "reach beyond the allocation"),
          std::pair("far too long", "reach beyond the allocation")})
      EXPECT_THAT(said(job, rank, topic), AllOf(StartsWith("invalid_argument: "), HasSubstr(text)))
          << topic << " on rank " << rank;
    // Something else, of the standard library say, may be mapped there by now.
    EXPECT_THAT(said(job, rank, "freed"),
                AllOf(StartsWith("invalid_argument: "),
                      AnyOf(HasSubstr("belongs to no allocation"), HasSubstr("is pageable host memory"))));
    EXPECT_THAT(said(job, rank, "null"), HasSubstr(rank == 1 ? "register" : "rank 1"));
    EXPECT_EQ(said(job, rank, "nothing"), "ok");
  }
}

TEST(BadInput, OfTheEnvironmentOnOneRankIsToldToAll) {
  for (const auto& [name, value] :
       {std::pair("SENNIT_SPLIT", "direct=lots"), std::pair("SENNIT_STAGING", "much"),
        std::pair("SENNIT_HOST_DEVICES", "none"), std::pair("SENNIT_IPC", "2"), std::pair("SENNIT_PEER", "q")}) {
    const std::map<std::string, std::string> wrong{{name, value}};
    const comm::Job job = run_ranks(
        3, {"bad_variable"}, {}, [&](int rank) { return rank == 1 ? wrong : std::map<std::string, std::string>{}; });
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_THAT(job.line(rank), AllOf(StartsWith("within 5 s: invalid_argument"), HasSubstr(name))) << rank;
  }
}

TEST(Disagreement, IsToldToAllRanksAndOver) {
  const comm::Job job = run_ranks(2, {"mismatch"});
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(said(job, rank, "calls"),
                AllOf(StartsWith("mismatch: "), HasSubstr("sennit_register"), HasSubstr("sennit_comm_barrier")));
    EXPECT_THAT(said(job, rank, "windows"), AllOf(StartsWith("mismatch: "), HasSubstr("deregisters window")));
    EXPECT_EQ(said(job, rank, "barrier"), "ok");
  }
}

class Killed : public testing::TestWithParam<std::tuple<int, std::string, std::string>> {};

TEST_P(Killed, InAStreamOfPutsIsNoticedByAll) {
  const auto [victim, variable, value] = GetParam();
  const comm::Job job = run_ranks(4, {"killed", std::to_string(victim)}, {{variable, value}});
  EXPECT_EQ(job.ended.statuses.at(std::size_t(victim)), 128 + SIGKILL);
  const std::string lost = "peer_lost: rank " + std::to_string(victim) + " died";
  for (int rank = 0; rank < 4; ++rank) {
    if (rank == victim) continue;
    const std::string first = job.lines[std::size_t(rank)].empty() ? "" : job.lines[std::size_t(rank)].front();
    ASSERT_THAT(first, AllOf(StartsWith("after "), HasSubstr(lost)));
    EXPECT_LT(std::stoi(first.substr(6)), 5400) << first;  // it died after 400 ms
    EXPECT_THAT(said(job, rank, "check"), StartsWith(lost));
    EXPECT_THAT(said(job, rank, "barrier"), StartsWith(lost));
    EXPECT_THAT(said(job, rank, "destroy"), StartsWith(lost));
    EXPECT_EQ(job.lines[std::size_t(rank)].back(), "ended within 3 s");
  }
}

INSTANTIATE_TEST_SUITE_P(VictimAndPaths, Killed,
                         testing::Values(std::tuple(2, "SENNIT_SPLIT", ""), std::tuple(0, "SENNIT_SPLIT", kBothPaths),
                                         std::tuple(1, "SENNIT_IPC", "0"), std::tuple(0, "SENNIT_IPC", "0")));

TEST(Abort, ReachesAllWithTheReason) {
  const comm::Job job = run_ranks(3, {"aborted"});
  for (int rank = 0; rank < 3; ++rank)
    for (const std::string& line : job.lines[std::size_t(rank)])
      EXPECT_THAT(line, StartsWith("aborted: rank 1 aborted: the answer is not 42"));
}

TEST(Abort, EndsABarrierThatOthersWaitIn) {
  const comm::Job job = run_ranks(3, {"gone_from_barrier", "aborted"});
  for (const int rank : {0, 2})
    EXPECT_THAT(job.line(rank), StartsWith("within 5 s: aborted: rank 1 aborted: the answer is not 42")) << rank;
}

TEST(Death, EndsABarrierThatOthersWaitIn) {
  const comm::Job job = run_ranks(3, {"gone_from_barrier", "killed"});
  for (const int rank : {0, 2}) EXPECT_THAT(job.line(rank), StartsWith("within 5 s: peer_lost: rank 1 died")) << rank;
}

TEST(Abort, EndsAllreduces) {
  const comm::Job job = run_ranks(3, {"gone_from_allreduces", "aborted"});
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(said(job, rank, "within 9 s"), AllOf(StartsWith("aborted: "), HasSubstr("the answer is not 42")));
    EXPECT_THAT(said(job, rank, "again"), StartsWith("aborted: "));
  }
}

TEST(Death, EndsAllreduces) {
  const comm::Job job = run_ranks(3, {"gone_from_allreduces", "killed"});
  for (const int rank : {0, 2}) {
    EXPECT_THAT(said(job, rank, "within 9 s"), AllOf(StartsWith("peer_lost: "), HasSubstr("rank 1 died")));
    EXPECT_THAT(said(job, rank, "again"), StartsWith("peer_lost: "));
  }
}

TEST(Standstill, EndsAllreducesByTheLimit) {
  const comm::Job job = run_ranks(3, {"gone_from_allreduces", "stopped"}, {{"SENNIT_TIMEOUT", "2"}});
  for (const int rank : {0, 2})
    // Who notices first ends the communicator for the others.
    EXPECT_THAT(said(job, rank, "within 9 s"), HasSubstr("waited longer than its limit for rank 1"));
}

TEST(Late, EndsAWaitByTheLimitOfTheCommunicator) {
  EXPECT_THAT(run_ranks(2, {"late"}).line(0), AllOf(StartsWith("within 2.5 s: timed_out: "), HasSubstr("1")));
}

}  // namespace
}  // namespace sennit::capi
