#include "machine/cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/json.h"
#include "machine/document.h"
#include "machine/validate.h"

namespace sennit::machine {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kOwnFolder = "Set SENNIT_CACHE to a folder that you may write to";

}  // namespace

Result<fs::path> cache_folder() {
  if (const std::string own = environment("SENNIT_CACHE"); !own.empty()) return fs::path(own);
  // A relative XDG_CACHE_HOME is invalid by its specification and to be ignored.
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') return fs::path(xdg) / "sennit";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "sennit";
  return Status(Code::not_found, "there is no cache folder: SENNIT_CACHE, XDG_CACHE_HOME and HOME are unset", {},
                "Set SENNIT_CACHE to a folder of yours");
}

Result<fs::path> cache_file(const std::string& fingerprint) {
  // Strict, because it becomes a file name.
  const bool valid = fingerprint.size() == 16 && std::ranges::all_of(fingerprint, [](char c) {
                       return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                     });
  if (!valid)
    return Status(Code::invalid_argument, fmt::format("'{}' is not a machine's fingerprint", printable(fingerprint)),
                  {}, "Only discovered machines can be cached");
  Result<fs::path> folder = cache_folder();
  if (!folder.ok()) return std::move(folder).status();
  return *folder / (fingerprint + ".json");
}

Status check_cache() {
  const Result<fs::path> folder = cache_folder();
  if (!folder.ok())
    return Status(Code::permission_denied, folder.status().what(), folder.status().where(), folder.status().remedy());
  const auto fails = [&](const std::string& why) {
    return Status(Code::permission_denied, "what is measured could not be kept: " + why, folder->string(),
                  std::string(kOwnFolder));
  };
  std::error_code error;
  fs::create_directories(*folder, error);
  if (error) return fails(error.message());
  const fs::path draft = *folder / fmt::format(".{}.tmp", ::getpid());
  errno = 0;
  const bool written = bool(std::ofstream(draft) << '\n' << std::flush);
  const int why = errno;
  fs::remove(draft, error);
  return written ? Status() : fails(std::strerror(why));
}

Result<Machine> load_cached(const std::string& fingerprint) {
  const Result<fs::path> file = cache_file(fingerprint);
  if (!file.ok()) return file.status();
  std::error_code error;
  const bool exists = fs::exists(*file, error);
  if (error)
    return Status(Code::permission_denied, "cannot look for what was measured: " + error.message(), file->string(),
                  std::string(kOwnFolder));
  if (!exists)
    return Status(Code::not_found, "this machine has not been measured", file->string(),
                  "Run: sennit topo --measure");
  const Result<Json> document = read_json(*file);
  if (!document.ok()) return document.status();
  Result<Machine> machine = from_json(*document, file->string());
  if (machine.ok() && machine->fingerprint != fingerprint)
    return Status(Code::corrupt, fmt::format("holds the machine {}", machine->fingerprint), file->string(),
                  "Delete it and run: sennit topo --measure");
  return machine;
}

Result<fs::path> store_cached(const Machine& machine) {
  const Result<fs::path> file = cache_file(machine.fingerprint);
  if (!file.ok()) return file.status();
  // A machine that cannot be read back must not be kept: reading it would fail at every later start.
  if (Status status = validate(machine); !status.ok()) return std::move(status).in("cache");
  if (Status status = write_json(*file, to_json(machine)); !status.ok()) return status;
  return *file;
}

}  // namespace sennit::machine
