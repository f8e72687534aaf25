#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "machines.h"
#include "path/split.h"

namespace sennit::path {
namespace {

using machine::Machine;
using machine::Method;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> names(const Machine& machine, const char* from, const char* to,
                               std::uint64_t bytes = 64 * MiB) {
  std::vector<std::string> text;
  const auto found = candidates(machine, from, to, bytes);
  for (const Candidate& candidate : *found) text.push_back(candidate.route.name());
  return text;
}

Candidate named(const Machine& machine, const char* from, const char* to, std::string_view name,
                std::uint64_t bytes = 64 * MiB) {
  const auto found = candidates(machine, from, to, bytes);
  for (const Candidate& candidate : *found)
    if (candidate.route.name() == name) return candidate;
  ADD_FAILURE() << "no route " << name;
  return {};
}

TEST(RouteName, SaysWhereBytesRestAndWhoMovesThem) {
  EXPECT_EQ((Route{{"gpu0", "gpu1"}, Method::engine}.name()), "direct");
  EXPECT_EQ((Route{{"gpu0", "host0", "gpu1"}, Method::sm}.name()), "host0 (sm)");
  EXPECT_EQ((Route{{"gpu0", "gpu2", "gpu1"}, Method::engine}.name()), "gpu2 (engine)");
  EXPECT_EQ((Route{{"gpu0", "gpu2", "gpu3", "gpu1"}, Method::engine}.name()), "gpu2 → gpu3 (engine)");
}

TEST(Candidates, BehindAnNvswitch) {
  EXPECT_THAT(names(hgx_h200_4(), "gpu0", "gpu1"),
              UnorderedElementsAre("direct", "host0 (sm)", "host0 (engine)", "gpu2 (engine)", "gpu3 (engine)"));
  EXPECT_EQ(names(hgx_h200_4(), "gpu0", "gpu1").front(), "direct");
}

TEST(Candidates, BetweenHostAndGpuOverTheOtherGpus) {
  for (const auto& [from, to] : {std::pair{"host0", "gpu1"}, std::pair{"gpu1", "host0"}})
    EXPECT_THAT(names(hgx_h200_4(), from, to),
                UnorderedElementsAre("direct", "gpu0 (engine)", "gpu2 (engine)", "gpu3 (engine)"));
}

TEST(Candidates, AcrossSocketsAreStagedNearEitherEnd) {
  const auto found = names(mist(), "gpu0", "gpu2");
  EXPECT_THAT(found, Contains("host0 (sm)"));
  EXPECT_THAT(found, Contains("host1 (engine)"));
}

TEST(Candidates, DoNotLeaveTheSocketAndComeBack) {
  EXPECT_THAT(names(mist(), "gpu0", "gpu1"), UnorderedElementsAre("direct", "host0 (sm)", "host0 (engine)"));
  EXPECT_THAT(names(pcie_only(), "gpu0", "gpu1"), Not(Contains("gpu2 (engine)")));
}

TEST(Candidates, RelayThroughTwoGpusOnlyInMeshes) {
  const auto far = names(cube_mesh(), "gpu0", "gpu5");
  EXPECT_THAT(far, Contains("gpu2 → gpu6 (engine)"));
  EXPECT_THAT(far, Contains("gpu3 → gpu7 (engine)"));
  // gpu1 reaches gpu5 by itself, so that no second relay after it helps.
  EXPECT_THAT(far, Contains("gpu1 (engine)"));
  EXPECT_THAT(far, Not(Contains("gpu1 → gpu4 (engine)")));
  for (const Machine& machine : {hgx_h200_4(), cedar(), pcie_only()})
    for (const std::string& name : names(machine, "gpu0", "gpu1"))
      EXPECT_EQ(name.find("→"), std::string::npos) << name;
}

TEST(Candidates, WithoutPeerAccessOnlyStagedOnesRemain) {
  EXPECT_THAT(names(pcie_only(false), "gpu0", "gpu1"), UnorderedElementsAre("host0 (sm)", "host0 (engine)"));
}

TEST(Candidates, WithinOneDeviceAndBetweenHosts) {
  EXPECT_THAT(names(hgx_h200_4(), "gpu0", "gpu0"), ElementsAre("direct"));
  EXPECT_THAT(names(host_only(), "host0", "host0"), ElementsAre("direct"));
  EXPECT_THAT(names(host_only(), "host0", "host1"), ElementsAre("direct"));
}

TEST(Candidates, TakeMeasuredFiguresBeforeAssumedOnes) {
  const Candidate direct = named(hgx_h200_4(), "gpu0", "gpu1", "direct", 64 * MiB);
  EXPECT_EQ(direct.source, machine::Source::measured);
  EXPECT_NEAR(direct.startup_us + 64 * double(MiB) / direct.rate_gbps / 1e3, 179, 0.1);  // the curve's own point
  EXPECT_EQ(direct.chunk_bytes, 0u);

  const Candidate staged = named(hgx_h200_4(), "gpu0", "gpu1", "host0 (sm)", 256 * MiB);
  EXPECT_EQ(staged.source, machine::Source::measured);
  const double measured_us = 35 + 256 * double(MiB) / 50e3;
  EXPECT_NEAR(staged.startup_us + 256 * double(MiB) / staged.rate_gbps / 1e3, measured_us, 0.03 * measured_us);
  EXPECT_EQ(staged.blocks, 8);

  EXPECT_EQ(named(hgx_h200_4_unmeasured(), "gpu0", "gpu1", "direct").source, machine::Source::assumed);
  EXPECT_NEAR(named(hgx_h200_4_unmeasured(), "gpu0", "gpu1", "host0 (sm)").rate_gbps, 52, 1);
}

TEST(Candidates, LetOneMeasuredPairStandForItsLikes) {
  Machine machine = hgx_h200_4();
  std::erase_if(machine.staged, [](const auto& staged) { return staged.from != "gpu0" || staged.to != "gpu1"; });
  for (machine::StagedPath& staged : machine.staged) staged.rate_gbps.value = 30;
  EXPECT_LT(named(machine, "gpu2", "gpu3", "host0 (sm)").rate_gbps, 34);
  for (machine::Link& each : machine.links)  // another width, another kind of path
    if (each.from == "gpu2" && each.to == "host0") each.forward_gbps = each.backward_gbps = measured(26);
  EXPECT_EQ(named(machine, "gpu2", "gpu3", "host0 (sm)").source, machine::Source::assumed);
}

TEST(Candidates, AssumeNoMoreOfOneMethodThanIsKnownOfTheOther) {
  Machine machine = hgx_h200_4();
  std::erase_if(machine.staged, [](const auto& staged) { return staged.method == Method::sm; });
  for (machine::StagedPath& staged : machine.staged) staged.rate_gbps.value = 30;
  EXPECT_LE(named(machine, "gpu0", "gpu1", "host0 (sm)").rate_gbps, 30);
}

TEST(Candidates, NameEveryLimitTheyOccupy) {
  EXPECT_THAT(named(hgx_h200_4(), "gpu0", "gpu1", "host0 (sm)").links,
              ElementsAre("gpu0>host0", "gpu0<>host0", "host0:write", "host0:read_write", "host0>gpu1", "gpu1<>host0",
                          "host0:read"));
  EXPECT_THAT(named(hgx_h200_4_unmeasured(), "gpu0", "gpu1", "gpu2 (engine)").links,
              ElementsAre("gpu0>nvswitch0", "nvswitch0>gpu2", "gpu0:engines", "gpu2>nvswitch0", "nvswitch0>gpu1",
                          "gpu2:engines"));
}

TEST(Candidates, KnowDevicesByUuidToo) {
  EXPECT_EQ(named(hgx_h200_4(), "GPU-00000000", "GPU-00000001", "direct").route.stops,
            (std::vector<std::string>{"gpu0", "gpu1"}));
}

TEST(Candidates, RefuseWhatIsNoMemory) {
  const auto missing = candidates(hgx_h200_4(), "gpu0", "gpu9", MiB);
  EXPECT_EQ(missing.status().code(), Code::not_found);
  EXPECT_NE(missing.status().what().find("gpu9"), std::string::npos);
  EXPECT_NE(missing.status().remedy().find("gpu3"), std::string::npos);
  EXPECT_EQ(candidates(hgx_h200_4(), "nvswitch0", "gpu1", MiB).status().code(), Code::invalid_argument);

  Machine apart;
  apart.devices = {gpu(0), gpu(1)};
  EXPECT_EQ(candidates(apart, "gpu0", "gpu1", MiB).status().code(), Code::unsupported);
}

TEST(Candidates, LeaveOutDeadLinks) {
  Machine machine = hgx_h200_4_unmeasured();
  for (machine::Link& each : machine.links)
    if (each.from == "gpu2") each.forward_gbps.value = 0;
  EXPECT_THAT(names(machine, "gpu0", "gpu1"), Not(Contains("gpu2 (engine)")));
}

}  // namespace
}  // namespace sennit::path
