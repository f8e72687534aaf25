// Options, and what a communicator of one rank does. Several ranks: life_test, transfer_test, fault_test.
#include <gmock/gmock.h>

#include "alone.h"

namespace sennit::capi {
namespace {

using testing::HasSubstr;

class CommunicatorTest : public Alone {
 protected:
  void refused(const sennit_options& options, sennit_result expected, const char* text) {
    sennit_comm* made = nullptr;
    EXPECT_EQ(sennit_comm_create(&options, &made), expected) << text;
    EXPECT_THAT(sennit_last_error(), HasSubstr(text));
    EXPECT_EQ(made, nullptr);
  }
};

TEST_F(CommunicatorTest, IsAloneWhereNobodyStartedIt) {
  EXPECT_EQ(sennit_comm_rank(comm), 0);
  EXPECT_EQ(sennit_comm_size(comm), 1);
  EXPECT_EQ(sennit_comm_node_size(comm), 1);
  EXPECT_EQ(sennit_comm_same_node(comm, 0), 1);
  EXPECT_EQ(sennit_comm_same_node(comm, 1), -1);
  EXPECT_THAT(sennit_last_error(), HasSubstr("there is no rank 1"));
  EXPECT_EQ(sennit_comm_barrier(comm), SENNIT_OK);
  EXPECT_EQ(sennit_comm_check(comm), SENNIT_OK);
}

TEST_F(CommunicatorTest, RefusesOptionsThatCannotBe) {
  sennit_options options = SENNIT_OPTIONS_INIT;
  options.struct_size = 0;
  refused(options, SENNIT_INVALID_ARGUMENT, "options.struct_size");
  options = SENNIT_OPTIONS_INIT;
  options.device = 4;
  refused(options, SENNIT_INVALID_ARGUMENT, "there is no device 4");
  options.device = -2;
  refused(options, SENNIT_INVALID_ARGUMENT, "options.device is -2");
  options = SENNIT_OPTIONS_INIT;
  for (const double seconds : {-1.0, 1e9, 0.0 / 0.0}) {
    options.timeout_seconds = seconds;
    refused(options, SENNIT_INVALID_ARGUMENT, "options.timeout_seconds");
  }
  options = SENNIT_OPTIONS_INIT;
  options.machine = reinterpret_cast<const sennit_machine*>(comm);
  refused(options, SENNIT_INVALID_ARGUMENT, "options.machine is no machine");
}

TEST_F(CommunicatorTest, KnowsNewerAndOlderOptions) {
  struct Newer {
    sennit_options known = SENNIT_OPTIONS_INIT;
    long unknown = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  sennit_comm* made = nullptr;
  EXPECT_EQ(sennit_comm_create(&newer.known, &made), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_comm_destroy(made), SENNIT_OK);
  newer.unknown = 1;
  refused(newer.known, SENNIT_UNSUPPORTED, "does not know");
  // Before `exchange` was added: whatever stands behind is not looked at.
  sennit_options older = SENNIT_OPTIONS_INIT;
  older.struct_size = offsetof(sennit_options, exchange);
  older.exchange = reinterpret_cast<const sennit_exchange*>(1);
  EXPECT_EQ(sennit_comm_create(&older, &made), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_comm_destroy(made), SENNIT_OK);
}

TEST_F(CommunicatorTest, OutlivesTheMachineItWasGiven) {
  sennit_machine* machine = nullptr;
  ASSERT_EQ(sennit_machine_discover(&machine), SENNIT_OK);
  sennit_options options = SENNIT_OPTIONS_INIT;
  options.machine = machine;
  options.device = 2;
  sennit_comm* made = nullptr;
  ASSERT_EQ(sennit_comm_create(&options, &made), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_machine_free(machine), SENNIT_OK);
  EXPECT_EQ(sennit_comm_device(made), 2);
  EXPECT_EQ(sennit_comm_destroy(made), SENNIT_OK);
}

TEST_F(CommunicatorTest, EndsByAnAbortAlone) {
  sennit_comm* other = nullptr;
  ASSERT_EQ(sennit_comm_create(nullptr, &other), SENNIT_OK);
  EXPECT_EQ(sennit_comm_abort(other, nullptr), SENNIT_OK);
  EXPECT_EQ(sennit_comm_check(other), SENNIT_ABORTED);
  EXPECT_EQ(sennit_comm_barrier(other), SENNIT_ABORTED);
  EXPECT_THAT(sennit_last_error(), HasSubstr("no reason given"));
  EXPECT_EQ(sennit_comm_destroy(other), SENNIT_ABORTED);
  EXPECT_EQ(sennit_comm_check(comm), SENNIT_OK);
}

}  // namespace
}  // namespace sennit::capi
