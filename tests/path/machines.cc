#include "machines.h"

#include <string>
#include <utility>

#include "base/units.h"

namespace sennit::path {

using machine::Curve;
using machine::Device;
using machine::DeviceKind;
using machine::Figure;
using machine::Link;
using machine::LinkKind;
using machine::Machine;
using machine::Method;
using machine::Source;
using machine::StagedPath;
using machine::Traffic;

namespace {

constexpr double kNvlink2 = 24;  // GB/s each way that a copy sees of one NVLink 2 (25 raw): 72 of 3 on Mist
constexpr double kPcie3 = 12;

std::string gpu_id(int number) {
  return "gpu" + std::to_string(number);
}

Machine named(const char* name, int gpus, int hosts) {
  Machine made;
  made.name = name;
  for (int g = 0; g < gpus; ++g) made.devices.push_back(gpu(g));
  for (int h = 0; h < hosts; ++h) made.devices.push_back(host(h));
  return made;
}

Curve curve(std::string from, std::string to, std::vector<std::pair<std::uint64_t, double>> points) {
  Curve made{std::move(from), std::move(to), Method::engine, Traffic::one_way, {}};
  for (const auto& [bytes, us] : points) made.points.push_back({bytes, us, 0.01 * us, 20});
  return made;
}

}  // namespace

Figure specified(double value) {
  return {value, Source::specification, 0, "data sheet"};
}
Figure measured(double value) {
  return {value, Source::measured, 0.01 * value, "this test"};
}

Device gpu(int number, int copy_engines) {
  Device device;
  device.id = gpu_id(number);
  device.kind = DeviceKind::gpu;
  device.uuid = "GPU-0000000" + std::to_string(number);
  device.copy_engines = copy_engines;
  return device;
}

Device host(int number) {
  Device device;
  device.id = "host" + std::to_string(number);
  device.kind = DeviceKind::host;
  device.numa = number;
  return device;
}

Link link(std::string from, std::string to, LinkKind kind, int count, double gbps_each_way) {
  Link made;
  made.from = std::move(from);
  made.to = std::move(to);
  made.kind = kind;
  made.count = count;
  made.forward_gbps = made.backward_gbps = specified(gbps_each_way);
  return made;
}

Machine hgx_h200_4_unmeasured() {
  Machine made = named("hgx-h200-4-unmeasured", 4, 1);
  made.devices.push_back({"nvswitch0", DeviceKind::nvswitch, {}, {}, {}, 0, 0, 0, -1, {}, {}, {}});
  for (int g = 0; g < 4; ++g) {
    made.links.push_back(link(gpu_id(g), "nvswitch0", LinkKind::nvlink, 18, 450));
    made.links.push_back(link(gpu_id(g), "host0", LinkKind::pcie, 1, 56));
  }
  return made;
}

Machine hgx_h200_4() {
  Machine made = hgx_h200_4_unmeasured();
  made.name = "hgx-h200-4";
  for (int g = 0; g < 4; ++g) made.devices[g].copy_engines = 3;
  Device& memory = made.devices[4];
  memory.read_gbps = measured(157);
  memory.write_gbps = measured(133);
  memory.read_write_gbps = measured(200);
  for (Link& each : made.links) {
    if (each.kind == LinkKind::nvlink) each.both_gbps = measured(780);
    if (each.kind == LinkKind::pcie) each.both_gbps = measured(95);
  }
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      if (a == b) continue;
      made.curves.push_back(curve(gpu_id(a), gpu_id(b),
                                  {{64 * KiB, 12.8},
                                   {256 * KiB, 13.2},
                                   {1 * MiB, 15.2},
                                   {4 * MiB, 21},
                                   {16 * MiB, 53},
                                   {64 * MiB, 179},
                                   {256 * MiB, 687},
                                   {1 * GiB, 2716}}));
      made.staged.push_back({gpu_id(a), gpu_id(b), "host0", Method::sm, measured(35), measured(50), 256 * KiB, 8});
      made.staged.push_back(
          {gpu_id(a), gpu_id(b), "host0", Method::engine, measured(33), measured(51.5), 4 * MiB, 0});
    }
    for (const bool down : {true, false})
      made.curves.push_back(curve(
          down ? gpu_id(a) : "host0", down ? "host0" : gpu_id(a),
          {{64 * KiB, 14}, {1 * MiB, 33}, {16 * MiB, 317}, {64 * MiB, 1229}, {256 * MiB, 4854}, {1 * GiB, 19400}}));
  }
  return made;
}

Machine machine_of_the_host_executor() {
  Machine machine = hgx_h200_4_unmeasured();
  for (auto& device : machine.devices)
    if (device.kind == machine::DeviceKind::gpu) device.uuid = "HOST-" + device.id.substr(3);
  return machine;
}

Machine mist() {
  Machine made = named("mist", 4, 2);
  for (int g = 0; g < 4; ++g) {
    if (g % 2 == 0) made.links.push_back(link(gpu_id(g), gpu_id(g + 1), LinkKind::nvlink, 3, 3 * kNvlink2));
    made.links.push_back(link(gpu_id(g), g < 2 ? "host0" : "host1", LinkKind::nvlink, 3, 3 * kNvlink2));
  }
  made.links.push_back(link("host0", "host1", LinkKind::socket, 1, 64));
  // Host staging alone was published as 58 GB/s one way and 34 each way both ways: 116 to 136 in and out together.
  for (Device& device : made.devices)
    if (device.kind == DeviceKind::host) device.read_write_gbps = specified(116);
  return made;
}

Machine cedar(int gpus) {
  Machine made = named("cedar", gpus, 1);
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b)
      made.links.push_back(link(gpu_id(a), gpu_id(b), LinkKind::nvlink, 2, 2 * kNvlink2));
    made.links.push_back(link(gpu_id(a), "host0", LinkKind::pcie, 1, kPcie3));
  }
  return made;
}

Machine cube_mesh() {
  Machine made = named("cube-mesh", 8, 2);
  for (int quad = 0; quad < 8; quad += 4)
    for (int a = quad; a < quad + 4; ++a)
      for (int b = a + 1; b < quad + 4; ++b)
        made.links.push_back(link(gpu_id(a), gpu_id(b), LinkKind::nvlink, 1, kNvlink2));
  for (int g = 0; g < 4; ++g) made.links.push_back(link(gpu_id(g), gpu_id(g + 4), LinkKind::nvlink, 1, kNvlink2));
  for (int g = 0; g < 8; ++g)
    made.links.push_back(link(gpu_id(g), g < 4 ? "host0" : "host1", LinkKind::pcie, 1, kPcie3));
  made.links.push_back(link("host0", "host1", LinkKind::socket, 2, 38));
  return made;
}

Machine pcie_only(bool peer_access) {
  Machine made = named("pcie-only", 4, 1);
  for (int s = 0; s < 2; ++s) {
    const std::string id = "pcie" + std::to_string(s);
    made.devices.push_back({id, DeviceKind::pcie_switch, {}, {}, {}, 0, 0, 0, -1, {}, {}, {}});
    for (int g = 2 * s; g < 2 * s + 2; ++g) made.links.push_back(link(gpu_id(g), id, LinkKind::pcie, 1, kPcie3));
    made.links.push_back(link(id, "host0", LinkKind::pcie, 1, kPcie3));
  }
  for (Link& each : made.links) each.peer_access = peer_access;
  return made;
}

Machine host_only() {
  Machine made = named("host-only", 0, 2);
  made.links.push_back(link("host0", "host1", LinkKind::socket, 2, 40));
  return made;
}

double share_of(const Split& split, std::string_view route) {
  for (const Share& share : split.shares)
    if (share.candidate.route.name() == route) return double(share.bytes) / double(split.bytes);
  return 0;
}

}  // namespace sennit::path
