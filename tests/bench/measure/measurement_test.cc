#include "bench/measure/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "faulty_executor.h"
#include "machine/document.h"
#include "machine/validate.h"
#include "path/split.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

using machine::Method;
using machine::Source;
using machine::Traffic;
using testing::HasSubstr;

/// Warnings about paths; a busy machine may add one about unsteady times.
std::vector<std::string> about_paths(const Outcome& outcome) {
  std::vector<std::string> found = outcome.warnings;
  std::erase_if(found, [](const std::string& text) { return text.starts_with("Times vary"); });
  return found;
}

TEST(Measure, FillsTheDocument) {
  const machine::Machine machine = small_machine();
  long last = -1, total = 0;
  const auto outcome = measure(faulty(), machine, small_options(), [&](long done, long all, std::string_view what) {
    EXPECT_EQ(done, last + 1);
    EXPECT_FALSE(what.empty());
    last = done, total = all;
  });
  ASSERT_TRUE(outcome.ok()) << outcome.status().text();
  EXPECT_EQ(last, total);
  EXPECT_THAT(about_paths(*outcome), testing::IsEmpty());

  const machine::Machine& measured = outcome->machine;
  EXPECT_TRUE(machine::validate(measured).ok()) << machine::validate(measured).text();
  EXPECT_TRUE(machine::from_json(machine::to_json(measured), "test").ok());
  EXPECT_EQ(measured.fingerprint, machine.fingerprint);
  for (const char* from : {"gpu0", "gpu1", "gpu2", "host0"})
    for (const char* to : {"gpu0", "gpu1", "gpu2", "host0"}) {
      if (std::string_view(from) == to) continue;
      for (const Traffic traffic : {Traffic::one_way, Traffic::both_ways, Traffic::all_at_once})
        EXPECT_NE(measured.curve(from, to, Method::engine, traffic), nullptr) << from << " " << to;
    }
  EXPECT_NE(measured.curve("gpu0", "gpu1", Method::sm, Traffic::one_way), nullptr);
  for (const machine::Curve& curve : measured.curves)
    for (const auto& point : curve.points) EXPECT_GT(point.us, 0);
  for (const machine::Link& link : measured.links) {
    EXPECT_EQ(link.forward_gbps.source, Source::measured) << link.from << link.to;
    EXPECT_EQ(link.backward_gbps.source, Source::measured);
    EXPECT_TRUE(link.both_gbps && link.latency_us);
  }
  for (const machine::Device& device : measured.devices) {
    ASSERT_TRUE(device.read_gbps && device.write_gbps) << device.id;
    EXPECT_GT(device.read_gbps->value, 0);
  }
  // Six pairs through the host by engines and by SMs, and for three GPUs two relays each to and from the host.
  EXPECT_EQ(measured.staged.size(), 24u);
  EXPECT_EQ(std::ranges::count_if(
                measured.staged,
                [](const auto& staged) { return staged.rate_gbps.note.find("linked alike") != std::string::npos; }),
            24 - 4)
      << "one of each kind is measured";
}

TEST(Measure, ThoroughTakesNothingFromOthers) {
  Options options = small_options();
  options.thorough = true;
  machine::Machine machine = small_machine();
  machine.devices[2].uuid = "GPU-elsewhere";
  const auto outcome = measure(faulty(), machine, options, {});
  ASSERT_TRUE(outcome.ok()) << outcome.status().text();
  EXPECT_EQ(outcome->machine.staged.size(), 8u);
  for (const auto& staged : outcome->machine.staged)
    EXPECT_THAT(staged.rate_gbps.note, testing::Not(HasSubstr("alike")));
  for (const auto& [from, to] : {std::pair("gpu0", "gpu1"), std::pair("gpu1", "gpu0")})
    EXPECT_NE(outcome->machine.curve(from, to, Method::sm, Traffic::one_way), nullptr);
  EXPECT_THAT(outcome->machine.description, HasSubstr("thorough"));
  EXPECT_THAT(outcome->machine.description, HasSubstr("gpu2 was not visible"));
}

TEST(Measure, APathThatLiesIsReportedAndNeverPlanned) {
  const auto outcome = measure(faulty({{0, 1, Fault::wrong_byte}}), small_machine(), small_options(), {});
  ASSERT_TRUE(outcome.ok()) << outcome.status().text();
  EXPECT_FALSE(outcome->hung);
  EXPECT_THAT(about_paths(*outcome), testing::Contains(HasSubstr("gpu0 → gpu1 is left out")));
  const machine::Machine& measured = outcome->machine;
  EXPECT_TRUE(machine::validate(measured).ok());
  EXPECT_EQ(measured.curve("gpu0", "gpu1", Method::engine, Traffic::one_way), nullptr);
  EXPECT_NE(measured.curve("gpu0", "gpu2", Method::engine, Traffic::one_way), nullptr);
  EXPECT_THAT(measured.description, HasSubstr("gpu0"));
  const auto routes = path::candidates(measured, "gpu0", "gpu1", 64 * MiB);
  ASSERT_TRUE(routes.ok()) << routes.status().text();
  for (const auto& route : *routes)
    for (std::size_t i = 0; i + 1 < route.route.stops.size(); ++i)
      EXPECT_FALSE(route.route.stops[i] == "gpu0" && route.route.stops[i + 1] == "gpu1") << route.route.name();
}

TEST(Measure, WithoutPeerAccessOnlyTheHostIsLeft) {
  auto executor = faulty();
  executor->peers = false;
  const auto outcome = measure(executor, small_machine(), small_options(), {});
  ASSERT_TRUE(outcome.ok()) << outcome.status().text();
  EXPECT_THAT(outcome->machine.description, HasSubstr("Without peer access: gpu0 → gpu1"));
  for (const machine::Curve& curve : outcome->machine.curves)
    EXPECT_TRUE(curve.from == "host0" || curve.to == "host0") << curve.from << curve.to;
  EXPECT_EQ(outcome->machine.staged.size(), 12u);
  const auto routes = path::candidates(outcome->machine, "gpu0", "gpu1", 64 * MiB);
  ASSERT_TRUE(routes.ok());
  for (const auto& route : *routes) EXPECT_FALSE(route.route.direct());
}

TEST(Measure, AfterACopyThatNeverEndsTheOtherDevicesAreMeasured) {
  Options options = small_options();
  options.limit = std::chrono::milliseconds(500);
  const auto outcome = measure(faulty({{0, 1, Fault::never_ends}}), small_machine(), options, {});
  ASSERT_TRUE(outcome.ok()) << outcome.status().text();
  EXPECT_TRUE(outcome->hung);
  EXPECT_THAT(outcome->warnings, testing::Contains(HasSubstr("gpu0 → gpu1 is left out")));
  EXPECT_EQ(outcome->machine.curve("gpu0", "gpu2", Method::engine, Traffic::one_way), nullptr)
      << "gpu0 is in quarantine";
  EXPECT_NE(outcome->machine.curve("gpu2", "host0", Method::engine, Traffic::one_way), nullptr);
  EXPECT_TRUE(outcome->machine.staged.empty());
  EXPECT_TRUE(machine::validate(outcome->machine).ok());
}

TEST(Measure, SaysWhenNothingWorks) {
  std::vector<Broken> broken;
  for (int gpu = 0; gpu < 3; ++gpu) broken.push_back({-1, gpu, Fault::lost});
  const auto outcome = measure(faulty(broken), small_machine(), small_options(), {});
  EXPECT_EQ(outcome.status().code(), Code::unsupported);
  EXPECT_FALSE(outcome.status().remedy().empty());
}

}  // namespace
}  // namespace sennit::bench::measure
