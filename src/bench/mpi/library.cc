#include "bench/mpi/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sennit::bench::mpi {

namespace {

using shim::mpi::Flavour;

/// Lists the names that the preloaded library knows (src/shim/front/front.c).
constexpr std::array<std::pair<std::string_view, Flavour>, 5> kKnown = {{{"libmpi.so.40", Flavour::openmpi},
                                                                         {"libmpi.so.12", Flavour::mpich},
                                                                         {"libmpich.so.12", Flavour::mpich},
                                                                         {"libmpi_abi.so.1", Flavour::standard},
                                                                         {"libmpi_abi.so.0", Flavour::standard}}};

}  // namespace

std::optional<Flavour> flavour_of(std::string_view file) {
  const std::string_view base = file.substr(file.rfind('/') + 1);
  for (const auto& [soname, flavour] : kKnown)
    if (base.starts_with(soname) && (base.size() == soname.size() || base[soname.size()] == '.')) return flavour;
  return std::nullopt;
}

std::string short_version(std::string_view text) {
  std::string version;
  for (const char c : text.substr(0, text.find_first_of(",\n"))) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank || (!version.empty() && version.back() != ' ')) version += blank ? ' ' : c;
  }
  return version;
}

std::vector<std::string> candidates(std::string_view launcher, const std::filesystem::path& its_program) {
  std::vector<std::string> found;
  for (const bool beside : {true, false})
    for (const auto& [soname, flavour] : kKnown) {
      if (launcher == "openmpi" && flavour != Flavour::openmpi) continue;
      if (launcher == "hydra" && flavour == Flavour::openmpi) continue;
      if (!beside)
        found.emplace_back(soname);
      else if (!its_program.empty())
        found.push_back((its_program.parent_path().parent_path() / "lib" / soname).string());
    }
  return found;
}

comm::JobPlace place_of(const comm::Environment& environment) {
  if (auto place = comm::place_from(environment)) return *place;
  comm::JobPlace place;
  for (const auto& [launcher, rank, local] : {std::tuple("openmpi", "PMIX_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
                                              std::tuple("hydra", "PMI_RANK", "MPI_LOCALRANKID")}) {
    const auto found = environment.find(rank);
    if (found == environment.end()) continue;
    const auto here = environment.find(local);
    place.launcher = launcher;
    place.rank = std::atoi(found->second.c_str());
    place.local_rank = here != environment.end() ? std::atoi(here->second.c_str()) : place.rank;
    break;
  }
  return place;
}

Result<OpenLibrary> open_library(const std::string& named, std::string_view launcher) {
  std::error_code ignored;
  const auto parent = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", ::getppid()), ignored);
  const auto files = named.empty() ? candidates(launcher, parent) : std::vector<std::string>{named};
  std::string why;
  for (const std::string& file : files) {
    // The library is loaded for all to see: its own plug-ins look for its symbols, and so does what is preloaded.
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      why = dlerror();
      continue;
    }
    // libmpi.so may be a link to any of them.
    Dl_info info{};
    void* const symbol = dlsym(handle, "PMPI_Init");
    if (symbol != nullptr && dladdr(symbol, &info) != 0) {
      const auto real = std::filesystem::canonical(info.dli_fname, ignored);
      auto flavour = flavour_of(real.string());
      if (!flavour) flavour = flavour_of(info.dli_fname);
      if (flavour) return OpenLibrary{handle, *flavour, info.dli_fname};
    }
    why = fmt::format("{} is no MPI whose ABI is known", file);
  }
  if (!named.empty())
    return Status(Code::invalid_argument, why, "--library",
                  "Name Open MPI's libmpi.so.40, MPICH's libmpi.so.12 or libmpi_abi.so.1");
  return Status(Code::unsupported, fmt::format("no MPI was found as any of {}", fmt::join(files, ", ")), {},
                "Name its library with --library FILE");
}

}  // namespace sennit::bench::mpi
