#include "machine/catalogue.h"

#include <dlfcn.h>

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "machine/validate.h"

namespace sennit::machine {

namespace fs = std::filesystem;

Result<fs::path> shipped_folder() {
  std::error_code error;
  std::vector<fs::path> places;
  // The program itself, then the shared library this code was linked into: they differ when a foreign program
  // (Python, an MPI job) has loaded sennit.
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error) places.push_back(program);
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&shipped_folder), &info) != 0 && info.dli_fname != nullptr)
    if (const fs::path library = fs::weakly_canonical(info.dli_fname, error); !error) places.push_back(library);
  for (fs::path& place : places) place = place.parent_path().parent_path() / "machines";
  places.emplace_back(SENNIT_MACHINES_FOLDER);
  for (const fs::path& place : places)
    if (fs::is_directory(place, error)) return place;
  return Status(Code::not_found, "the folder of shipped machines is missing", places.front().string(),
                "Reinstall sennit, or give the path of a machine file");
}

Result<std::vector<fs::path>> shipped_files() {
  const Result<fs::path> folder = shipped_folder();
  if (!folder.ok()) return folder.status();
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(*folder, error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

Result<fs::path> shipped_file(std::string_view name) {
  const Result<std::vector<fs::path>> files = shipped_files();
  if (!files.ok()) return files.status();
  std::string names;
  for (const fs::path& file : *files) {
    if (file.stem().string() == name) return file;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", file.stem().string());
  }
  return Status(Code::not_found, fmt::format("no machine is called '{}'", printable(name)), {},
                fmt::format("Use one of {}, or the path of a machine file", names.empty() ? "none" : names));
}

}  // namespace sennit::machine
