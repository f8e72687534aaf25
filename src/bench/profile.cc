// sennit-profile: what the processes of a job wrote while they were profiled, as one document; the program behind
// `sennit profile` and `sennit report`.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/program.h"
#include "profile/document.h"

namespace sennit::bench {

namespace {

Result<Exit> merge_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".sennit-profile") files.push_back(at->path());
  if (error)
    return Status(Code::invalid_argument, fmt::format("the folder cannot be read: {}", error.message()), folder,
                  "Name a folder that sennit profile wrote");
  if (files.empty())
    return Status(Code::invalid_argument, "no process wrote anything here: the program called neither MPI nor NCCL",
                  folder, "Name a folder that sennit profile wrote");
  std::ranges::sort(files);
  std::vector<profile::Rank> ranks;
  Json unreadable = Json::array();
  Status first;
  for (const auto& file : files) {
    auto rank = profile::read_rank(file);
    if (rank) {
      ranks.push_back(std::move(*rank));
      continue;
    }
    if (first.ok()) first = rank.status();
    unreadable.push_back({{"file", file.filename().string()}, {"why", rank.status().what()}});
  }
  if (ranks.empty()) return of_arguments(first);
  auto merged = profile::merge(std::move(ranks));
  if (!merged) return of_arguments(merged.status());
  Json document = profile::to_json(*merged);
  document["unreadable"] = unreadable;
  print(document);
  return Exit::ok;
}

int main_of(int argc, char** argv) {
  Program program("sennit-profile", "Merges what the processes of a job wrote while they were profiled.",
                  "sennit-profile sennit-profile-20261128-1234");
  std::string folder;
  program.app().add_option("FOLDER", folder, "What sennit profile wrote")->required();
  return program.run(argc, argv, [&] { return merge_folder(folder); });
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::main_of(argc, argv);
}
