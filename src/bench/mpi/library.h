// Finds and opens at run time the MPI that the program measures, so that one program serves every MPI.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "comm/job_place.h"
#include "shim/mpi/abi/abi.h"

namespace sennit::bench::mpi {

struct OpenLibrary {
  void* handle = nullptr;  ///< as dlopen() names it; stays open
  shim::mpi::Flavour flavour = shim::mpi::Flavour::standard;
  std::string file;

  /// Returns the library's name for a result: the folder that it lies in is this machine's own.
  std::string name() const { return std::filesystem::path(file).filename().string(); }
};

/// "Open MPI v5.0.11" or "MPICH Version: 5.0.2", of what MPI says of itself: what follows says how it was built.
std::string short_version(std::string_view text);

/// Returns the ABI that a library's file name tells.
std::optional<shim::mpi::Flavour> flavour_of(std::string_view file);

/// Lists the files that the MPI of a launcher may be, best first: in the folder lib beside the launcher's own, and
/// where the loader looks. `launcher`: as comm::JobPlace has it; `its_program`: of the process that started this one.
std::vector<std::string> candidates(std::string_view launcher, const std::filesystem::path& its_program);

/// Returns this process's place as far as the launcher says it: a launcher may say no more of two processes on a host
/// than their ranks (prterun). MPI itself says the rest, once it has started.
comm::JobPlace place_of(const comm::Environment& environment);

/// `named`: what --library says, or empty. Errors: unsupported says where it was looked for.
Result<OpenLibrary> open_library(const std::string& named, std::string_view launcher);

}  // namespace sennit::bench::mpi
