#include "device/memory.h"

#include <sys/random.h>
#include <unistd.h>

namespace sennit::device {

std::uint64_t this_process() {
  static const std::uint64_t random = [] {
    std::uint64_t number = 0;
    // Ranks of one process do not recognise each other where the random number is refused, and cannot share their
    // memory.
    return ::getrandom(&number, sizeof number, 0) == sizeof number ? number : 0;
  }();
  // A child made by fork() is another one.
  return random == 0 ? 0 : random + static_cast<std::uint64_t>(::getpid());
}

}  // namespace sennit::device
