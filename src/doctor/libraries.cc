#include "doctor/libraries.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "machine/validate.h"

namespace sennit::doctor {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> split(const char* list) {
  std::vector<fs::path> parts;
  std::istringstream stream(list != nullptr ? list : "");
  for (std::string part; std::getline(stream, part, ':');)
    if (!part.empty()) parts.emplace_back(part);
  return parts;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void add(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored) && std::find(folders.begin(), folders.end(), folder) == folders.end())
    folders.push_back(folder);
}

/// lib/pythonX.Y/site-packages below a prefix.
void add_packages(std::vector<fs::path>& folders, const fs::path& prefix) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(prefix / "lib", ignored))
    if (entry.path().filename().string().starts_with("python")) {
      add(folders, entry.path() / "site-packages");
      add(folders, entry.path() / "dist-packages");
    }
}

/// Returns the Python environment that this program was installed into, or that lies beside the tree it was built in.
std::vector<fs::path> own_environments() {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
       !failed && folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_file(folder / "pyvenv.cfg")) found.push_back(folder);
    if (is_file(folder / ".venv/pyvenv.cfg")) found.push_back(folder / ".venv");
  }
  return found;
}

std::string symbol_of(LibraryKind kind) {
  switch (kind) {
    case LibraryKind::mpi: return "MPI_Get_library_version";
    case LibraryKind::nccl: return "ncclGetVersion";
    case LibraryKind::ucx: return "ucp_get_version_string";
  }
  return {};
}

std::string name_of(LibraryKind kind) {
  return kind == LibraryKind::mpi ? "mpi" : kind == LibraryKind::nccl ? "nccl" : "ucx";
}

/// Calls the version function; each of them may be called before the library is initialised.
std::string ask_version(LibraryKind kind, void* function) {
  if (kind == LibraryKind::mpi) {
    std::vector<char> text(16 << 10);  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most
    int length = 0;
    reinterpret_cast<int (*)(char*, int*)>(function)(text.data(), &length);
    return mpi_version(text.data());
  }
  if (kind == LibraryKind::ucx) return machine::printable(reinterpret_cast<const char* (*)()>(function)());
  int number = 0;
  reinterpret_cast<int (*)(int*)>(function)(&number);
  // 2.8 and older counted in hundreds: 2804 is 2.8.4; 22809 is 2.28.9.
  const int scale = number < 10000 ? 1000 : 10000;
  return fmt::format("{}.{}.{}", number / scale, number % scale / 100, number % 100);
}

}  // namespace

std::string mpi_version(std::string_view told) {
  // Open MPI puts everything into one line with commas, MPICH one thing on each line, its columns filled up.
  std::istringstream words{std::string(told.substr(0, told.find_first_of(",\n\r")))};
  std::string text;
  for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
  return machine::printable(text);
}

Places read_places() {
  Places places;
  places.path = split(std::getenv("PATH"));
  places.library_path = split(std::getenv("LD_LIBRARY_PATH"));
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* const folder = std::getenv(variable); folder != nullptr && *folder != '\0')
      places.environments.emplace_back(folder);
  for (const fs::path& own : own_environments()) places.environments.push_back(own);
  return places;
}

std::vector<fs::path> library_folders(const Places& places) {
  std::vector<fs::path> folders;
  for (const fs::path& folder : places.library_path) add(folders, folder);
  for (const fs::path& prefix : places.environments) add(folders, prefix / "lib");
  for (const fs::path& folder : places.path)
    for (const char* beside : {"lib", "lib64"}) add(folders, folder.parent_path() / beside);
  for (const char* folder : {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib/powerpc64le-linux-gnu",
                             "usr/lib64", "usr/lib64/openmpi/lib", "usr/lib64/mpich/lib", "usr/local/lib", "usr/lib",
                             "opt/openmpi/lib", "opt/amazon/openmpi/lib64", "opt/hpcx/ompi/lib", "opt/mpich/lib"})
    add(folders, places.root / folder);
  return folders;
}

std::vector<fs::path> package_folders(const Places& places) {
  std::vector<fs::path> folders;
  for (const fs::path& prefix : places.environments) add_packages(folders, prefix);
  for (const fs::path& folder : places.path) add_packages(folders, folder.parent_path());
  return folders;
}

fs::path find_program(const Places& places, const std::string& name) {
  std::vector<fs::path> folders = places.path;
  for (const fs::path& prefix : places.environments) folders.push_back(prefix / "bin");
  for (const fs::path& folder : folders)
    if (is_file(folder / name) && access((folder / name).c_str(), X_OK) == 0) return folder / name;
  return {};
}

std::vector<fs::path> find_libraries(const std::vector<fs::path>& folders, const std::vector<std::string>& names) {
  std::vector<fs::path> found;
  std::set<fs::path> known;
  for (const fs::path& folder : folders)
    for (const std::string& name : names) {
      std::error_code failed;
      const fs::path real = fs::canonical(folder / name, failed);
      if (!failed && is_file(real) && known.insert(real).second) found.push_back(folder / name);
    }
  return found;
}

void probe_library(const std::string& kind, const std::string& file) {
  const LibraryKind which = kind == "mpi" ? LibraryKind::mpi : kind == "nccl" ? LibraryKind::nccl : LibraryKind::ucx;
  // Global, because Open MPI's own parts look for its symbols.
  void* const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return tell({{"problem", machine::printable(reason != nullptr ? reason : "unknown error")}});
  }
  void* const function = dlsym(library, symbol_of(which).c_str());
  if (function == nullptr) return tell({{"problem", fmt::format("it has no {}", symbol_of(which))}});
  Dl_info info{};
  std::error_code failed;
  fs::path path = dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : file.c_str();
  if (const fs::path real = fs::canonical(path, failed); !failed) path = real;
  tell({{"path", machine::printable(path.string())}, {"version", ask_version(which, function)}});
}

Question library_question(LibraryKind kind, const std::string& file) {
  Question question;
  question.arguments = {"--probe", "library", name_of(kind), file};
  question.opening = std::chrono::milliseconds(4000);
  return question;
}

LibraryReading library_reading(const std::string& asked, const Answer& answer) {
  LibraryReading reading;
  reading.asked = asked;
  if (answer.lines.empty()) {
    reading.problem = answer.trouble().empty() ? "it said nothing" : answer.trouble();
    return reading;
  }
  const Json& line = answer.lines.front();
  reading.path = line.value("path", "");
  reading.version = line.value("version", "");
  reading.problem = line.value("problem", "");
  return reading;
}

}  // namespace sennit::doctor
