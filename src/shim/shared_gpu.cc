#include "shim/shared_gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/device_claims.h"

namespace sennit::shim {

Status claim_gpu(const device::Executor& executor, int device) {
  if (executor.kind() != device::Kind::cuda) return {};
  const auto others = comm::claim_device(executor.devices()[static_cast<std::size_t>(device)].uuid);
  if (others.empty()) return {};
  return {Code::unsupported,
          fmt::format("GPU {} is also used by process {}, and kernels of two processes take turns there", device,
                      fmt::join(others, ", ")),
          {},
          "Give each rank a GPU of its own, for example by its number on the node"};
}

}  // namespace sennit::shim
