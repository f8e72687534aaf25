#include "doctor/peers.h"

#include <map>

#include <fmt/format.h>

#include "base/environment.h"
#include "doctor/status_json.h"

namespace sennit::doctor {

namespace {

using machine::NvmlReadings;

/// NVML's index of a GPU; -1 where it does not list it.
int index_in(const NvmlReadings& nvml, const std::string& pci) {
  for (std::size_t i = 0; i < nvml.gpus.size(); ++i)
    if (nvml.gpus[i].pci == pci) return int(i);
  return -1;
}

/// Names what joins a pair, as far as NVML says.
std::string link_of(const NvmlReadings& nvml, const std::string& one, const std::string& other) {
  const int a = index_in(nvml, one), b = index_in(nvml, other);
  if (a < 0 || b < 0) return "link unknown";
  const int links = nvlinks_between(nvml, std::size_t(a), std::size_t(b));
  return links > 0 ? fmt::format("NVLink × {}", links) : "PCIe";
}

bool reaches(const PeerReadings& peers, int from, int to) {
  for (const DirectionReading& direction : peers.directions)
    if (direction.from == from && direction.to == to) return direction.reaches;
  return false;
}

struct Grouped {
  std::string text;  ///< "all 6 pairs NVLink × 18", or the pairs of each kind
  int good = 0, bad = 0;
};

Grouped group(const PeerReadings& peers, const NvmlReadings& nvml) {
  const Labels label(nvml);
  std::map<std::string, std::vector<std::string>> kinds;
  Grouped grouped;
  for (int a = 0; a < int(peers.devices.size()); ++a)
    for (int b = a + 1; b < int(peers.devices.size()); ++b) {
      const std::string &one = peers.devices[std::size_t(a)], &other = peers.devices[std::size_t(b)];
      const bool there = reaches(peers, a, b), back = reaches(peers, b, a);
      (there && back ? grouped.good : grouped.bad) += 1;
      const std::string access = there && back ? "" : there || back ? ", one direction only" : ", no access";
      kinds[link_of(nvml, one, other) + access].push_back(fmt::format("{}–{}", label(one), label(other)));
    }
  for (const auto& [kind, pairs] : kinds) {
    grouped.text += grouped.text.empty() ? "" : "; ";
    if (kinds.size() == 1)
      grouped.text +=
          fmt::format("{}: {}", pairs.size() == 1 ? pairs.front() : fmt::format("All {} pairs", pairs.size()), kind);
    else
      grouped.text += fmt::format("{}: {}", fmt::join(pairs, ", "), kind);
  }
  return grouped;
}

std::string no_access_fix(const NvmlReadings& nvml) {
  if (const Result<bool> allowed = environment_switch("SENNIT_PEER"); allowed.ok() && !*allowed)
    return "unset SENNIT_PEER";
  for (const machine::NvmlGpu& gpu : nvml.gpus)
    for (const machine::NvmlNvlink& link : gpu.nvlinks)
      if (link.active && link.remote == machine::NvlinkRemote::nvswitch)
        return "sudo systemctl restart nvidia-fabricmanager, then nvidia-smi topo -p2p rw";
  return "nvidia-smi topo -p2p rw gives the reason per pair: pairs below different processors and consumer GPUs "
         "cannot "
         "be mended (sennit stages through host memory); in a virtual machine, pass GPUs through with P2P allowed";
}

/// Returns a check that says why there is nothing to judge; no value where there is something.
std::optional<Check> excuse(const Subject& subject, const Situation& situation, const PeerReadings& peers) {
  if (!situation.gpus()) return not_applicable(subject, situation.why_no_gpus());
  if (!situation.cuda_build) return not_applicable(subject, "This build has no cuda executor to try it with");
  // Other checks report that no GPU answers; here there is only nothing to try.
  if (peers.opened.code() == Code::not_found)
    return not_applicable(subject, fmt::format("Could not be tried: {}", peers.opened.what()));
  if (!peers.opened.ok())
    return missing(subject, fmt::format("Could not be tried: {}", peers.opened.what()),
                   remedy_of(peers.opened, "See the line on the CUDA driver"));
  if (peers.devices.empty())
    return missing(
        subject,
        fmt::format("The process that opened the GPUs {}", peers.trouble.empty() ? "said nothing" : peers.trouble),
        "See the line on the CUDA driver");
  if (peers.devices.size() == 1) return not_applicable(subject, "There is one GPU only");
  return std::nullopt;
}

std::string direction_text(const PeerReadings& peers, const Labels& label, int from, int to) {
  return fmt::format("{} → {}", label(peers.devices[std::size_t(from)]), label(peers.devices[std::size_t(to)]));
}

}  // namespace

PeerReadings peer_readings(const Answer& answer) {
  PeerReadings peers;
  peers.trouble = answer.trouble();
  for (const Json& line : answer.lines) {
    if (const auto opened = line.find("opened"); opened != line.end()) peers.opened = status_of(*opened);
    for (const Json& pci : line.value("devices", Json::array())) peers.devices.push_back(pci.get<std::string>());
    if (const auto pinned = line.find("pinned"); pinned != line.end()) peers.pinned = status_of(*pinned);
    if (const auto trying = line.find("trying"); trying != line.end() && trying->size() == 2)
      peers.last_tried = {(*trying)[0].get<int>(), (*trying)[1].get<int>()};
    if (const auto reached = line.find("reaches"); reached != line.end())
      peers.directions.push_back({line.value("from", 0), line.value("to", 0), reached->get<bool>(),
                                  status_of(line.value("bytes", Json(nullptr)))});
  }
  return peers;
}

Check judge_peers(const Situation& situation, const PeerReadings& peers, const NvmlReadings& nvml) {
  const Subject subject{"p2p", "GPU peer access"};
  if (auto none = excuse(subject, situation, peers)) return *none;
  if (!peers.trouble.empty())
    return missing(subject, fmt::format("The process that tried it {}", peers.trouble),
                   "Until it is mended: export SENNIT_PEER=0; see the line on peer bytes");
  const Grouped grouped = group(peers, nvml);
  if (grouped.bad == 0) return works(subject, grouped.text);
  if (grouped.good == 0) return missing(subject, grouped.text, no_access_fix(nvml));
  return degraded(subject, grouped.text, no_access_fix(nvml));
}

Check judge_peer_bytes(const Situation& situation, const PeerReadings& peers, const NvmlReadings& nvml) {
  const Subject subject{"p2p_bytes", "Bytes between GPUs"};
  if (auto none = excuse(subject, situation, peers)) return *none;
  const Labels label(nvml);
  constexpr const char* kFix =
      "export SENNIT_PEER=0 until it is mended: switch the IOMMU to pass-through (iommu=pt on the kernel command "
      "line) "
      "and PCIe ACS off in the BIOS, or in a virtual machine allow P2P";
  if (!peers.trouble.empty()) {
    const std::string where =
        peers.last_tried ? " at " + direction_text(peers, label, peers.last_tried->first, peers.last_tried->second)
                         : std::string();
    return missing(subject, fmt::format("The process that wrote and read them {}{}", peers.trouble, where), kFix);
  }
  int tried = 0;
  std::string wrong, reason;
  for (const DirectionReading& direction : peers.directions) {
    if (!direction.reaches) continue;
    ++tried;
    if (direction.bytes.ok()) continue;
    wrong +=
        fmt::format("{}{}", wrong.empty() ? "" : ", ", direction_text(peers, label, direction.from, direction.to));
    if (reason.empty()) reason = direction.bytes.what();
  }
  if (!wrong.empty()) return missing(subject, fmt::format("Wrong over {}: {}", wrong, reason), kFix);
  if (tried == 0) return not_applicable(subject, "No GPU reaches another");
  return works(subject, fmt::format("1 MiB written, read back and compared over {}", counted(tried, "direction")));
}

}  // namespace sennit::doctor
