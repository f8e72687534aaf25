// Jobs of capi_rank on the host executor, as tests of the C API run them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job.h"

namespace sennit::capi {

/// Splits every message of at least some KiB between the direct path and the host, by kernels.
inline constexpr const char* kBothPaths = "direct=0.6,host0 (sm)=0.4";

/// Runs a scenario of capi_rank; `more` overrides and adds variables.
inline comm::Job run_ranks(int ranks, std::vector<std::string> scenario, std::map<std::string, std::string> more = {},
                           const comm::Variables& of_rank = {}, std::vector<std::string> under = {}) {
  const auto variables = [&](int rank) {
    // No variable or measured machine of whoever runs the tests may decide.
    std::map<std::string, std::string> all = {{"SENNIT_EXECUTOR", "host"}, {"SENNIT_MACHINE", ""},
                                              {"SENNIT_SPLIT", ""},        {"SENNIT_CACHE", "/nonexistent/sennit"},
                                              {"SENNIT_IPC", ""},          {"SENNIT_NODE", ""},
                                              {"SENNIT_TIMEOUT", "20"}};
    for (const auto& [name, value] : more) all[name] = value;
    if (of_rank)
      for (const auto& [name, value] : of_rank(rank)) all[name] = value;
    return all;
  };
  return comm::run_job(ranks, std::move(scenario), variables, true, std::move(under));
}

}  // namespace sennit::capi
