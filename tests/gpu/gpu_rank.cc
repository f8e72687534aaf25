// One rank of a test job on GPUs: gpu_rank SCENARIO [ARGUMENTS].
#include <algorithm>
#include <string_view>

#include "scenarios.h"

int main(int argc, char** argv) {
  using namespace sennit;
  const capi::Arguments arguments(argv + std::min(argc, 2), argv + argc);
  for (const auto& scenarios :
       {gpu::scenarios(), gpu::collective_scenarios(), gpu::graph_scenarios(), gpu::partitioned_scenarios()})
    for (const capi::Scenario& scenario : scenarios)
      if (argc > 1 && scenario.name == std::string_view(argv[1])) return scenario.run(arguments);
  fmt::print(stderr, "gpu_rank: no scenario '{}'\n", argc > 1 ? argv[1] : "");
  return 2;
}
