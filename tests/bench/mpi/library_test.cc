#include "bench/mpi/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

using shim::mpi::Flavour;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

TEST(MpiLibrary, TheNameTellsTheAbi) {
  EXPECT_EQ(flavour_of("/opt/lib/libmpi.so.40.40.7"), Flavour::openmpi);
  EXPECT_EQ(flavour_of("libmpi.so.12"), Flavour::mpich);
  EXPECT_EQ(flavour_of("/lib/libmpi_abi.so.1"), Flavour::standard);
  EXPECT_FALSE(flavour_of("/lib/libmpi.so.120"));
  EXPECT_FALSE(flavour_of("libm.so.6"));
}

TEST(MpiLibrary, ItsNameSaysNothingOfItsFolders) {
  EXPECT_EQ(OpenLibrary({nullptr, Flavour::openmpi, "/home/somebody/lib/libmpi.so.40"}).name(), "libmpi.so.40");
  EXPECT_EQ(OpenLibrary({nullptr, Flavour::mpich, "libmpi.so.12"}).name(), "libmpi.so.12");
}

TEST(MpiLibrary, ALaunchersOwnComesFirst) {
  const auto found = candidates("openmpi", "/opt/mpi/bin/prterun");
  EXPECT_EQ(found, (std::vector<std::string>{"/opt/mpi/lib/libmpi.so.40", "libmpi.so.40"}));
  EXPECT_THAT(candidates("hydra", "/opt/mpi/bin/hydra_pmi_proxy"),
              testing::AllOf(Contains("/opt/mpi/lib/libmpi.so.12"), Each(Not(HasSubstr("so.40")))));
  EXPECT_THAT(candidates("slurm", ""), testing::AllOf(Contains("libmpi.so.40"), Contains("libmpi.so.12")));
}

TEST(MpiLibrary, ALauncherMayTellNoMoreThanTheRank) {
  const auto place = place_of({{"PMIX_RANK", "3"}, {"PMIX_NAMESPACE", "prterun-host-1@1"}});
  EXPECT_EQ(place.launcher, "openmpi");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.local_rank, 3);
  EXPECT_EQ(place_of({{"PMI_RANK", "5"}, {"MPI_LOCALRANKID", "1"}}).local_rank, 1);
  EXPECT_EQ(place_of({}).launcher, "alone");
}

TEST(MpiLibrary, WhatIsNoMpiIsRefused) {
  const auto other = open_library("libm.so.6", "alone");
  EXPECT_EQ(other.status().code(), Code::invalid_argument);
  EXPECT_THAT(other.status().text(), HasSubstr("libm.so.6 is no MPI"));
  EXPECT_THAT(open_library("/nonexistent/libmpi.so.40", "alone").status().text(), HasSubstr("--library"));
}

}  // namespace
}  // namespace sennit::bench::mpi
