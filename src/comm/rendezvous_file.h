// Lets ranks of one host find each other when their launcher gives no address: a small file in the user's runtime
// folder holds rank 0's address and the job's secret, and lives only until all have met.
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "comm/deadline.h"

namespace sennit::comm {

/// $XDG_RUNTIME_DIR/sennit where that is a folder of this user, else /tmp/sennit-UID. Not created here.
std::string runtime_folder();

/// Returns the file's name within the folder: a hash of the job's name, so that no launcher's text becomes a path.
std::string rendezvous_name(const std::string& job);

/// Rank 0's side: the file exists as long as this object. It is locked all that time, so a file that is not
/// locked was left behind by a rank 0 that was killed, and whoever finds it removes it.
class RendezvousFile {
 public:
  /// Creates folder (mode 0700) and file (mode 0600), replacing what a killed job left there. Errors:
  /// permission_denied when the folder is a link, or belongs to or is open to somebody else; system_error;
  /// mismatch when another living process has published the same job.
  static Result<RendezvousFile> publish(const std::string& folder, const std::string& name, const std::string& text);
  RendezvousFile(RendezvousFile&&) noexcept = default;
  RendezvousFile& operator=(RendezvousFile&&) = delete;
  ~RendezvousFile();

 private:
  RendezvousFile(std::string path, std::string name, UniqueFd folder, UniqueFd file)
      : path_(std::move(path)), name_(std::move(name)), folder_(std::move(folder)), file_(std::move(file)) {}
  std::string path_, name_;
  UniqueFd folder_, file_;
};

/// Does the other ranks' side: the text of a file whose publisher lives; no value while there is no such file (one
/// that was left behind is removed). Errors: as publish().
Result<std::optional<std::string>> read_rendezvous(const std::string& folder, const std::string& name);

}  // namespace sennit::comm
