#include "bench/sim/paper.h"

#include <algorithm>

#include "machine/known.h"
#include "sim/papers/study.h"

namespace sennit::bench {

Result<Exit> reproduce_paper(const std::string& name) {
  if (const auto names = sim::studies(); std::ranges::find(names, name) == names.end())
    return of_arguments(sim::study(name, {}).status());
  const auto known = machine::known_machine(name, "");
  if (!known) return of_arguments(known.status());
  const auto study = sim::study(name, known->machine);
  if (!study) return of_arguments(study.status());
  Json fitted = Json::array(), numbers = Json::array(), claims = Json::array(), left_out = Json::array(),
       designs = Json::array();
  for (const sim::Fitted& each : study->fitted)
    fitted.push_back({{"name", each.name}, {"value", each.value}, {"unit", each.unit}, {"from", each.from}});
  for (const sim::Number& each : study->numbers)
    numbers.push_back({{"figure", each.figure},
                       {"what", each.what},
                       {"unit", each.unit},
                       {"paper", each.paper},
                       {"ours", each.ours},
                       {"within", each.within()},
                       {"why", each.why},
                       {"fitted", each.fitted},
                       {"chosen", each.chosen}});
  for (const sim::Claim& each : study->claims)
    claims.push_back({{"figure", each.figure},
                      {"what", each.what},
                      {"holds", each.holds},
                      {"ours", each.ours},
                      {"why", each.holds ? std::string() : each.why}});
  for (const sim::LeftOut& each : study->left_out)
    left_out.push_back({{"figure", each.figure}, {"what", each.what}, {"why", each.why}});
  for (const sim::Design& each : study->designs) designs.push_back({{"name", each.name}, {"us", each.us}});
  Json series = Json::array();
  for (const sim::Series& each : study->series)
    series.push_back({{"figure", each.figure},
                      {"name", each.name},
                      {"unit", each.unit},
                      {"over", each.over},
                      {"points", each.points}});
  print({{"version", 1},
         {"kind", "sim paper"},
         {"machine", study->machine},
         {"papers", study->papers},
         {"fitted", std::move(fitted)},
         {"numbers", std::move(numbers)},
         {"claims", std::move(claims)},
         {"left_out", std::move(left_out)},
         {"designs", std::move(designs)},
         {"series", std::move(series)}});
  return Exit::ok;
}

}  // namespace sennit::bench
