#include "comm/device_claims.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "base/unique_fd.h"

namespace sennit::comm {

namespace {

/// Claims are names of sockets in Unix's abstract namespace: the kernel lists them, and a process takes its own along
/// when it ends, however it ends.
std::string name_of_claims(std::string_view uuid) {
  return fmt::format("sennit-device/{}/", uuid);
}

std::string pid_namespace() {
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 ? fmt::format("{}", found.st_ino) : "0";
}

UniqueFd bind_name(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // sun_path[0] stays 0: the abstract namespace
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  UniqueFd made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (made && ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) made.reset();
  return made;
}

/// Keeps the claims of this process. A child that was forked has claims of its own.
void keep_claim(const std::string& name) {
  static std::mutex mutex;
  static auto* const claims = new std::map<std::string, UniqueFd>();  // until the process ends
  const std::lock_guard lock(mutex);
  // Two libraries of one process may claim the same: the second bind fails, and the first one's name stands for both.
  claims->try_emplace(name, bind_name(name));
}

}  // namespace

std::vector<pid_t> claim_device(std::string_view uuid) {
  static const std::string space = pid_namespace();
  const std::string prefix = name_of_claims(uuid), own = fmt::format("{}/{}", space, getpid());
  keep_claim(prefix + own);  // before the look: of two that begin together, one at least sees the other
  std::vector<pid_t> others;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const auto at = line.find("@" + prefix);
    if (at == std::string::npos) continue;
    const std::string_view claim = std::string_view(line).substr(at + 1 + prefix.size());
    if (claim == own) continue;
    pid_t pid = 0;
    if (claim.starts_with(space + "/"))
      std::from_chars(claim.data() + space.size() + 1, claim.data() + claim.size(), pid);
    if (std::ranges::find(others, pid) == others.end()) others.push_back(pid);
  }
  return others;
}

}  // namespace sennit::comm
