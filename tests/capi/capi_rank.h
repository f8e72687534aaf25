// One rank of a test job: a scenario by name, over the C API alone. What it prints, one fact a line, is what tests
// look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sennit/sennit.h"

namespace sennit::capi {

using Arguments = std::vector<std::string>;

struct Scenario {
  const char* name;
  int (*run)(const Arguments& arguments);
};

std::vector<Scenario> transfer_scenarios();
std::vector<Scenario> fault_scenarios();
std::vector<Scenario> life_scenarios();
std::vector<Scenario> collective_scenarios();
std::vector<Scenario> partitioned_scenarios();

/// Prints a whole line at once.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}\n", fmt::format(format, std::forward<Args>(args)...));
  std::fflush(stdout);
}

/// Prints the error and ends the process with 1, unless it is SENNIT_OK.
void must(sennit_result result);

/// "invalid_argument: …" or "ok": the outcome of a call that may fail.
std::string outcome(sennit_result result);

sennit_comm* create(double timeout_seconds = 0);

/// Memory of the rank's device, registered; freed with the communicator.
struct Inbox {
  std::byte* data = nullptr;
  sennit_window* window = nullptr;
};
Inbox make_inbox(sennit_comm* comm, std::uint64_t bytes);

/// Byte `i` of message `number`.
inline std::byte pattern(std::uint64_t number, std::uint64_t i) {
  return std::byte((i * 11 + i / 1013 + number * 37) & 0xFF);
}
void fill(std::byte* data, std::uint64_t bytes, std::uint64_t number);
/// Index of the first byte that differs from the pattern; `bytes` when none does.
std::uint64_t first_wrong(const std::byte* data, std::uint64_t bytes, std::uint64_t number);

/// Requests for the host path so far, of this process and to it.
std::uint64_t messages_by_courier();

}  // namespace sennit::capi
