#include "path/nics.h"

#include <gtest/gtest.h>

#include "machine/known.h"
#include "path/machines.h"
#include "places.h"

namespace sennit::path {
namespace {

TEST(Nics, GpusThatReachSeveralAlikeTakeThemInTurn) {
  machine::Machine made = cedar();
  for (const char* const name : {"nic0", "nic1"}) {
    machine::Device nic;
    nic.id = name;
    nic.kind = machine::DeviceKind::nic;
    made.devices.push_back(nic);
    made.links.push_back(link("host0", name, machine::LinkKind::pcie, 1, 12));
  }
  const Network network(made);
  const auto of = [&](std::string_view id) {
    const int nic = nearest_nic(network, network.index(id)).nic;
    return nic < 0 ? std::string("none") : network.device(nic).id;
  };
  EXPECT_EQ(of("gpu0"), "nic0");
  EXPECT_EQ(of("gpu1"), "nic1");
  EXPECT_EQ(of("gpu2"), "nic0");
  EXPECT_EQ(of("host0"), "nic0");
  EXPECT_EQ(of("nic0"), "none") << "a NIC has none";
  machine::Link& to_first = made.links[made.links.size() - 2];
  to_first.forward_gbps.value = to_first.backward_gbps.value = 1;
  const Network narrower(made);
  EXPECT_EQ(narrower.device(nearest_nic(narrower, narrower.index("gpu0")).nic).id, "nic1");
}

TEST(Nics, AMachineMayHaveNone) {
  const machine::Machine machine = hgx_h200_4();
  const Network network(machine);
  EXPECT_EQ(nearest_nic(network, network.index("gpu0")).nic, -1);
}

}  // namespace
}  // namespace sennit::path
