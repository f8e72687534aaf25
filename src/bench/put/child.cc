#include "bench/put/child.h"

#include <cstdio>
#include <map>
#include <sstream>

#include <fmt/format.h>

namespace sennit::bench::put {

std::filesystem::path own_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

void print_outcome(const Json& outcome) {
  std::istringstream lines(outcome.dump(0));
  for (std::string line; std::getline(lines, line);) fmt::print("{}{}\n", kOutcomePrefix, line);
  std::fflush(stdout);
}

Result<Child> run_child(comm::Launch job, std::string_view prefix, bool progress) {
  Child child;
  std::map<int, std::string> errors;
  job.output = [&](int rank, std::string_view line, bool error) {
    if (!error) {
      if (rank == 0 && line.starts_with(prefix)) child.document.append(line.substr(prefix.size())).append("\n");
      return;
    }
    if (line.starts_with("{\"error\":")) {
      errors.emplace(rank, line);
      return;
    }
    if (line.starts_with("{\"progress\":") && !progress) return;
    fmt::print(stderr, "{}\n", line);
    std::fflush(stderr);
  };
  auto ended = comm::launch(job);
  if (!ended) return ended.status();
  child.ended = std::move(*ended);
  if (const auto found = errors.find(child.ended.rank); found != errors.end()) child.error = found->second;
  return child;
}

Exit end_as(const Child& child, const std::string& what) {
  const int status = child.ended.status;
  if (!child.error.empty()) {
    fmt::print(stderr, "{}\n", child.error);
    return Exit(status);
  }
  if (child.ended.rank < 0) return Exit(status);  // the user's signal needs no explanation
  (void)fail(Status(Code::peer_lost,
                    fmt::format("rank {} ended with {} {}", child.ended.rank, status > 128 ? "signal" : "status",
                                status > 128 ? status - 128 : status),
                    what, "Look for its last lines above, and in the kernel's log"));
  return Exit::failed;
}

}  // namespace sennit::bench::put
