#include "doctor/management.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sennit::doctor {

namespace {

using machine::NvlinkRemote;
using machine::NvmlGpu;
using machine::NvmlNvlink;
using machine::NvmlPair;
using machine::NvmlReadings;

Json optional(const std::optional<bool>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<bool> optional(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

Json to_json(const NvmlGpu& gpu) {
  Json links = Json::array();
  for (const NvmlNvlink& link : gpu.nvlinks)
    links.push_back(
        {{"index", link.index}, {"active", link.active}, {"remote", int(link.remote)}, {"pci", link.remote_pci}});
  return {{"name", gpu.name}, {"uuid", gpu.uuid}, {"pci", gpu.pci}, {"fabric", gpu.fabric}, {"nvlinks", links}};
}

NvmlGpu gpu_of(const Json& line) {
  NvmlGpu gpu;
  gpu.name = line.value("name", "");
  gpu.uuid = line.value("uuid", "");
  gpu.pci = line.value("pci", "");
  gpu.fabric = line.value("fabric", false);
  for (const Json& each : line.value("nvlinks", Json::array())) {
    NvmlNvlink link;
    link.index = each.value("index", 0);
    link.active = each.value("active", false);
    link.remote = NvlinkRemote(each.value("remote", int(NvlinkRemote::unknown)));
    link.remote_pci = each.value("pci", "");
    gpu.nvlinks.push_back(std::move(link));
  }
  return gpu;
}

int active(const NvmlGpu& gpu) {
  return int(
      std::count_if(gpu.nvlinks.begin(), gpu.nvlinks.end(), [](const NvmlNvlink& link) { return link.active; }));
}

}  // namespace

void probe_management() {
  const NvmlReadings nvml = machine::read_nvml();
  Json gpus = Json::array(), pairs = Json::array();
  for (const NvmlGpu& gpu : nvml.gpus) gpus.push_back(to_json(gpu));
  for (const NvmlPair& pair : nvml.pairs)
    pairs.push_back({{"one", pair.one},
                     {"other", pair.other},
                     {"nvlink", optional(pair.peer_nvlink)},
                     {"read", optional(pair.peer_read)}});
  tell({{"nvml",
         {{"present", nvml.present},
          {"problem", nvml.problem},
          {"driver", nvml.driver},
          {"cuda", nvml.cuda},
          {"gpus", gpus},
          {"pairs", pairs}}}});
}

NvmlReadings management_readings(const Answer& answer) {
  NvmlReadings nvml;
  const Json* const told = answer.find("nvml");
  if (told == nullptr) {
    nvml.problem = fmt::format("NVML {}", answer.trouble().empty() ? "gave no answer" : answer.trouble());
    return nvml;
  }
  nvml.present = told->value("present", false);
  nvml.problem = told->value("problem", "");
  nvml.driver = told->value("driver", "");
  nvml.cuda = told->value("cuda", "");
  for (const Json& gpu : told->value("gpus", Json::array())) nvml.gpus.push_back(gpu_of(gpu));
  for (const Json& each : told->value("pairs", Json::array())) {
    NvmlPair pair;
    pair.one = each.value("one", 0);
    pair.other = each.value("other", 0);
    pair.peer_nvlink = optional(each, "nvlink");
    pair.peer_read = optional(each, "read");
    nvml.pairs.push_back(pair);
  }
  return nvml;
}

Labels::Labels(const NvmlReadings& nvml) {
  for (const NvmlGpu& gpu : nvml.gpus) numbers_[gpu.pci] = 0;
  int next = 0;
  for (auto& [pci, number] : numbers_) number = next++;
}

std::string Labels::operator()(const std::string& pci) const {
  const auto found = numbers_.find(pci);
  return found != numbers_.end() ? fmt::format("gpu{}", found->second) : fmt::format("GPU at {}", pci);
}

int nvlinks_between(const NvmlReadings& nvml, std::size_t one, std::size_t other) {
  const NvmlGpu& a = nvml.gpus[one];
  const NvmlGpu& b = nvml.gpus[other];
  int direct = 0, switched = 0;
  for (const NvmlNvlink& link : a.nvlinks) {
    if (!link.active) continue;
    if (link.remote_pci == b.pci && !b.pci.empty()) ++direct;
    // The pair's own attribute decides where the other end is hidden (NVSwitches in a virtual machine).
    if (link.remote == NvlinkRemote::nvswitch || (link.remote == NvlinkRemote::unknown && link.remote_pci.empty()))
      ++switched;
  }
  if (direct > 0) return direct;
  for (const NvmlPair& pair : nvml.pairs) {
    const bool this_one = (std::size_t(pair.one) == one && std::size_t(pair.other) == other) ||
                          (std::size_t(pair.one) == other && std::size_t(pair.other) == one);
    if (this_one && pair.peer_nvlink == false) return 0;
  }
  return std::min(switched, active(b));
}

Check judge_management(const Situation& situation, const NvmlReadings& nvml) {
  const Subject subject{"nvml", "NVML"};
  if (!situation.gpus()) return not_applicable(subject, situation.why_no_gpus());
  if (!nvml.present)
    return missing(subject, fmt::format("{}; NVLinks and PCIe links are guessed without it", nvml.problem),
                   "Install the driver's NVML (libnvidia-ml.so.1); in a container: "
                   "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  if (nvml.gpus.empty())
    return degraded(subject, fmt::format("Driver {} lists no GPU that this process may use", nvml.driver),
                    "See nvidia-smi -L; in a container: docker run --gpus all …");
  return works(subject, fmt::format("Driver {}, {}", nvml.driver, counted(long(nvml.gpus.size()), "GPU")));
}

Check judge_nvlinks(const Situation& situation, const NvmlReadings& nvml) {
  const Subject subject{"nvlink", "NVLink"};
  if (!situation.gpus()) return not_applicable(subject, situation.why_no_gpus());
  if (!nvml.present) return not_applicable(subject, "NVML is needed to see NVLinks");
  const Labels label(nvml);
  int most = 0, least = nvml.gpus.empty() ? 0 : active(nvml.gpus.front());
  std::string inactive;
  bool switched = false, fabric = true;
  for (const NvmlGpu& gpu : nvml.gpus) {
    const int up = active(gpu);
    most = std::max(most, up);
    least = std::min(least, up);
    if (up < int(gpu.nvlinks.size()))
      inactive += fmt::format("{}{} {} of {}", inactive.empty() ? "" : ", ", label(gpu.pci),
                              int(gpu.nvlinks.size()) - up, gpu.nvlinks.size());
    for (const NvmlNvlink& link : gpu.nvlinks) switched = switched || link.remote == NvlinkRemote::nvswitch;
    fabric = fabric && gpu.fabric;
  }
  if (most == 0 && inactive.empty()) return not_applicable(subject, "These GPUs have no NVLink; they talk over PCIe");
  if (most == 0)
    return degraded(subject, fmt::format("No NVLink is active ({})", inactive),
                    "With bridges or NVSwitches fitted: sudo systemctl start nvidia-fabricmanager, then nvidia-smi "
                    "nvlink -s; without them there is nothing to mend");
  if (least < most)
    return degraded(
        subject, fmt::format("GPUs differ in active NVLinks; inactive: {}", inactive),
        "nvidia-smi nvlink -e shows errors; reset the GPUs (sudo nvidia-smi -r) or have bridges and cables "
        "checked");
  std::string detail = fmt::format("{} active on each of {}{}", counted(most, "link"),
                                   counted(long(nvml.gpus.size()), "GPU"), switched ? ", to NVSwitches" : "");
  // An equal number of inactive links on every GPU is how the machine is wired (a part of the links not connected).
  if (!inactive.empty()) detail += fmt::format(" (not connected: {})", inactive);
  if (switched && fabric) detail += ", fabric registered";
  return works(subject, detail);
}

}  // namespace sennit::doctor
