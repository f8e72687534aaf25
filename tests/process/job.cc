#include "job.h"

#include <chrono>
#include <numeric>

#include <gtest/gtest.h>

#include "places.h"

namespace sennit::comm {

std::string Job::line(int rank) const {
  const auto& printed = lines.at(std::size_t(rank));
  if (printed.size() == 1) return printed.front();
  return std::accumulate(printed.begin(), printed.end(), std::to_string(printed.size()) + " lines:",
                         [](std::string all, const std::string& one) { return std::move(all) + " / " + one; });
}

std::map<std::string, std::string> no_launcher() {
  std::map<std::string, std::string> none;
  for (const char* name :
       {"SENNIT_RANK", "SENNIT_SIZE", "SENNIT_RENDEZVOUS", "SENNIT_SECRET", "SENNIT_NODE", "SENNIT_TIMEOUT", "RANK",
        "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_STEP_ID", "SLURM_PROCID"})
    none[name] = "";
  return none;
}

Job run_job(int ranks, std::vector<std::string> scenario, const Variables& variables, bool announce,
            std::vector<std::string> under) {
  Job job;
  job.lines.resize(std::size_t(ranks));
  Launch launch_job;
  launch_job.ranks = ranks;
  launch_job.command = std::move(under);
  launch_job.command.emplace_back(places::built("rank"));
  launch_job.command.insert(launch_job.command.end(), scenario.begin(), scenario.end());
  launch_job.announce = announce;
  launch_job.stop_on_failure = false;
  launch_job.environment = [&](int rank) {
    auto all = announce ? std::map<std::string, std::string>{} : no_launcher();
    if (variables)
      for (const auto& [name, value] : variables(rank)) all[name] = value;
    return all;
  };
  launch_job.output = [&](int rank, std::string_view line, bool) { job.lines[std::size_t(rank)].emplace_back(line); };
  const auto start = std::chrono::steady_clock::now();
  Result<Ended> ended = launch(launch_job);
  job.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_TRUE(ended.ok()) << ended.status().text();
  if (ended.ok()) job.ended = *ended;
  return job;
}

}  // namespace sennit::comm
