#include "doctor/binding.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "base/processors.h"
#include "doctor/text_file.h"

namespace sennit::doctor {

namespace {

namespace fs = std::filesystem;

bool meet(const std::set<int>& one, const std::set<int>& other) {
  return std::any_of(one.begin(), one.end(), [&](int processor) { return other.count(processor) != 0; });
}

}  // namespace

BindingReadings read_binding(const std::set<std::string>& gpus, const fs::path& root) {
  BindingReadings readings;
  const std::vector<int> allowed = allowed_processors();
  readings.allowed = {allowed.begin(), allowed.end()};
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "sys/devices/system/node", ignored)) {
    const std::string folder = entry.path().filename().string();
    if (!folder.starts_with("node")) continue;
    const std::set<int> number = parse_list(folder.substr(4));
    const std::set<int> processors = parse_list(read_text(entry.path() / "cpulist").value_or(""));
    if (number.size() == 1 && !processors.empty()) readings.nodes[*number.begin()] = processors;
  }
  for (const std::string& pci : gpus)
    readings.gpu_nodes[pci] = int(read_number(root / "sys/bus/pci/devices" / pci / "numa_node").value_or(-1));
  return readings;
}

Check judge_binding(const Situation& situation, const BindingReadings& readings, const Labels& label) {
  const Subject subject{"numa", "NUMA binding"};
  const std::string on = fmt::format("may run on processors {}", list_text(readings.allowed));
  if (readings.allowed.empty()) return not_applicable(subject, "The kernel does not say where this process may run");
  if (readings.nodes.size() <= 1) return works(subject, fmt::format("One NUMA node; this process {}", on));
  std::set<int> own;
  for (const auto& [node, processors] : readings.nodes)
    if (meet(processors, readings.allowed)) own.insert(node);
  const std::string nodes = fmt::format("{} of {} NUMA nodes", own.size(), readings.nodes.size());
  if (!situation.gpus() || readings.gpu_nodes.empty())
    return works(subject, fmt::format("This process {}, on {}", on, nodes));
  std::string near, far;
  int far_node = -1;
  for (const auto& [pci, node] : readings.gpu_nodes) {
    if (node < 0 || readings.nodes.count(node) == 0) continue;
    std::string& list = own.count(node) != 0 ? near : far;
    list += fmt::format("{}{} (node {})", list.empty() ? "" : ", ", label(pci), node);
    if (own.count(node) == 0 && far_node < 0) far_node = node;
  }
  if (near.empty() && far.empty()) return works(subject, "The kernel does not say which NUMA node the GPUs are on");
  if (far.empty()) return works(subject, fmt::format("This process {}, which reach every GPU's node", on));
  const std::string fix = fmt::format(
      "numactl --cpunodebind={0} --membind={0} … (or mpirun --bind-to none, srun --cpu-bind=none)", far_node);
  if (near.empty())
    return degraded(subject, fmt::format("This process {}, far from every GPU it sees: {}", on, far), fix);
  return works(subject, fmt::format("This process {}, near {}; bind ranks that use {} elsewhere", on, near, far));
}

}  // namespace sennit::doctor
