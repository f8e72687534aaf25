// One rank of a test job: a scenario by name. What it prints, one fact a line, is what tests look at.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "comm/group.h"

namespace sennit::comm {

struct Scenario {
  const char* name;
  int (*run)(const std::vector<std::string>& arguments);
};

std::vector<Scenario> meet_scenarios();
std::vector<Scenario> group_scenarios();

/// Prints a whole line at once.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}\n", fmt::format(format, std::forward<Args>(args)...));
  std::fflush(stdout);
}

/// Prints the error and ends the process with 1.
[[noreturn]] void give_up(const Status& status);

/// The exchange, or the group over it, that the environment describes; gives up when there is none.
std::unique_ptr<Exchange> meet();
std::unique_ptr<Group> form();

}  // namespace sennit::comm
