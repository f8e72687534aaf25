// Ranks started by others: Open MPI, MPICH and Slurm, imitated by their variables, and the real ones where found.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/rendezvous_file.h"
#include "comm/secret.h"
#include "job.h"
#include "places.h"

namespace sennit::comm {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::HasSubstr;

// A runtime folder of its own, in which nothing may remain.
class Launchers : public testing::Test {
 protected:
  const std::string runtime = testing::TempDir() + "sennit-run-" + *random_hex(8);
  void SetUp() override { fs::create_directory(runtime); }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(runtime)) << "left behind in " << runtime;
    fs::remove_all(runtime);
  }

  Job imitate(int ranks, const std::string& scenario,
              const std::function<std::map<std::string, std::string>(std::string)>& of) {
    return run_job(
        ranks, {scenario, "20"},
        [&](int rank) {
          auto all = of(std::to_string(rank));
          all["XDG_RUNTIME_DIR"] = runtime;
          all["SENNIT_TIMEOUT"] = "20";
          return all;
        },
        false);
  }
  void expect_met(int ranks, const std::function<std::map<std::string, std::string>(std::string)>& of) {
    const Job job = imitate(ranks, "meet_often", of);
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(job.line(rank), "met");
    const Job group = imitate(ranks, "nodes", of);
    EXPECT_THAT(group.line(ranks - 1), HasSubstr("leader 0 nodes 1"));
  }
};

std::map<std::string, std::string> open_mpi(const std::string& rank, const std::string& job) {
  return {{"OMPI_COMM_WORLD_RANK", rank},      {"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_LOCAL_RANK", rank},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}, {"PMIX_RANK", rank},           {"PMIX_NAMESPACE", job}};
}

TEST_F(Launchers, OpenMpi) {
  expect_met(3, [](const std::string& rank) { return open_mpi(rank, "prterun-test-1@1"); });
}

TEST_F(Launchers, Mpich) {
  expect_met(3, [](const std::string& rank) -> std::map<std::string, std::string> {
    return {{"PMI_RANK", rank}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", rank}, {"MPI_LOCALNRANKS", "3"}};
  });
}

TEST_F(Launchers, Slurm) {
  expect_met(3, [](const std::string& rank) -> std::map<std::string, std::string> {
    return {{"SLURM_JOB_ID", "17"},        {"SLURM_STEP_ID", "2"},        {"SLURM_PROCID", rank},
            {"SLURM_NTASKS", "3"},         {"SLURM_LOCALID", rank},       {"SLURM_NODEID", "0"},
            {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "3"}};
  });
}

TEST_F(Launchers, Torchrun) {
  expect_met(3, [](const std::string& rank) -> std::map<std::string, std::string> {
    return {{"RANK", rank},          {"WORLD_SIZE", "3"},      {"LOCAL_RANK", rank},        {"LOCAL_WORLD_SIZE", "3"},
            {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "x"}};
  });
}

// Two jobs of three ranks at once, in one folder: each meets its own.
TEST_F(Launchers, TwoJobsAtOnceDoNotMix) {
  const Job both = imitate(6, "meet_often", [](const std::string& rank) {
    const int number = std::stoi(rank);
    return open_mpi(std::to_string(number % 3), fmt::format("prterun-test-{}@1", number / 3));
  });
  for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(both.line(rank), "met");
}

TEST_F(Launchers, SeveralHostsNeedARendezvous) {
  const Job job = imitate(2, "meet_often", [](const std::string& rank) {
    auto all = open_mpi(rank, "prterun-test-9@1");
    all["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
    return all;
  });
  for (const int rank : {0, 1})
    EXPECT_THAT(job.line(rank), testing::AllOf(HasSubstr("unsupported"), HasSubstr("SENNIT_RENDEZVOUS")));
}

// The program at SENNIT_TEST_OPENMPI or SENNIT_TEST_MPICH, or mpirun.openmpi and mpiexec.hydra on PATH.
std::string find_program(const char* variable, const char* name) {
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') return given;
  const char* path = std::getenv("PATH");
  for (std::string rest = path != nullptr ? path : ""; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
    rest.erase(0, colon + 1);
  }
  return {};
}

// Launches a real launcher as the one rank of a job and returns the lines that its ranks printed.
std::vector<std::string> under(std::vector<std::string> command, const std::string& runtime,
                               const std::string& scenario) {
  std::vector<std::string> lines;
  Launch job;
  job.announce = false;
  job.command = std::move(command);
  for (const std::string& word : {places::built("rank"), scenario, std::string("20")}) job.command.push_back(word);
  job.environment = [&](int) {
    auto all = no_launcher();
    all["XDG_RUNTIME_DIR"] = runtime;
    return all;
  };
  job.output = [&](int, std::string_view line, bool) { lines.emplace_back(line); };
  const auto ended = launch(job);
  EXPECT_TRUE(ended.ok()) << ended.status().text();
  EXPECT_EQ(ended.ok() ? ended->status : -1, 0) << job.command[0];
  return lines;
}

TEST_F(Launchers, RealOpenMpi) {
  const std::string mpirun = find_program("SENNIT_TEST_OPENMPI", "mpirun.openmpi");
  if (mpirun.empty()) GTEST_SKIP() << "no Open MPI: set SENNIT_TEST_OPENMPI to its mpirun, or install openmpi-bin";
  std::vector<std::string> command = {mpirun, "--oversubscribe", "-n", "3"};
  if (::getuid() == 0) command.insert(command.begin() + 1, "--allow-run-as-root");
  // Local ranks follow the mapping to cores, not the global order.
  EXPECT_THAT(under(command, runtime, "place"),
              testing::UnorderedElementsAre(testing::MatchesRegex("openmpi rank 0/3 local [012]/3"),
                                            testing::MatchesRegex("openmpi rank 1/3 local [012]/3"),
                                            testing::MatchesRegex("openmpi rank 2/3 local [012]/3")));
  EXPECT_THAT(under(command, runtime, "meet_often"), testing::ElementsAre("met", "met", "met"));
}

TEST_F(Launchers, RealMpich) {
  const std::string mpiexec = find_program("SENNIT_TEST_MPICH", "mpiexec.hydra");
  if (mpiexec.empty()) GTEST_SKIP() << "no MPICH: set SENNIT_TEST_MPICH to its mpiexec, or install mpich";
  const std::vector<std::string> command = {mpiexec, "-n", "3"};
  EXPECT_THAT(under(command, runtime, "place"),
              testing::UnorderedElementsAre("hydra rank 0/3 local 0/3", "hydra rank 1/3 local 1/3",
                                            "hydra rank 2/3 local 2/3"));
  EXPECT_THAT(under(command, runtime, "meet_often"), testing::ElementsAre("met", "met", "met"));
  // A wrapper script between launcher and program: the parent is no longer the proxy.
  std::vector<std::string> wrapped = command;
  for (const char* word : {"sh", "-c", "\"$0\" \"$@\"; true"}) wrapped.emplace_back(word);
  EXPECT_THAT(under(wrapped, runtime, "meet_often"), testing::ElementsAre("met", "met", "met"));
}

}  // namespace
}  // namespace sennit::comm
