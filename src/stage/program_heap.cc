#include "stage/program_heap.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>

namespace sennit::stage {

namespace {

/// Returns the lowest address of the main program.
std::uintptr_t first_of_program() {
  std::uintptr_t first = ~std::uintptr_t{0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_LOAD)
            *static_cast<std::uintptr_t*>(found) = std::min<std::uintptr_t>(
                *static_cast<std::uintptr_t*>(found), info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        return 1;  // the main program comes first
      },
      &first);
  return first;
}

}  // namespace

ProgramHeap::ProgramHeap()
    : first_(first_of_program()),
      limit_(first_ < kLow ? kLow : ~std::uintptr_t{0}),
      end_(reinterpret_cast<std::uintptr_t>(sbrk(0))) {}

bool ProgramHeap::has_grown_to(std::uintptr_t address) const {
  const auto now = std::max(end_.load(std::memory_order_relaxed), reinterpret_cast<std::uintptr_t>(sbrk(0)));
  end_.store(now, std::memory_order_relaxed);
  return address < now;
}

const ProgramHeap program_heap;

}  // namespace sennit::stage
