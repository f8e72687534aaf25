// Ranks meet over TCP, or say why they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job.h"

namespace sennit::comm {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class Meet : public testing::TestWithParam<int> {};

TEST_P(Meet, ExchangesItemsOfUnequalLength) {
  const Job job = run_job(GetParam(), {"all_gather"});
  EXPECT_EQ(job.ended.status, 0);
  for (int rank = 0; rank < GetParam(); ++rank)
    EXPECT_EQ(job.line(rank), "rank " + std::to_string(rank) + " of " + std::to_string(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Meet, testing::Values(1, 2, 3, 4));

TEST(MeetOften, AndLeavesNoTraceInBetween) {
  const Job job = run_job(3, {"meet_often", "50"});
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(job.line(rank), "met");
}

TEST(MeetWrongly, TurnsAwayARankWithoutTheSecretAndNamesItAsMissing) {
  const Job job = run_job(3, {"meet_often", "1"}, [](int rank) {
    std::map<std::string, std::string> variables{{"SENNIT_TIMEOUT", "2"}};
    if (rank == 1) variables["SENNIT_SECRET"] = "guessed";
    return variables;
  });
  EXPECT_THAT(job.line(1), AllOf(HasSubstr("permission_denied"), HasSubstr("SENNIT_SECRET")));
  for (const int rank : {0, 2})
    EXPECT_THAT(job.line(rank), AllOf(HasSubstr("timed_out"), HasSubstr("rank 1 did not come")));
}

TEST(MeetWrongly, TurnsAwayASecondRankOfTheSameNumber) {
  const Job job = run_job(3, {"meet_often", "1"}, [](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_TIMEOUT", "2"}, {"SENNIT_RANK", rank == 0 ? "0" : "1"}};
  });
  EXPECT_THAT(job.line(0), AllOf(HasSubstr("timed_out"), HasSubstr("rank 2 did not come")));
  EXPECT_THAT(job.line(1) + job.line(2), AllOf(HasSubstr("mismatch"), HasSubstr("here already")));
}

TEST(MeetWrongly, TurnsAwayARankOfAnotherSize) {
  const Job job = run_job(2, {"meet_often", "1"}, [](int rank) {
    return std::map<std::string, std::string>{{"SENNIT_TIMEOUT", "1"}, {"SENNIT_SIZE", rank == 0 ? "2" : "3"}};
  });
  EXPECT_THAT(job.line(1), AllOf(HasSubstr("mismatch"), HasSubstr("expects 3 ranks")));
}

TEST(MeetWrongly, NamesTheRankThatNeverComes) {
  const Job job = run_job(4, {"absent", "2"}, [](int) {
    return std::map<std::string, std::string>{{"SENNIT_TIMEOUT", "1"}};
  });
  for (const int rank : {0, 1, 3})
    EXPECT_THAT(job.line(rank), AllOf(HasSubstr("timed_out"), HasSubstr("rank 2 did not come")));
}

TEST(MeetWrongly, GivesUpWhenRankZeroNeverComes) {
  const Job job = run_job(2, {"absent", "0"}, [](int) {
    return std::map<std::string, std::string>{{"SENNIT_TIMEOUT", "1"}};
  });
  EXPECT_THAT(job.line(1), AllOf(HasSubstr("timed_out"), HasSubstr("did not meet rank 0 within 1 s")));
}

TEST(Exchange, NamesTheRankThatLeft) {
  for (const char* who : {"0", "2"}) {
    const Job job = run_job(3, {"leave", who});
    EXPECT_THAT(job.line(1), AllOf(HasSubstr("peer_lost"), HasSubstr(std::string("rank ") + who + " left or died")));
  }
}

TEST(Exchange, RefusesTooLargeAnItemEverywhere) {
  const Job job = run_job(3, {"too_large", "1"});
  for (const int rank : {0, 1, 2})
    EXPECT_THAT(job.line(rank), AllOf(HasSubstr("invalid_argument"), HasSubstr("rank 1 exchanges 67108865 bytes")));
}

}  // namespace
}  // namespace sennit::comm
