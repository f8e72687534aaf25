// Finds the libraries of the field that are installed here: MPI, NCCL, UCX. They are found by name in the usual
// places, then opened in a process of their own, which asks for their version.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/ask.h"

namespace sennit::doctor {

/// Says where libraries and programs may be.
struct Places {
  std::filesystem::path root = "/";
  std::vector<std::filesystem::path> path;          ///< PATH
  std::vector<std::filesystem::path> library_path;  ///< LD_LIBRARY_PATH
  std::vector<std::filesystem::path> environments;  ///< Python environments: the active one, and sennit's own
};
Places read_places();

/// Lists the folders to look for libraries in, in the order a program would find them: LD_LIBRARY_PATH, Python
/// environments, lib and lib64 beside each folder of PATH, the system's.
std::vector<std::filesystem::path> library_folders(const Places& places);
/// Returns the site-packages folders of the Python environments and of the prefixes on PATH.
std::vector<std::filesystem::path> package_folders(const Places& places);
/// Finds the first program called `name` on PATH or in the environments' bin; empty when there is none.
std::filesystem::path find_program(const Places& places, const std::string& name);
/// Finds files called one of `names` in `folders`; a file reached by several names or links comes once.
std::vector<std::filesystem::path> find_libraries(const std::vector<std::filesystem::path>& folders,
                                                  const std::vector<std::string>& names);

/// Returns the part of MPI_Get_library_version's text that names the library and its version, on one line.
std::string mpi_version(std::string_view told);

enum class LibraryKind { mpi, nccl, ucx };

struct LibraryReading {
  std::string asked;    ///< file or plain name
  std::string path;     ///< of what was opened, links resolved; empty when it was not
  std::string version;  ///< as the library says: "2.28.9", "Open MPI v5.0.11"
  std::string problem;  ///< why it could not be opened or asked; empty when it answered
};

/// Opens `file` and tells its version; runs in a process of its own.
void probe_library(const std::string& kind, const std::string& file);
Question library_question(LibraryKind kind, const std::string& file);
LibraryReading library_reading(const std::string& asked, const Answer& answer);

}  // namespace sennit::doctor
