#include "shim/switches.h"

#include <cstdlib>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shim/mpi/abi/table.h"

namespace sennit::shim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Switches, OperationsAreNamesInLowerCase) {
  const auto parsed = parse_operations("Allreduce,reduce_scatter,iallgather");
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(*parsed, ElementsAre("allreduce", "reduce_scatter", "iallgather"));
}

TEST(Switches, EveryFormHasItsName) {
  for (const char* text : {"none", "isend", "allreduce_init", "sendrecv", "issend", "ssend_init", "ialltoallv"})
    EXPECT_TRUE(parse_operations(text).ok()) << text;
}

TEST(Switches, WhatIsDoneOfTheTableHasItsName) {
  using mpi::Family;
  const std::set sends{Family::Send, Family::Ssend, Family::Rsend, Family::Sendrecv};
  for (std::size_t i = 0; i < std::size(mpi::kFamilyNames); ++i) {
    const auto family = static_cast<Family>(i);
    const bool is_done = (mpi::is_collective(family) && family != Family::Alltoallw) || sends.contains(family);
    EXPECT_EQ(parse_operations(mpi::kFamilyNames[i]).ok(), is_done) << mpi::kFamilyNames[i];
  }
}

TEST(Switches, WhatNoNameStandsForIsRefusedWithThoseThereAre) {
  for (const char* text : {"recv", "irecv", "bsend", "bsend_init", "barrier", "isendrecv", "inone", "none_init"}) {
    const auto parsed = parse_operations(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.status().remedy(), AllOf(HasSubstr("reduce_scatter_block"), HasSubstr("rsend"))) << text;
  }
}

TEST(Switches, OperationsAreTakenInAnySpelling) {
  const auto parsed = parse_operations("Reduce-Scatter,all_to_all,iallreduce,sendinit");
  ASSERT_TRUE(parsed.ok()) << parsed.status().text();
  EXPECT_THAT(*parsed, ElementsAre("reduce_scatter", "alltoall", "iallreduce", "send_init"));
}

TEST(Switches, AnOperationThatIsNoNameIsAnError) {
  for (const char* text : {"allreduce,", ",", "all reduce", "bcast;reduce", "allredcue", "allreduce,iput", "_init"}) {
    const auto parsed = parse_operations(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::invalid_argument);
    EXPECT_THAT(parsed.status().remedy(), HasSubstr("allreduce,bcast"));
  }
  EXPECT_THAT(parse_operations("bcast,allredcue").status().text(), HasSubstr("'allredcue' is no operation"));
}

/// Sets a variable for the time of a test.
class Set {
 public:
  Set(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Set() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Switches, NothingIsSetByDefault) {
  const auto switches = Switches::from_environment();
  ASSERT_TRUE(switches.ok());
  EXPECT_FALSE(switches->report || switches->explain || switches->emulate);
  EXPECT_TRUE(switches->takes("allreduce"));
}

TEST(Switches, ListedOperationsAloneAreTaken) {
  const Set ops("SENNIT_OPS", "allreduce,bcast"), report("SENNIT_REPORT", "1"), emulate("SENNIT_EMULATE", "yes");
  const auto switches = Switches::from_environment();
  ASSERT_TRUE(switches.ok());
  EXPECT_TRUE(switches->report && switches->emulate && !switches->explain);
  EXPECT_TRUE(switches->takes("bcast"));
  EXPECT_FALSE(switches->takes("reduce"));
}

TEST(Switches, BlocksStayAsLongAsIsSaid) {
  EXPECT_EQ(Switches::from_environment()->linger.count(), 30);
  const Set stay("SENNIT_LINGER", "40");
  EXPECT_EQ(Switches::from_environment()->linger.count(), 40);
  const Set blocking("CUDA_LAUNCH_BLOCKING", "1");
  EXPECT_EQ(Switches::from_environment()->linger.count(), 0) << "a launch would wait for the block to leave";
}

TEST(Switches, ABlockThatStaysForLongIsAnError) {
  for (const char* text : {"-1", "1001", "short"}) {
    const Set stay("SENNIT_LINGER", text);
    EXPECT_THAT(Switches::from_environment().status().text(), HasSubstr("SENNIT_LINGER")) << text;
  }
}

TEST(Switches, CallsAreTakenThatMeasuredFasterOrAll) {
  EXPECT_EQ(Switches::from_environment()->take, Take::measured);
  {
    const Set all("SENNIT_TAKE", "all");
    EXPECT_EQ(Switches::from_environment()->take, Take::all);
  }
  const Set some("SENNIT_TAKE", "some");
  EXPECT_THAT(Switches::from_environment().status().text(), HasSubstr("SENNIT_TAKE=some"));
}

TEST(Switches, GpusAccumulateFromSoManyBytesOn) {
  EXPECT_EQ(Switches::from_environment()->accumulate_from, 0);
  {
    const Set from("SENNIT_ACCUMULATE", "4K");
    EXPECT_EQ(Switches::from_environment()->accumulate_from, 4 * KiB);
  }
  {
    const Set from("SENNIT_ACCUMULATE", "1M");
    EXPECT_EQ(Switches::from_environment()->accumulate_from, MiB);
  }
  const Set from("SENNIT_ACCUMULATE", "much");
  EXPECT_THAT(Switches::from_environment().status().text(), HasSubstr("SENNIT_ACCUMULATE"));
}

TEST(Switches, TheWayBetweenNodesIsOneOfFour) {
  EXPECT_EQ(Switches::from_environment()->between, Between::rails);
  for (const auto& [text, between] : {std::pair("rails", Between::rails),
                                      {"adapters", Between::adapters},
                                      {"leaders", Between::leaders},
                                      {"staged", Between::staged}}) {
    const Set way("SENNIT_BETWEEN", text);
    EXPECT_EQ(Switches::from_environment()->between, between);
  }
  const Set way("SENNIT_BETWEEN", "pigeons");
  EXPECT_THAT(Switches::from_environment().status().text(), HasSubstr("SENNIT_BETWEEN"));
}

TEST(Switches, AnErrorNamesTheVariable) {
  {
    const Set ops("SENNIT_OPS", "all reduce");
    EXPECT_THAT(Switches::from_environment().status().text(), HasSubstr("SENNIT_OPS"));
  }
  const Set report("SENNIT_REPORT", "perhaps");
  EXPECT_THAT(Switches::from_environment().status().text(), HasSubstr("SENNIT_REPORT"));
}

}  // namespace
}  // namespace sennit::shim
