#include "bench/measure/on_node.h"

#include <charconv>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace sennit::bench::measure {

std::vector<int> parse_processors(std::string_view list) {
  std::vector<int> found;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view part = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    int first = 0, last = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc{}) continue;
    last = first;
    if (rest != end && *rest == '-' && std::from_chars(rest + 1, end, last).ec != std::errc{}) continue;
    for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu)
      if (cpu >= 0) found.push_back(cpu);
  }
  return found;
}

OnNode::OnNode(int node) {
  if (node < 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  std::ifstream file(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
  std::string list;
  std::getline(file, list);
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : parse_processors(list))
    if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &wanted);
  bound_ = CPU_COUNT(&wanted) > 0 && sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

OnNode::~OnNode() {
  if (bound_) (void)sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace sennit::bench::measure
