// What messages follow, without moving any: names, splits, and what is refused.
#include "path/split_plans.h"

#include <gtest/gtest.h>

#include "machines.h"

namespace sennit::path {
namespace {

std::unique_ptr<SplitPlans> plans_with(SplitPlans::Options options = {}) {
  return std::move(
      *SplitPlans::create(*device::open_host_executor(), machine_of_the_host_executor(), std::move(options)));
}

TEST(SplitPlans, NameDevicesByTheMachine) {
  const auto plans = plans_with();
  EXPECT_EQ(plans->id_of(2), "gpu2");
  EXPECT_EQ(plans->id_of(kHost), "host0");
  EXPECT_EQ(plans->id_of(77), "");
  EXPECT_EQ(plans->split_of(77, 0, 1 << 20).status().code(), Code::not_found);
}

TEST(SplitPlans, RefuseAnotherMachineAndUnknownRoutes) {
  const auto executor = *device::open_host_executor();
  SplitPlans::Options options;
  options.forced = {{"nonsense", 1.0}};
  EXPECT_EQ(SplitPlans::create(executor, machine_of_the_host_executor(), options).status().code(), Code::not_found);
  machine::Machine elsewhere = machine_of_the_host_executor();
  for (machine::Device& device : elsewhere.devices) device.uuid = "GPU-of-another-machine-" + device.id;
  const Status status = SplitPlans::create(executor, elsewhere, {}).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.text().find("SENNIT_MACHINE"), std::string::npos) << status.text();
}

TEST(SplitPlans, KeepEachPlanUntilSharesAreForced) {
  const auto plans = plans_with();
  const auto first = plans->plan(1, 0, 1 << 20, {});
  EXPECT_EQ(plans->plan(1, 0, 1 << 20, {}), first);
  EXPECT_NE(plans->plan(1, 0, 1 << 20, {.both_ways = true}), first);
  EXPECT_FALSE(first->forced);
  plans->force({{"direct", 0.5}, {"gpu2 (engine)", 0.5}});
  const auto forced = plans->plan(1, 0, 1 << 20, {});
  EXPECT_TRUE(forced->forced);
  EXPECT_EQ(forced->stops, (std::vector<std::vector<int>>{{0, 1}, {0, 2, 1}}));
  EXPECT_EQ(forced->names, (std::vector<std::string>{"direct", "gpu2 (engine)"}));
}

TEST(SplitPlans, OfAMachineThatWasNeverTunedHaveOnePath) {
  const auto plans = plans_with({.forced = {}, .tuned = nullptr, .single = true});
  EXPECT_FALSE(plans->several_paths());
  EXPECT_TRUE(plans->plan(1, 0, 64 << 20, {})->split.shares.empty());
  EXPECT_EQ(plans->least_split(1, 0), ~std::uint64_t{0});
  plans->force({{"direct", 0.5}, {"host0 (sm)", 0.5}});
  EXPECT_TRUE(plans->several_paths());
  EXPECT_LE(plans->least_split(1, 0), 1u);
}

}  // namespace
}  // namespace sennit::path
