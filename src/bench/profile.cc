// sennit-profile: what the processes of a job wrote while they were profiled, as one document; the program behind
// `sennit profile` and `sennit report`.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/program.h"
#include "profile/document.h"
#include "profile/node_file.h"
#include "profile/trace.h"

namespace sennit::bench {

namespace {

Status write_trace(const std::string& to, const profile::Profile& merged, profile::ReadFile read) {
  std::ofstream out(to, std::ios::binary);
  if (auto status = profile::write_trace(out, merged.files, read); !status) return status;
  if (!out.flush())
    return Status(Code::invalid_argument, "cannot write " + to, "--perfetto",
                  "Name a file in a folder you may write to");
  return {};
}

Result<Exit> merge_folder(const std::string& folder, const std::string& trace) {
  profile::bring_left_behind(folder);
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".sennit-profile") files.push_back(at->path());
  if (error)
    return Status(Code::invalid_argument, fmt::format("the folder cannot be read: {}", error.message()), folder,
                  "Name a folder that sennit profile wrote");
  if (files.empty())
    return Status(
        Code::invalid_argument,
        "no process wrote anything here: the program called neither MPI nor NCCL, or no file could be made, which "
        "it has said then",
        folder, "Name a folder that sennit profile wrote");
  std::ranges::sort(files);
  const auto read = [&](std::size_t i) { return profile::read_rank(files[i]); };
  auto merged = profile::merge(files.size(), read);
  if (!merged) return of_arguments(merged.status());
  if (!trace.empty())
    if (auto status = write_trace(trace, *merged, read); !status) return status;
  print(profile::to_json(*merged));
  return Exit::ok;
}

int main_of(int argc, char** argv) {
  Program program("sennit-profile", "Merges what the processes of a job wrote while they were profiled.",
                  "sennit-profile sennit-profile-20261128-1234");
  std::string folder, trace;
  program.app().add_option("FOLDER", folder, "What sennit profile wrote")->required();
  program.app().add_option("--perfetto", trace, "Write the single calls, for a viewer of traces, to this file");
  return program.run(argc, argv, [&] { return merge_folder(folder, trace); });
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::main_of(argc, argv);
}
