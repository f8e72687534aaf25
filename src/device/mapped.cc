#include "device/mapped.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace sennit::device {

bool is_mapped(const void* pointer) {
  char byte = 0;
  const iovec local{&byte, 1};
  const iovec remote{const_cast<void*>(pointer), 1};
  if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) return true;
  return errno != EFAULT;  // a sandbox that forbids the call leaves us with the caller's word
}

bool is_usable(const void* data, std::uint64_t bytes, Access access) {
  if (bytes == 0) return true;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data), last = begin + (bytes - 1);
  if (last < begin) return false;
  const std::uintptr_t first_page = begin / page * page, end = (last / page + 1) * page;
#if defined(MADV_POPULATE_READ) && defined(MADV_POPULATE_WRITE)
  const int advice = access == Access::write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  if (madvise(reinterpret_cast<void*>(first_page), end - first_page, advice) == 0) return true;
  if (errno == ENOMEM || errno == EFAULT) return false;
#endif
  // Protected memory, an older kernel, or a device's memory: the list of mappings decides.
  std::ifstream maps("/proc/self/maps");
  return !maps || is_usable(maps, data, bytes, access);
}

bool is_usable(std::istream& maps, const void* data, std::uint64_t bytes, Access access) {
  auto next = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t last = next + (bytes - 1);
  if (bytes == 0) return true;
  if (last < next) return false;
  for (std::string line; std::getline(maps, line);) {  // 7f1c2a000000-7f1c2a021000 rw-p …, ascending
    char* rest = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    if (*rest != '-') return false;
    const std::uintptr_t end = std::strtoull(rest + 1, &rest, 16);
    if (end <= next) continue;
    if (begin > next || rest[0] != ' ' || rest[1] != 'r' || (access == Access::write && rest[2] != 'w')) return false;
    if (end > last) return true;
    next = end;
  }
  return false;
}

}  // namespace sennit::device
