// Checks the libraries sennit works with: which MPI (and which ABI), NCCL, UCX, and the CUDA toolkit.
#pragma once

#include <string>
#include <vector>

#include "doctor/check.h"
#include "doctor/libraries.h"
#include "doctor/situation.h"

namespace sennit::doctor {

inline const std::vector<std::string> kMpiNames = {"libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1",
                                                   "libmpi_abi.so.0", "libmpi_abi.so"};

/// "Open MPI's ABI", "MPICH's ABI", "the MPI-5 standard ABI", by file name; "an unknown ABI" for others.
std::string mpi_abi(const std::string& file);

/// `launcher`: mpirun or mpiexec on PATH; empty when there is none. Libraries asked for by plain name that are not
/// there are no finding; a file that is there and does not open is.
Check judge_mpi(const std::vector<LibraryReading>& libraries, const std::string& launcher);
Check judge_nccl(const Situation& situation, const std::vector<LibraryReading>& libraries);
/// `tool`: ucx_perftest; empty when there is none.
Check judge_ucx(const std::vector<LibraryReading>& libraries, const std::string& tool);
/// `nvcc`: its path, empty when there is none; `said`: what nvcc --version printed.
Check judge_toolkit(const Situation& situation, const std::string& nvcc, const std::string& said);

}  // namespace sennit::doctor
