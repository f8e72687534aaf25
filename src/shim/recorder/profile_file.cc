#include "shim/recorder/profile_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/unique_fd.h"
#include "profile/node_file.h"
#include "profile/rank.h"
#include "profile/save.h"

namespace sennit::shim::recorder {

namespace {

void tell_user(const std::string& what) {
  std::fputs(("sennit: " + what + "\n").c_str(), stderr);
}

/// A process that becomes another program, which calls MPI too, has two files.
std::filesystem::path free_name(const std::filesystem::path& folder, const std::string& host) {
  constexpr int kMost = 1000;
  std::filesystem::path file;
  for (int i = 1; i < kMost; ++i) {
    file = folder / fmt::format("{}-{}{}.sennit-profile", host, getpid(), i == 1 ? "" : fmt::format("-{}", i));
    struct stat there {};
    if (lstat(file.c_str(), &there) != 0) break;
  }
  return file;
}

}  // namespace

bool is_first_on_node(const std::string& question) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // sun_path[0] stays 0: the abstract namespace, which has nothing of a dead process
  const std::string name = fmt::format("sennit-said/{}/{:x}", getuid(), std::hash<std::string>()(question));
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  UniqueFd made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!made) return true;  // rather twice than never
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return errno != EADDRINUSE;
  (void)made.release();
  return true;
}

std::string told_in_a_line(const profile::Recorder& recorder) {
  const auto rank = profile::read_rank(recorder.bytes(), "memory");
  if (!rank) return rank.status().text();
  struct Told {
    double seconds = 0;
    std::uint64_t calls = 0;
  };
  Told all;
  std::map<std::string, Told> by_function;
  for (const profile::Sums& sums : rank->sums) {
    const double seconds = static_cast<double>(sums.ns) / 1e9;
    for (Told* const one : {&all, &by_function[rank->functions[sums.of.function]]}) {
      one->seconds += seconds;
      one->calls += sums.calls;
    }
  }
  std::vector<std::pair<std::string, Told>> longest(by_function.begin(), by_function.end());
  std::ranges::stable_sort(longest, std::greater<>(), [](const auto& one) { return one.second.seconds; });
  constexpr std::size_t kMost = 4;
  longest.resize(std::min(longest.size(), kMost));
  std::string line = fmt::format("{:.3g} s of {:.3g} s in {} calls", all.seconds,
                                 static_cast<double>(rank->run_ns()) / 1e9, all.calls);
  for (const char* before = ": "; const auto& [function, told] : longest) {
    line += fmt::format("{}{} {:.3g} s in {}", before, function, told.seconds, told.calls);
    before = ", ";
  }
  return line;
}

std::unique_ptr<ProfileFile> ProfileFile::begin(const std::filesystem::path& folder, const std::string& host) {
  (void)mkdir(folder.c_str(), 0700);
  std::unique_ptr<ProfileFile> made(new ProfileFile(folder, host));
  const profile::Clock clock = profile::Clock::best();
  std::filesystem::path file = free_name(folder, host);
  const auto on_node = profile::folder_on_node(folder, environment("SENNIT_PROFILE_NODE_FOLDER"));
  if (!on_node.empty())
    if (auto there = profile::make_node_file(on_node, file); there.ok()) {
      made->link_ = std::exchange(file, std::move(*there));
    }
  auto recorder = profile::Recorder::create(file, profile::Recorder::kFileBytes, clock);
  if (!recorder && !made->link_.empty()) {  // no room on the node
    rmdir(file.parent_path().c_str());
    file = std::exchange(made->link_, {});
    unlink(file.c_str());
    recorder = profile::Recorder::create(file, profile::Recorder::kFileBytes, clock);
  }
  if (!recorder) {
    made->is_in_memory_ = true;
    made->tells_ = is_first_on_node(folder.string());
    const Status why = std::move(recorder).status();
    recorder = profile::Recorder::in_memory(profile::Recorder::kFileBytes, clock);
    if (!recorder) {
      tell_user(fmt::format("this process is not profiled: {}", recorder.status().text()));
      return nullptr;
    }
    if (made->tells_)
      tell_user(fmt::format("the profile is kept in memory until processes end, and lost of one that is killed: {}",
                            why.text()));
  }
  made->recorder_ = std::move(*recorder);
  return made;
}

void ProfileFile::end() const {
  if (!link_.empty()) {
    const Status brought = profile::bring(recorder_->bytes(), link_);
    if (!brought.ok())
      tell_user(fmt::format("the profile of rank {} lies on {} still, where {} leads: {}", recorder_->header().rank,
                            host_, link_.string(), brought.text()));
    profile::bring_left_behind(folder_);
  }
  if (!is_in_memory_) return;
  const Status saved = profile::save(recorder_->bytes(), free_name(folder_, host_));
  if (saved.ok() || !tells_) return;
  tell_user(fmt::format("the profile is lost, but for this of rank {}: {}. The reason: {}", recorder_->header().rank,
                        told_in_a_line(*recorder_), saved.text()));
}

}  // namespace sennit::shim::recorder
