// Describes the hardware as a graph of devices and links, each figure with its source: every decision of sennit is
// computed from this document. All are plain values; reading, discovery and measurement live beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sennit::machine {

/// Version of the document. Readers accept exactly this one; see schemas/machine.schema.json.
inline constexpr int kVersion = 1;

/// Says where a figure comes from, from most to least trusted.
enum class Source { measured, specification, assumed };

/// One number and why it should be believed.
struct Figure {
  double value = 0;  ///< unit is in the field's name: GB/s (10^9 bytes/s) or µs
  Source source = Source::assumed;
  double spread = 0;  ///< half the interquartile range, same unit; 0 when not measured
  std::string note;   ///< publication and page, data sheet, or how it was measured
};

enum class DeviceKind { gpu, host, pcie_switch, nvswitch, nic };

/// Returns the identifier of an enumerator, as documents and messages spell it.
std::string_view name(Source source);
std::string_view name(DeviceKind kind);

/// A thing that holds or forwards bytes. `id` is a name within the document ("gpu0", "host0", "nvswitch0");
/// identity across documents and processes is `uuid` or `pci`, never the index.
struct Device {
  std::string id;
  DeviceKind kind = DeviceKind::gpu;
  std::string uuid;                ///< gpu: "GPU-…" as NVML prints it; may be empty in files of other machines
  std::string pci;                 ///< "0000:1b:00.0", lower case; empty where it has none
  std::string model;               ///< "NVIDIA H200", "Intel(R) Xeon(R) …"
  std::uint64_t memory_bytes = 0;  ///< gpu and host (one NUMA node each)
  int sm_count = 0;                ///< gpu
  int copy_engines = 0;            ///< gpu: engines that can run at once (asyncEngineCount)
  int numa = -1;                   ///< NUMA node it hangs off; for kind host its own number
  /// Limits of the device itself, over all its links at once; absent where nothing is known.
  std::optional<Figure> read_gbps;        ///< host: all GPUs reading host memory at once; gpu, nic: all egress
  std::optional<Figure> write_gbps;       ///< host: all GPUs writing host memory at once; gpu, nic: all ingress
  std::optional<Figure> read_write_gbps;  ///< host: sum when both happen at once (staging does both)
};

enum class LinkKind { nvlink, pcie, socket, network };  // socket: UPI, QPI, X-Bus, Infinity Fabric

std::string_view name(LinkKind kind);

/// A bundle of `count` equal physical links between two devices. Bandwidths are of the whole bundle,
/// as a copy sees them (not raw signalling), `forward` meaning from → to.
struct Link {
  std::string from, to;
  LinkKind kind = LinkKind::pcie;
  int count = 1;
  Figure forward_gbps, backward_gbps;
  std::optional<Figure> both_gbps;  ///< sum of both directions at once, where less than forward + backward
  std::optional<Figure> latency_us;
  bool shared = false;      ///< other traffic outside this document may use it (a NIC, a shared switch)
  bool peer_access = true;  ///< kind pcie: GPU-to-GPU traffic may pass (P2P works through it)
};

enum class Method { engine, sm };
/// Says what else moves while a copy of a curve from → to is timed. one_way: nothing. both_ways: as much from `to` to
/// `from`. all_at_once, between GPUs: as much from every GPU to every other; with a host end: as much between that
/// host and every GPU, in the direction of the timed copy.
enum class Traffic { one_way, both_ways, all_at_once };

std::string_view name(Method method);
std::string_view name(Traffic traffic);

/// Copies between two memories over their direct path, by size. Ends are device ids; a host end is pinned memory.
struct Curve {
  std::string from, to;
  Method method = Method::engine;
  Traffic traffic = Traffic::one_way;
  struct Point {
    std::uint64_t bytes = 0;
    double us = 0;         ///< median, from the host: call to completion
    double spread_us = 0;  ///< half the interquartile range
    int repetitions = 0;
  };
  std::vector<Point> points;  ///< ascending bytes
};

/// Describes the time of a kind of staged path between two memories when driven alone: t(n) = startup + n / rate.
/// `stage` names the device whose memory the bytes pass through. Fitted from at least two sizes.
struct StagedPath {
  std::string from, to, stage;
  Method method = Method::engine;
  Figure startup_us;
  Figure rate_gbps;
  std::uint64_t chunk_bytes = 0;  ///< chunk that measured best
  int blocks = 0;                 ///< method sm: blocks a side that measured best
};

struct Machine {
  std::string name;  ///< "hgx-h200-4", or the host's name where discovered
  std::string description;
  std::string fingerprint;              ///< hash of devices and driver; empty in hand-written files
  std::string driver, cuda;             ///< versions; empty where there is none
  std::string date;                     ///< ISO 8601 day of the measurement or of the transcription
  std::vector<std::string> references;  ///< publications and data sheets the figures come from
  std::vector<Device> devices;
  std::vector<Link> links;
  std::vector<Curve> curves;       ///< empty until measured
  std::vector<StagedPath> staged;  ///< empty until measured

  /// Returns the device called `id`, by id, UUID or PCI address, in either case of letters; nullptr when there is
  /// none.
  const Device* find(std::string_view id) const;
  /// Returns the bundle joining two devices, named in either order and in any way find() knows; of several kinds the
  /// one with the highest forward bandwidth. nullptr when there is none.
  const Link* link(std::string_view a, std::string_view b) const;
  /// Returns the curve between two devices, named in any way find() knows; nullptr when it was not measured.
  const Curve* curve(std::string_view from, std::string_view to, Method method, Traffic traffic) const;
};

}  // namespace sennit::machine
