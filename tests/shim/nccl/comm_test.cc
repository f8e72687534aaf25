#include "shim/nccl/comm.h"

#include <gtest/gtest.h>

#include <thread>

namespace sennit::shim::nccl {
namespace {

struct Registry : testing::Test {
  char place = 0;
  const Comm comm = reinterpret_cast<Comm>(&place);
  const std::shared_ptr<CommState> state = std::make_shared<CommState>();
  CommRegistry comms;

  Registry() { comms.add(comm, state); }
};

TEST_F(Registry, OneThreadEndsACommunicator) {
  EXPECT_TRUE(state->finish_making());
  EXPECT_EQ(comms.end(comm, *state, CommEvent::revoke), CommPhase::nccl_only);
  EXPECT_EQ(state->phase(), CommPhase::revoked);
  EXPECT_EQ(comms.find(comm), nullptr);
  EXPECT_EQ(comms.end(comm, *state, CommEvent::abort), std::nullopt) << "another one has";
  EXPECT_EQ(state->phase(), CommPhase::revoked);
  EXPECT_FALSE(comms.take(comm, *state));
}

TEST_F(Registry, ANameThatNcclHasGivenAgainIsAnotherCommunicators) {
  const auto later = std::make_shared<CommState>();
  comms.add(comm, later);
  EXPECT_FALSE(comms.take(comm, *state));
  EXPECT_EQ(comms.find(comm), later);
}

TEST_F(Registry, WhoMakesOneHearsThatItIsOver) {
  EXPECT_EQ(comms.end(comm, *state, CommEvent::abort), CommPhase::making);
  EXPECT_FALSE(state->finish_making());
  EXPECT_EQ(state->phase(), CommPhase::aborted);
}

TEST_F(Registry, OneThatIsStillMadeIsKept) {
  const std::weak_ptr<CommState> kept = state;
  auto made = std::make_shared<CommState>();
  const std::weak_ptr<CommState> released = made;
  made->finish_making();
  comms.retire(state);
  comms.retire(std::move(made));
  comms.release_idle();
  EXPECT_TRUE(released.expired());
  EXPECT_EQ(kept.use_count(), 3) << "here, under its name, and retired";
}

TEST_F(Registry, AnAbortWaitsForWhoAsksNcclAndTurnsOthersAway) {
  std::optional<CommGuard> guard(state.get());
  EXPECT_TRUE(*guard);
  state->finish_making();
  comms.end(comm, *state, CommEvent::abort);
  EXPECT_FALSE(CommGuard(state.get()));
  std::thread abort([&] { state->nccl_queries.wait_until_empty(); });
  guard.reset();
  abort.join();
  EXPECT_TRUE(CommGuard(nullptr)) << "sennit does not know it";
}

}  // namespace
}  // namespace sennit::shim::nccl
