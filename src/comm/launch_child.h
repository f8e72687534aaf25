// Holds one rank's process, as the launcher sees it.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace sennit::comm {

/// Signals that end a job when the launcher gets them, and whose disposition ranks find as it is by default.
inline constexpr std::array kJobSignals = {SIGINT, SIGTERM, SIGHUP};

/// Holds what a child prints, read without blocking; `pending` is a line not yet ended.
struct Stream {
  UniqueFd fd;
  std::string pending;
  bool error = false;
};

struct Child {
  pid_t pid = 0;
  bool running = false;
  std::array<Stream, 2> streams;
};

/// Starts command[0], found on PATH, with exactly `environment` ("NAME=value"). It leads its own process group, is
/// killed when the thread that started it ends, and reads nothing. Errors: not_found, system_error.
Result<Child> start_child(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace sennit::comm
