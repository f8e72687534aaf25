#include "rank_program.h"

#include <cstdio>
#include <cstdlib>

#include "comm/bootstrap.h"

namespace sennit::comm {

void give_up(const Status& status) {
  say("error {}", status.text());
  // Without destructors, as a program does that prints an error and calls exit().
  std::_Exit(1);
}

std::unique_ptr<Exchange> meet() {
  Result<JobPlace> place = place_from_environment();
  if (!place) give_up(place.status());
  Result<std::unique_ptr<Exchange>> exchange = meet_over_tcp(*place);
  if (!exchange) give_up(exchange.status());
  return std::move(*exchange);
}

std::unique_ptr<Group> form() {
  Result<std::unique_ptr<Group>> group = Group::create(meet());
  if (!group) give_up(group.status());
  return std::move(*group);
}

}  // namespace sennit::comm

int main(int argc, char** argv) {
  using namespace sennit::comm;
  const std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
  for (const auto& scenarios : {meet_scenarios(), group_scenarios()})
    for (const Scenario& scenario : scenarios)
      if (argc > 1 && scenario.name == std::string_view(argv[1])) return scenario.run(arguments);
  fmt::print(stderr, "rank_program: no scenario '{}'\n", argc > 1 ? argv[1] : "");
  return 2;
}
