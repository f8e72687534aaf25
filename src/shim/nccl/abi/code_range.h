// Finds the addresses of a library's code, by which its own calls are told from a program's.
#pragma once

#include <link.h>

#include <cstdint>

namespace sennit::shim::nccl {

struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
  bool holds(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - begin < end - begin; }
};

/// Of the library that has code at `address`.
inline CodeRange code_around(const void* address) {
  struct Search {
    std::uintptr_t address;
    CodeRange found;
  } search{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& sought = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const CodeRange code{info->dlpi_addr + segment.p_vaddr,
                               info->dlpi_addr + segment.p_vaddr + segment.p_memsz};
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
              code.holds(reinterpret_cast<const void*>(sought.address)))
            sought.found = code;
        }
        return sought.found.end != 0 ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace sennit::shim::nccl
