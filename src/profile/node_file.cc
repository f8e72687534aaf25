#include "profile/node_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "base/unique_fd.h"
#include "profile/file_room.h"
#include "profile/layout.h"
#include "profile/save.h"

namespace sennit::profile {

namespace {

bool lies_elsewhere(const std::filesystem::path& folder) {
  struct statfs found {};
  return statfs(folder.c_str(), &found) == 0 && is_of_other_machines(found.f_type);
}

/// The file that a process has left, which is dead.
void bring_file(const std::filesystem::path& link) {
  const UniqueFd file(open(link.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!file || fstat(file.get(), &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof(Tables))) return;
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return;
  const std::span content(static_cast<const std::byte*>(memory), bytes);
  const Header& header = std::launder(reinterpret_cast<const Tables*>(memory))->header;
  const bool is_whole = header.magic == kMagic && header.version == kVersion && header.file_bytes == bytes &&
                        header.blocks <= (bytes - sizeof(Tables)) / sizeof(Block);
  const bool has_ended = kill(static_cast<pid_t>(header.process), 0) != 0 && errno == ESRCH;
  if (is_whole && has_ended) (void)bring(content, link);
  munmap(memory, bytes);
}

}  // namespace

bool is_of_other_machines(long type) {
  constexpr std::array<std::uint32_t, 16> kRemote{
      0x6969,      // NFS
      0x517B,      // SMB
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x00C36400,  // Ceph
      0xAAD7AAEA,  // PanFS
      0x5346414F,  // AFS
      0x6B414653,  // the kernel's AFS
      0x73757245,  // Coda
      0x01021997,  // 9P
      0x65735546,  // FUSE
      0x01161970,  // GFS2
      0x7461636F,  // OCFS2
  };
  return std::ranges::find(kRemote, static_cast<std::uint32_t>(type)) != kRemote.end();
}

std::filesystem::path folder_on_node(const std::filesystem::path& folder, const std::string& wanted) {
  if (!wanted.empty() || !lies_elsewhere(folder)) return wanted;
  const char* const temporary = std::getenv("TMPDIR");
  for (const char* const one : {temporary, "/tmp", "/dev/shm"})
    if (one != nullptr && access(one, W_OK | X_OK) == 0 && !lies_elsewhere(one)) return one;
  return {};
}

Result<std::filesystem::path> make_node_file(const std::filesystem::path& on_node,
                                             const std::filesystem::path& link) {
  std::string own = (on_node / "sennit-profile-XXXXXX").string();
  if (mkdtemp(own.data()) == nullptr) return file_error("no folder can be made on the node", errno, on_node.string());
  std::filesystem::path file = std::filesystem::path(own) / link.filename();
  if (symlink(file.c_str(), link.c_str()) == 0) return file;
  const int error = errno;
  rmdir(own.c_str());
  return file_error("a link to the node's file cannot be made", error, link.string());
}

Status bring(std::span<const std::byte> content, const std::filesystem::path& link) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::read_symlink(link, error);  // empty: another one has brought it
  // Two processes may bring the file of a third one.
  const std::filesystem::path part = fmt::format("{}.{}", link.string(), getpid());
  if (auto status = save(content, part); !status) return status;
  if (rename(part.c_str(), link.c_str()) != 0) {
    const int why = errno;
    unlink(part.c_str());
    return file_error("the profile cannot be put into its place", why, link.string());
  }
  if (file.empty()) return {};
  unlink(file.c_str());
  rmdir(file.parent_path().c_str());
  return {};
}

void bring_left_behind(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> links;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".sennit-profile" && at->is_symlink(error)) links.push_back(at->path());
  for (const std::filesystem::path& link : links) bring_file(link);
}

}  // namespace sennit::profile
