#include "comm/rendezvous_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "comm/secret.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

// Far above what an address and a secret need.
constexpr std::size_t kLargest = 1024;

Status unsafe(const std::string& folder, const std::string& why) {
  return Status(Code::permission_denied, fmt::format("will not meet in '{}': {}", folder, why), {},
                fmt::format("Remove '{}', or set SENNIT_RENDEZVOUS and SENNIT_SECRET", folder));
}

// Opened once and then used by descriptor, so that no other process can put another folder in its place meanwhile.
Result<UniqueFd> open_folder(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return UniqueFd();
    if (errno == ELOOP || errno == ENOTDIR) return unsafe(folder, "it is a link or a file, not a folder");
    return system_status("open '" + folder + "'", errno, "Check its owner and permissions");
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_status("read '" + folder + "'", errno, {});
  if (info.st_uid != ::getuid()) return unsafe(folder, "it belongs to another user");
  if ((info.st_mode & 077) != 0) return unsafe(folder, "other users may enter it");
  return fd;
}

bool same_file(int fd, int folder, const std::string& name) {
  struct stat open_one {
  }, named{};
  return ::fstat(fd, &open_one) == 0 && ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

// Changes of names happen under the folder's lock, so that "left behind, remove it" never hits a new file.
bool lock_folder(int folder) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (::flock(folder, LOCK_EX | LOCK_NB) == 0) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

void unlock_folder(int folder) {
  ::flock(folder, LOCK_UN);
}

// Returns true when `name` is absent or was left behind (and then is no longer there). With the folder's lock held.
bool clear_name(int folder, const std::string& name) {
  const UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return true;
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return ::unlinkat(folder, name.c_str(), 0) == 0;
}

// A reader that is just finding out holds a file that was left behind for an instant: worth a few more looks.
bool clear_name_patiently(int folder, const std::string& name) {
  for (int tries = 0; tries < 100; ++tries) {
    if (clear_name(folder, name)) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

Result<UniqueFd> make_folder(const std::string& folder) {
  // Another job may remove the empty folder between our making and our opening it.
  for (int tries = 0; tries < 100; ++tries) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return system_status("make '" + folder + "'", errno, "Set SENNIT_RENDEZVOUS and SENNIT_SECRET instead");
    Result<UniqueFd> fd = open_folder(folder);
    if (!fd) return fd;
    if (*fd && lock_folder(fd->get())) {
      struct stat info {};
      // Removed while we waited for the lock: no name can be made in it any more.
      if (::fstat(fd->get(), &info) == 0 && info.st_nlink > 0) return fd;
    }
  }
  return Status(Code::system_error, fmt::format("cannot lock '{}'", folder), {}, fmt::format("Remove '{}'", folder));
}

}  // namespace

std::string runtime_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  struct stat info {};
  if (runtime != nullptr && *runtime == '/' && ::stat(runtime, &info) == 0 && S_ISDIR(info.st_mode) &&
      info.st_uid == ::getuid())
    return std::string(runtime) + "/sennit";
  return fmt::format("/tmp/sennit-{}", ::getuid());
}

std::string rendezvous_name(const std::string& job) {
  const Digest hash = sha256(job);
  return hex(std::span(hash).first(16));
}

Result<RendezvousFile> RendezvousFile::publish(const std::string& folder, const std::string& name,
                                               const std::string& text) {
  Result<UniqueFd> opened = make_folder(folder);
  if (!opened) return opened.status();
  const int at = opened->get();
  if (!clear_name_patiently(at, name)) {
    unlock_folder(at);
    return Status(Code::mismatch, "another rank 0 of the same job is meeting its ranks now", folder + "/" + name,
                  "Start each job under its own launcher, or set SENNIT_RENDEZVOUS and SENNIT_SECRET");
  }
  // Written under another name first: readers see the whole, locked file or none.
  const std::string draft = name + ".new";
  ::unlinkat(at, draft.c_str(), 0);
  UniqueFd file(::openat(at, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written = file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
                       ::write(file.get(), text.data(), text.size()) == ssize_t(text.size()) &&
                       ::renameat(at, draft.c_str(), at, name.c_str()) == 0;
  const int error = errno;
  if (!written && file) ::unlinkat(at, draft.c_str(), 0);
  unlock_folder(at);
  if (!written)
    return system_status("write '" + folder + "/" + name + "'", error, "Check free space and permissions");
  return RendezvousFile(folder, name, std::move(*opened), std::move(file));
}

RendezvousFile::~RendezvousFile() {
  if (!folder_) return;
  const bool locked = lock_folder(folder_.get());
  if (same_file(file_.get(), folder_.get(), name_)) ::unlinkat(folder_.get(), name_.c_str(), 0);
  ::rmdir(path_.c_str());  // only succeeds on an empty folder: the last to leave removes it
  if (locked) unlock_folder(folder_.get());
}

Result<std::optional<std::string>> read_rendezvous(const std::string& folder, const std::string& name) {
  const std::optional<std::string> none;
  Result<UniqueFd> opened = open_folder(folder);
  if (!opened) return opened.status();
  if (!*opened) return none;
  const int at = opened->get();
  UniqueFd file(::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return none;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
    // No process holds the file: it was left behind. Our own shared lock must go first, or no process could tell.
    file.reset();
    if (lock_folder(at)) {
      if (clear_name(at, name)) ::rmdir(folder.c_str());
      unlock_folder(at);
    }
    return none;
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || info.st_uid != ::getuid() || (info.st_mode & 077) != 0)
    return unsafe(folder, "the file in it is not this user's own");
  std::string text(kLargest, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got <= 0) return none;
  text.resize(std::size_t(got));
  return std::optional<std::string>(std::move(text));
}

}  // namespace sennit::comm
