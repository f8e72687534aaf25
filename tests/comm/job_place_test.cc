#include "comm/job_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::comm {
namespace {

using testing::HasSubstr;

void expect_place(const Environment& environment, const std::string& launcher, int rank, int size, int local_rank,
                  int local_size) {
  const Result<JobPlace> place = place_from(environment);
  ASSERT_TRUE(place.ok()) << place.status().text();
  EXPECT_EQ(place->launcher, launcher);
  EXPECT_EQ(place->rank, rank);
  EXPECT_EQ(place->size, size);
  EXPECT_EQ(place->local_rank, local_rank);
  EXPECT_EQ(place->local_size, local_size);
}

// As Open MPI 5.0 sets them for rank 1 of 2.
const Environment kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"PMIX_RANK", "1"},
                              {"PMIX_NAMESPACE", "prterun-host-5146@1"}};
// As MPICH 5.0 does; the name of the proxy is added by own_environment().
const Environment kHydra = {{"PMI_RANK", "1"},        {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"},
                            {"MPI_LOCALNRANKS", "2"}, {"PMI_FD", "9"},   {"sennit.hydra", "5146.99"}};
const Environment kSlurm = {{"SLURM_JOB_ID", "17"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_PROCID", "5"},
                            {"SLURM_NTASKS", "8"},
                            {"SLURM_STEP_NUM_TASKS", "6"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_NODEID", "1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "4,2"},
                            {"SENNIT_RENDEZVOUS", "node0:29400"},
                            {"SENNIT_SECRET", "s"}};
const Environment kTorchrun = {{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "3"},
                               {"LOCAL_WORLD_SIZE", "4"},
                               {"MASTER_ADDR", "host"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RUN_ID", "none"}};

Environment joined(Environment a, const Environment& b) {
  a.insert(b.begin(), b.end());
  return a;
}

TEST(JobPlace, AloneWhenNobodySaysOtherwise) {
  expect_place({}, "alone", 0, 1, 0, 1);
  expect_place({{"PATH", "/bin"}, {"RANK", "3"}}, "alone", 0, 1, 0, 1);
}

TEST(JobPlace, KnowsEveryLauncher) {
  expect_place({{"SENNIT_RANK", "1"}, {"SENNIT_SIZE", "2"}, {"SENNIT_RENDEZVOUS", "h:1"}, {"SENNIT_SECRET", "s"}},
               "sennit", 1, 2, 1, 2);
  expect_place(kOpenMpi, "openmpi", 1, 2, 1, 2);
  expect_place(kHydra, "hydra", 1, 2, 1, 2);
  expect_place(kSlurm, "slurm", 5, 6, 1, 2);
  expect_place(kTorchrun, "torchrun", 3, 4, 3, 4);
  expect_place({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}},
               "environment", 1, 2, 1, 2);
}

// mpirun or torchrun within a Slurm job: Slurm's variables are those of their daemon.
TEST(JobPlace, BelievesTheInnermostLauncher) {
  expect_place(joined(kOpenMpi, kSlurm), "openmpi", 1, 2, 1, 2);
  expect_place(joined(kTorchrun, kSlurm), "torchrun", 3, 4, 3, 4);
  expect_place(joined(kHydra, kSlurm), "hydra", 1, 2, 1, 2);
}

TEST(JobPlace, BelievesSlurmWhenSrunSpeaksPmi) {
  expect_place(joined({{"PMI_RANK", "5"}, {"PMI_SIZE", "6"}, {"PMI_FD", "9"}}, kSlurm), "slurm", 5, 6, 1, 2);
  expect_place(joined({{"PMIX_RANK", "5"}, {"PMIX_NAMESPACE", "slurm.pmix.17.0"}}, kSlurm), "slurm", 5, 6, 1, 2);
}

// A batch script has SLURM_PROCID=0 and SLURM_NTASKS=8, yet is one process: it must not wait for seven others.
TEST(JobPlace, IsAloneInABatchScript) {
  expect_place({{"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, "alone", 0, 1, 0, 1);
}

TEST(JobPlace, NamesTheJobTheSameOnAllRanksAndUnlikeOthers) {
  Environment other_rank = kOpenMpi;
  other_rank["OMPI_COMM_WORLD_RANK"] = other_rank["PMIX_RANK"] = "0";
  EXPECT_EQ(place_from(kOpenMpi)->job, place_from(other_rank)->job);
  other_rank["PMIX_NAMESPACE"] = "prterun-host-5147@1";
  EXPECT_NE(place_from(kOpenMpi)->job, place_from(other_rank)->job);
  Environment other_proxy = kHydra;
  other_proxy["sennit.hydra"] = "5147.99";
  EXPECT_NE(place_from(kHydra)->job, place_from(other_proxy)->job);
  Environment restarted = kTorchrun;
  restarted["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_NE(place_from(kTorchrun)->job, place_from(restarted)->job);
}

TEST(JobPlace, LetsTheUserSayWhereToMeet) {
  const Result<JobPlace> place = place_from(joined(kOpenMpi, {{"SENNIT_RENDEZVOUS", "h:1"}, {"SENNIT_SECRET", "s"}}));
  EXPECT_EQ(place->rendezvous, "h:1");
  EXPECT_EQ(place->secret, "s");
}

TEST(JobPlace, NamesTheVariableThatIsWrong) {
  const auto error = [](const Environment& environment) { return place_from(environment).status().text(); };
  EXPECT_THAT(error({{"SENNIT_RANK", "1"}}), HasSubstr("SENNIT_SIZE is not set"));
  EXPECT_THAT(error({{"SENNIT_RANK", "x"}, {"SENNIT_SIZE", "2"}}), HasSubstr("SENNIT_RANK='x'"));
  EXPECT_THAT(error({{"SENNIT_RANK", "-1"}, {"SENNIT_SIZE", "2"}}), HasSubstr("SENNIT_RANK='-1'"));
  EXPECT_THAT(error({{"SENNIT_RANK", "2"}, {"SENNIT_SIZE", "2"}}), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(error({{"SENNIT_RANK", "0"}, {"SENNIT_SIZE", "0"}}), HasSubstr("rank 0 of 0"));
  EXPECT_THAT(error({{"SENNIT_RANK", "0"}, {"SENNIT_SIZE", "2"}}), HasSubstr("SENNIT_RENDEZVOUS"));
  EXPECT_THAT(error({{"PMI_RANK", "0"}}), HasSubstr("PMI_SIZE is not set"));
  EXPECT_THAT(error({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "99999999999"}}),
              HasSubstr("OMPI_COMM_WORLD_SIZE"));
  EXPECT_THAT(error({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("does not say where its ranks meet"));
  EXPECT_THAT(error({{"SENNIT_RANK", "0"}, {"SENNIT_SIZE", "2"}, {"SENNIT_RENDEZVOUS", "h:1"}}),
              HasSubstr("SENNIT_SECRET"));
}

TEST(SlurmTasksOnNode, UnfoldsRepetitions) {
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 0), 4);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 1), 4);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 2), 3);
  EXPECT_EQ(slurm_tasks_on_node("4(x2),3", 3), 0);
  EXPECT_EQ(slurm_tasks_on_node("16", 0), 16);
  for (const char* text : {"", "x", "(x2)", "4(x", ",,", "4(x2"}) EXPECT_GE(slurm_tasks_on_node(text, 1), 0) << text;
}

TEST(OwnEnvironment, HoldsThisProcessesVariables) {
  ::setenv("SENNIT_NODE", "a=b", 1);
  EXPECT_EQ(own_environment()["SENNIT_NODE"], "a=b");
  ::unsetenv("SENNIT_NODE");
  EXPECT_EQ(own_environment().count("SENNIT_NODE"), 0u);
}

}  // namespace
}  // namespace sennit::comm
