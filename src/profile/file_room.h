// The room that a process's file has, and the lack of it.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/status.h"

namespace sennit::profile {

/// A call that is the first to write to its page would wait for the kernel, some µs where the file lies on a disk.
inline void make_writable(std::byte* memory, std::uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE  // since Linux 5.14
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  constexpr std::uint64_t kPage = 4096;
  for (std::uint64_t at = 0; at < bytes; at += kPage) static_cast<volatile std::byte*>(memory)[at] = std::byte{0};
}

/// The limit of `ulimit -f`.
inline std::uint64_t largest_file() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur : std::numeric_limits<std::uint64_t>::max();
}

/// The error of a file that cannot be made or written, by errno: out_of_memory (the disk, the quota or a limit),
/// permission_denied, system_error.
Status file_error(const char* what, int error, const std::string& where);

}  // namespace sennit::profile
