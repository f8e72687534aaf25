#include "bench/measure/on_node.h"

#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/processors.h"

namespace sennit::bench::measure {

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
