#include <fmt/format.h>

#include "bench/put/nccl.h"

namespace sennit::bench::put {

std::string nccl_version_text(int version) {
  // Before 2.9 the number had one digit less for the minor version.
  const int major = version / (version >= 10000 ? 10000 : 1000);
  const int rest = version % (version >= 10000 ? 10000 : 1000);
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

}  // namespace sennit::bench::put
