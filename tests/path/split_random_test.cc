// Properties of every split, on machines that nobody built.
#include <random>

#include <gtest/gtest.h>

#include "base/units.h"
#include "machines.h"
#include "path/split.h"

namespace sennit::path {
namespace {

using machine::LinkKind;
using machine::Machine;

Machine random_machine(std::mt19937& random) {
  const auto figure = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto chance = [&](double part) { return figure(0, 1) < part; };
  Machine machine;
  machine.name = "random";
  const int gpus = 2 + int(random() % 7), hosts = 1 + int(random() % 2);
  for (int g = 0; g < gpus; ++g) machine.devices.push_back(gpu(g, int(random() % 6)));
  for (int h = 0; h < hosts; ++h) {
    machine.devices.push_back(host(h));
    if (chance(0.5)) machine.devices.back().read_gbps = measured(figure(20, 200));
    if (chance(0.5)) machine.devices.back().write_gbps = measured(figure(20, 200));
    if (chance(0.5)) machine.devices.back().read_write_gbps = measured(figure(20, 300));
  }
  if (hosts == 2) machine.links.push_back(link("host0", "host1", LinkKind::socket, 1, figure(10, 80)));
  for (int g = 0; g < gpus; ++g) {
    const std::string id = "gpu" + std::to_string(g);
    machine.links.push_back(link(id, "host" + std::to_string(g % hosts), LinkKind::pcie, 1, figure(5, 60)));
    machine.links.back().peer_access = chance(0.7);
    if (chance(0.4)) machine.links.back().both_gbps = measured(figure(6, 100));
    for (int other = g + 1; other < gpus; ++other)
      if (chance(0.5)) {
        machine.links.push_back(link(id, "gpu" + std::to_string(other), LinkKind::nvlink, 2, figure(20, 400)));
        machine.links.back().backward_gbps.value = figure(20, 400);
      }
  }
  for (int c = 0; c < 4; ++c) {
    machine::Curve curve{
        "gpu" + std::to_string(random() % gpus), "gpu" + std::to_string(random() % gpus), {}, {}, {}};
    const double startup = figure(5, 30), gbps = figure(5, 400);
    for (std::uint64_t bytes = 64 * KiB; bytes <= GiB; bytes *= 16)
      curve.points.push_back({bytes, (startup + double(bytes) / gbps / 1e3) * figure(0.97, 1.03), 0, 9});
    if (curve.from != curve.to) machine.curves.push_back(curve);
  }
  return machine;
}

bool same(const Split& a, const Split& b) {
  if (a.shares.size() != b.shares.size() || a.rejected.size() != b.rejected.size()) return false;
  for (std::size_t i = 0; i < a.shares.size(); ++i)
    if (a.shares[i].bytes != b.shares[i].bytes || a.shares[i].finish_us != b.shares[i].finish_us ||
        a.shares[i].candidate.route.name() != b.shares[i].candidate.route.name())
      return false;
  for (std::size_t i = 0; i < a.rejected.size(); ++i)
    if (a.rejected[i].reason != b.rejected[i].reason) return false;
  return a.predicted_us == b.predicted_us;
}

TEST(SplitRandom, CoversExactlyNeverLosesAndRepeats) {
  std::mt19937 random(20261121);
  int multiple = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Machine machine = random_machine(random);
    const bool to_host = random() % 4 == 0;
    const std::string from = random() % 4 == 0 && !to_host ? "host0" : "gpu0", to = to_host ? "host0" : "gpu1";
    const std::uint64_t bytes = random() % 5 == 0 ? random() % 100000 : std::uint64_t(random()) << (random() % 3);
    SplitOptions options;
    options.both_ways = random() % 3 == 0;
    SCOPED_TRACE(testing::Message() << "trial " << trial << ": " << from << " → " << to << ", " << bytes << " bytes");

    const auto planned = split(machine, from, to, bytes, options);
    ASSERT_TRUE(planned.ok()) << planned.status().text();
    const Split& split = *planned;
    EXPECT_TRUE(same(split, *path::split(machine, from, to, bytes, options)));
    multiple += split.shares.size() > 1;

    std::uint64_t offset = 0;
    double last = 0;
    for (const Share& share : split.shares) {
      EXPECT_EQ(share.offset, offset);
      EXPECT_EQ(share.offset % kAlignment, 0u);
      EXPECT_GT(share.bytes, 0u);
      EXPECT_LE(share.bytes, split.shares[0].bytes + kAlignment);
      EXPECT_GT(share.candidate.rate_gbps, 0);
      EXPECT_NEAR(share.finish_us, share.candidate.startup_us + double(share.bytes) / share.candidate.rate_gbps / 1e3,
                  1e-6 * share.finish_us);
      offset += share.bytes;
      last = std::max(last, share.finish_us);
    }
    EXPECT_EQ(offset, bytes);
    EXPECT_EQ(split.predicted_us, last);
    EXPECT_LE(split.predicted_us, split.single_us);
    EXPECT_EQ(split.shares.empty(), bytes == 0);

    // Nothing that is predicted exceeds what the links allow.
    double together = 0;
    for (const Share& share : split.shares) together += share.candidate.rate_gbps;
    EXPECT_LE(together, split.limit_gbps * (1 + 1e-6));
    for (const Share& share : split.shares)  // within what an alignment unit more or less and a chunk's step change
      EXPECT_NEAR(share.finish_us, split.predicted_us, 0.12 * split.predicted_us);
  }
  EXPECT_GT(multiple, 100);  // the machines are not all trivial
}

}  // namespace
}  // namespace sennit::path
