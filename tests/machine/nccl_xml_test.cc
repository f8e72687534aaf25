#include "machine/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/assemble.h"
#include "machine/catalogue.h"
#include "machine/document.h"
#include "machine/made_up.h"
#include "machine/validate.h"

namespace sennit::machine {
namespace {

using testing::HasSubstr;

Machine sample(const char* name) {
  const Result<Machine> machine = load_nccl_xml(data_folder() / name);
  EXPECT_TRUE(machine.ok()) << machine.status().text();
  return machine.ok() ? *machine : Machine{};
}

std::string system(const std::string& inside) {
  return "<system version=\"1\">" + inside + "</system>";
}

TEST(NcclXml, ReadsAHybridCubeMesh) {
  const Machine machine = sample("dgx1v.xml");
  EXPECT_EQ(machine.name, "dgx1v");
  EXPECT_EQ(machine.devices.front().id, "gpu0");
  EXPECT_EQ(machine.find("0000:8a:00.0")->id, "gpu7");
  EXPECT_EQ(machine.link("gpu0", "gpu3")->count, 2);
  EXPECT_EQ(machine.link("gpu0", "gpu1")->count, 1);
  EXPECT_EQ(machine.link("gpu0", "gpu5"), nullptr);
  EXPECT_NEAR(machine.link("gpu0", "gpu3")->forward_gbps.value, 48, 1);
  EXPECT_EQ(machine.link("gpu0", "pcie_switch0")->forward_gbps.value, 12.5);
  EXPECT_EQ(machine.link("gpu1", "pcie_switch0")->kind, LinkKind::pcie);
  EXPECT_NE(machine.link("pcie_switch3", "host1"), nullptr);
  EXPECT_EQ(machine.link("host0", "host1")->forward_gbps.value, 6);
  EXPECT_EQ(machine.find("nic2")->model, "mlx5_2");
  EXPECT_EQ(machine.find("nic2")->read_gbps->value, 12.5);
  EXPECT_EQ(machine.find("nvswitch0"), nullptr);
}

TEST(NcclXml, AddsUpTheSwitchesOfAFabric) {
  const Machine machine = sample("hgx-nvswitch.xml");
  for (int i = 0; i < 8; ++i) {
    const Link* link = machine.link("gpu" + std::to_string(i), "nvswitch0");
    ASSERT_NE(link, nullptr);
    EXPECT_EQ(link->count, 18);
    EXPECT_NEAR(link->forward_gbps.value, 397, 1);
  }
  EXPECT_EQ(machine.link("gpu0", "pcie_switch0")->forward_gbps.value, 55);
  EXPECT_EQ(machine.find("nic0")->model, "mlx5_0+mlx5_8") << "one card, two ports";
  EXPECT_EQ(machine.find("nic0")->write_gbps->value, 50);
  int virtual_nics = 0;
  for (const Device& device : machine.devices) virtual_nics += device.model == "eth0" ? 1 : 0;
  EXPECT_EQ(virtual_nics, 1) << "NCCL lists it below every processor";
}

TEST(NcclXml, ReadsNestedSwitchesAndRepeatedDeviceNumbers) {
  const Machine machine = sample("pcie-only.xml");
  EXPECT_EQ(machine.find("0000:25:00.0")->id, "gpu0");
  EXPECT_EQ(machine.find("0000:24:00.0")->id, "gpu1");
  EXPECT_EQ(machine.find("0000:a1:00.0")->id, "gpu2");
  EXPECT_EQ(machine.link("pcie_switch1", "pcie_switch0")->forward_gbps.value, 13);
  EXPECT_EQ(machine.link("gpu2", "host1")->forward_gbps.source, Source::assumed);
  EXPECT_EQ(machine.find("0000:26:00.0"), nullptr) << "a disk is no device of ours";
}

TEST(NcclXml, ReadsNvlinkToTheProcessor) {
  const Machine machine = sample("power9.xml");
  EXPECT_EQ(machine.link("gpu3", "host8")->kind, LinkKind::nvlink);
  EXPECT_EQ(machine.link("gpu3", "host8")->count, 3);
  EXPECT_EQ(machine.link("gpu2", "gpu3")->count, 3);
  EXPECT_EQ(machine.link("host0", "host8")->forward_gbps.value, 32);
  for (const Link& link : machine.links) EXPECT_NE(link.kind, LinkKind::pcie) << "it carries no data beside NVLink";
}

TEST(NcclXml, ReadsCoherentLinksOfGraceHopper) {
  const Result<Machine> machine = from_nccl_xml(
      system(
          R"(<cpu numaid="0" arch="arm64"><pci busid="0009:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
                <gpu dev="0" sm="90"><c2c bw="44712" count="10"/></gpu></pci></cpu>)"),
      "gh200.xml");
  ASSERT_TRUE(machine.ok()) << machine.status().text();
  EXPECT_NEAR(machine->link("gpu0", "host0")->forward_gbps.value, 447, 1);
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, ThroughXmlKeepsTheMachine) {
  const Machine before = sample(GetParam());
  const Result<std::string> xml = to_nccl_xml(before);
  ASSERT_TRUE(xml.ok()) << xml.status().text();
  const Result<Machine> after = from_nccl_xml(*xml, GetParam());
  ASSERT_TRUE(after.ok()) << after.status().text() << *xml;
  EXPECT_EQ(to_json(*after).dump(1), to_json(before).dump(1));
}

INSTANTIATE_TEST_SUITE_P(Samples, RoundTrip,
                         testing::Values("dgx1v.xml", "hgx-nvswitch.xml", "pcie-only.xml", "power9.xml"));

TEST(NcclXml, ExpressesEveryShippedMachine) {
  for (const std::filesystem::path& file : shipped()) {
    const Machine before = *load(file.string());
    const Result<std::string> xml = to_nccl_xml(before);
    ASSERT_TRUE(xml.ok()) << xml.status().text();
    const Result<Machine> after = from_nccl_xml(*xml, file.filename().string());
    ASSERT_TRUE(after.ok()) << after.status().text();
    std::map<DeviceKind, int> balance;
    for (const Device& device : before.devices) ++balance[device.kind];
    for (const Device& device : after->devices) --balance[device.kind];
    for (const auto& [kind, difference] : balance) EXPECT_EQ(difference, 0) << file << " " << name(kind);
    for (const Link& link : before.links)
      if (link.kind == LinkKind::nvlink) {
        const Link* kept = after->link(link.from, link.to);
        ASSERT_NE(kept, nullptr) << file << link.from << link.to;
        EXPECT_EQ(kept->count, link.count);
      }
  }
}

TEST(NcclXml, WritesTheHostExecutorsMachineToo) {
  SysfsReadings sysfs;
  sysfs.nodes = {{0, 1ull << 30, 2, 0}};
  const Result<std::string> xml = to_nccl_xml(host_machine(4, sysfs, ""));
  ASSERT_TRUE(xml.ok()) << xml.status().text();
  EXPECT_NE(from_nccl_xml(*xml, "host.xml")->find("gpu3"), nullptr);
}

TEST(NcclXml, RefusesARingOfSwitches) {
  Machine machine = two_gpus();
  for (const char* id : {"s0", "s1", "s2"}) {
    Device device;
    device.id = id;
    device.kind = DeviceKind::pcie_switch;
    machine.devices.push_back(device);
  }
  const Link like = machine.links[0];
  for (const auto& [from, to] : {std::pair{"s0", "host0"}, {"s1", "s0"}, {"s2", "s1"}, {"s0", "s2"}}) {
    machine.links.push_back(like);
    machine.links.back().from = from;
    machine.links.back().to = to;
  }
  ASSERT_EQ(validate(machine).text(), "ok");
  EXPECT_EQ(to_nccl_xml(machine).status().code(), Code::invalid_argument);
}

TEST(NcclXml, SaysWhatIsWrongAndWhere) {
  const auto status = [](const std::string& xml) { return from_nccl_xml(xml, "dump.xml").status(); };
  EXPECT_THAT(status("<system version=\"1\"><cpu").text(), HasSubstr("not valid XML at byte"));
  EXPECT_THAT(status("<graphs/>").text(), HasSubstr("<system>"));
  EXPECT_EQ(status("<system version=\"2\"/>").code(), Code::unsupported);
  EXPECT_EQ(status("<system/>").code(), Code::unsupported);
  EXPECT_EQ(status("").code(), Code::corrupt);
  EXPECT_EQ(status(system("")).where(), "dump.xml: devices");
  EXPECT_EQ(status(system("<cpu numaid=\"zero\"/>")).where(), "dump.xml: cpu zero");
  EXPECT_EQ(status(system("<cpu numaid=\"0\"/><cpu numaid=\"0\"/>")).code(), Code::corrupt);
  EXPECT_EQ(status(system("<cpu host_hash=\"1\"/><cpu host_hash=\"2\"/>")).code(), Code::unsupported);
  EXPECT_THAT(status(system(R"(<cpu><pci busid="here"><gpu dev="0"/></pci></cpu>)")).text(),
              HasSubstr("busid='here'"));
  EXPECT_THAT(
      status(system(R"(<cpu><pci busid="1b:00.0"><gpu dev="0"><nvlink count="0"/></gpu></pci></cpu>)")).text(),
      HasSubstr("count='0'"));
  EXPECT_THAT(status(system(R"(<cpu><pci busid="1b:00.0"><gpu dev="0"/><gpu dev="1"/></pci></cpu>)")).text(),
              HasSubstr("MIG"));
}

TEST(NcclXml, BoundsNesting) {
  std::string xml;
  for (int i = 0; i < 20000; ++i) xml += "<pci busid=\"1b:00.0\">";
  for (int i = 0; i < 20000; ++i) xml += "</pci>";
  EXPECT_THAT(from_nccl_xml(system("<cpu>" + xml + "</cpu>"), "deep.xml").status().text(),
              HasSubstr("nested deeper"));
}

TEST(NcclXml, NamesAMissingFile) {
  EXPECT_EQ(load_nccl_xml("/nonexistent/topology.xml").status().code(), Code::not_found);
}

}  // namespace
}  // namespace sennit::machine
