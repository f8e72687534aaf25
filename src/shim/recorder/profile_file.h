// Decides where this process's profile goes: into its file as the program runs, or a file on the node, where the
// folder is on a file system of other machines, or memory, where no file can be made; from these into the file at the
// process's end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "profile/recorder.h"

namespace sennit::shim::recorder {

/// Returns whether this process is the first of the node to ask so; it stays that as long as it lives.
bool is_first_on_node(const std::string& question);

/// One line of what took the time in a process, for who has no file: "1.2 s in 40 calls: MPI_Allreduce 1.1 s in 30,
/// …".
std::string told_in_a_line(const profile::Recorder& recorder);

class ProfileFile {
 public:
  /// Makes a new file in the folder, which is made where there is none: on another host, perhaps. Where no file can
  /// be made the user hears why, once on each node. Null where there is no memory either; the user has heard of that,
  /// too.
  static std::unique_ptr<ProfileFile> begin(const std::filesystem::path& folder, const std::string& host);

  profile::Recorder& recorder() { return *recorder_; }
  /// At the process's end: what is in memory is written, or told in a line, once on each node. What lies on the node
  /// is brought, also what other processes have left there; or a line says where it lies.
  void end() const;

 private:
  ProfileFile(std::filesystem::path folder, std::string host) : folder_(std::move(folder)), host_(std::move(host)) {}

  std::filesystem::path folder_;
  std::string host_;
  std::filesystem::path link_;  ///< empty: the file does not lie on the node until the end
  std::unique_ptr<profile::Recorder> recorder_;
  bool is_in_memory_ = false, tells_ = false;
};

}  // namespace sennit::shim::recorder
