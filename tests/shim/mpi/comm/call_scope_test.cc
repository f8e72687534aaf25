#include "shim/mpi/comm/call_scope.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../made_up_mpi.h"

namespace sennit::shim::mpi {
namespace {

using testing::ElementsAre;

/// Handles are those of communicators, groups, files and windows alike; which ranks each has.
class MembersMpi : public MadeUpMpi {
 public:
  std::map<Handle, std::vector<int>> of;
  mutable int asked = 0;

  int all_world_ranks(Handle handle, std::vector<int>& ranks) const override { return tell(handle, ranks); }
  int world_ranks_of_group(Handle group, std::vector<int>& ranks) const override { return tell(group, ranks); }
  int world_ranks_of(Shared, Handle handle, std::vector<int>& ranks) const override { return tell(handle, ranks); }

 private:
  int tell(Handle handle, std::vector<int>& ranks) const {
    ++asked;
    const auto found = of.find(handle);
    if (found == of.end()) return 5;
    ranks = found->second;
    return 0;
  }
};

constexpr Handle kThree = 10, kThreeTurned = 11, kPair = 12, kSeveralJobs = 13, kNobody = 14, kNoneOfThisJob = 15;

struct TwoParticipants {
  TwoParticipants() {
    mpi.of = {{kThree, {0, 3, 1}},
              {kThreeTurned, {1, 0, 3}},
              {kPair, {0, 1}},
              {kSeveralJobs, {1, -32766, 0}},
              {kNoneOfThisJob, {-32766}}};
  }
  MembersMpi mpi;
  CallScopes first{mpi, 0}, second{mpi, 1};
};

TEST(CallScope, HaveTheSameNameOnAllTheirRanks) {
  TwoParticipants all;
  const auto here = all.first.of(kThree), there = all.second.of(kThreeTurned);
  ASSERT_TRUE(here && there);
  EXPECT_EQ(here->name, there->name) << "two groups, of which each rank sees its own first";
  EXPECT_THAT(here->others, ElementsAre(1, 3));
  EXPECT_THAT(there->others, ElementsAre(0, 3));
  EXPECT_NE(all.first.of(kPair)->name, here->name);
}

TEST(CallScope, OfAGroupAreToldApartByTheirTag) {
  TwoParticipants all;
  EXPECT_EQ(all.first.of(kThree, 5)->name, all.second.of(kThreeTurned, 5)->name);
  EXPECT_NE(all.first.of(kThree, 5)->name, all.first.of(kThree, 6)->name);
  EXPECT_NE(all.first.of(kThree, 0)->name, all.first.of(kThree)->name);
}

TEST(CallScope, OfAnotherJobAreLeftOut) {
  TwoParticipants all;
  const auto some = all.first.of(kSeveralJobs);
  ASSERT_TRUE(some.has_value());
  EXPECT_FALSE(some->whole);
  EXPECT_TRUE(all.first.of(kPair)->whole);
  EXPECT_EQ(some->name, all.second.of(kSeveralJobs)->name);
  EXPECT_THAT(some->others, ElementsAre(1));
  for (const Handle handle : {kNoneOfThisJob, kNobody}) {
    EXPECT_EQ(all.first.of(handle), std::nullopt);
    EXPECT_EQ(all.first.of(handle, 1), std::nullopt);
    EXPECT_EQ(all.first.of(Shared::file, handle), nullptr);
  }
}

TEST(CallScope, OfAFileAndAWindowAreAskedForOnce) {
  TwoParticipants all;
  const auto file = all.first.of(Shared::file, kThree);
  const auto window = all.first.of(Shared::window, kThree);
  EXPECT_NE(file->name, window->name);
  EXPECT_THAT(file->others, ElementsAre(1, 3));
  EXPECT_EQ(all.mpi.asked, 2);
  EXPECT_EQ(all.first.of(Shared::file, kThree), file);
  EXPECT_EQ(all.mpi.asked, 2);
  all.first.forget(Shared::file, kThree);
  all.mpi.of[kThree] = {0, 1};  // whose handle is another's now
  EXPECT_THAT(all.first.of(Shared::file, kThree)->others, ElementsAre(1));
  EXPECT_EQ(all.first.of(Shared::window, kThree), window);
}

TEST(CallScope, OfFilesAndWindowsThatWereMadeInCallsOfACommunicatorAreToldApart) {
  TwoParticipants all;
  constexpr Handle kSame = 20;
  all.mpi.of[kSame] = all.mpi.of[kThree];
  all.first.name(Shared::window, kThree, 1, 2);
  all.first.name(Shared::window, kSame, 1, 3);
  all.second.name(Shared::window, kThreeTurned, 1, 2);
  const auto here = all.first.of(Shared::window, kThree);
  EXPECT_EQ(all.second.of(Shared::window, kThreeTurned)->name, here->name);
  EXPECT_THAT(here->others, ElementsAre(1, 3));
  EXPECT_NE(all.first.of(Shared::window, kSame)->name, here->name);
  all.first.name(Shared::window, kSame, 2, 2);
  EXPECT_NE(all.first.of(Shared::window, kSame)->name, here->name) << "of another communicator";
  EXPECT_EQ(all.first.forget(Shared::window, kThree), here->name);
  EXPECT_NE(all.first.of(Shared::window, kThree)->name, here->name);
  EXPECT_EQ(all.first.forget(Shared::window, kThree), std::nullopt) << "that of its ranks is others' too";
  all.first.name(Shared::window, kNobody, 1, 4);
  EXPECT_EQ(all.first.of(Shared::window, kNobody), nullptr);
}

}  // namespace
}  // namespace sennit::shim::mpi
