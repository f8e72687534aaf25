#include "shim/nccl/config.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace sennit::shim::nccl {

namespace {

/// As nccl.h has it: later versions have more behind it, earlier ones less, which `size` says.
struct Head {
  std::size_t size;
  unsigned magic, version;
  int blocking;
  int cga_cluster_size, min_ctas, max_ctas;  // from 2.17 on
};

constexpr int kUnset = INT_MIN;  // NCCL_CONFIG_UNDEF_INT

}  // namespace

Config Config::read(const void* program) {
  Head head{0, 0, 0, kUnset, kUnset, kUnset, kUnset};
  if (program != nullptr) {
    std::memcpy(&head.size, program, sizeof head.size);
    std::memcpy(&head, program, std::min(head.size, sizeof head));
  }
  Config config;
  config.blocking = head.blocking != 0;
  if (head.max_ctas > 0) config.max_ctas = static_cast<unsigned>(head.max_ctas);
  const char* const forced = std::getenv("NCCL_COMM_BLOCKING");
  if (forced != nullptr && (*forced == '0' || *forced == '1')) config.blocking = *forced == '1';
  return config;
}

unsigned allowed_blocks(const Config& config) {
  const char* const text = std::getenv("NCCL_MAX_CTAS");
  const long long most = text != nullptr ? std::strtoll(text, nullptr, 0) : 0;
  if (most <= 0) return config.max_ctas;  // which NCCL ignores
  return static_cast<unsigned>(std::min<long long>(most, std::numeric_limits<unsigned>::max()));
}

}  // namespace sennit::shim::nccl
