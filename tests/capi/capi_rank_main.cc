// capi_rank SCENARIO [ARGUMENTS]: one rank of a test job.
#include <algorithm>
#include <string_view>

#include "capi_rank.h"

int main(int argc, char** argv) {
  using namespace sennit::capi;
  const Arguments arguments(argv + std::min(argc, 2), argv + argc);
  for (const auto& scenarios :
       {transfer_scenarios(), fault_scenarios(), life_scenarios(), collective_scenarios(), partitioned_scenarios()})
    for (const Scenario& scenario : scenarios)
      if (argc > 1 && scenario.name == std::string_view(argv[1])) return scenario.run(arguments);
  fmt::print(stderr, "capi_rank: no scenario '{}'\n", argc > 1 ? argv[1] : "");
  return 2;
}
