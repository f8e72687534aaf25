#include "base/nccl_name.h"

#include <cstdlib>

#include <fmt/format.h>

namespace sennit {

std::string nccl_version_text(int version) {
  // Before 2.9 the number had one digit less for the minor version.
  const int major = version / (version >= 10000 ? 10000 : 1000);
  const int rest = version % (version >= 10000 ? 10000 : 1000);
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

std::string nccl_name(std::string_view version) {
  const char* const multicast = std::getenv("NCCL_NVLS_ENABLE");
  return multicast == nullptr ? std::string(version) : fmt::format("{} with NCCL_NVLS_ENABLE={}", version, multicast);
}

}  // namespace sennit
