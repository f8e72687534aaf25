#include "device/executor.h"

#include <fmt/format.h>

#include "base/environment.h"

namespace sennit::device {

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::cuda: return "cuda";
    case Kind::host: return "host";
    case Kind::trace: return "trace";
  }
  return "?";
}

int Executor::find(std::string_view uuid) const {
  const auto& all = devices();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].uuid == uuid) return static_cast<int>(i);
  return -1;
}

Result<std::shared_ptr<Executor>> open_executor() {
  const std::string wanted = environment("SENNIT_EXECUTOR");
  if (wanted == "host") return open_host_executor();
  if (wanted == "cuda") return open_cuda_executor();
  if (wanted != "auto")
    return Status(Code::invalid_argument, fmt::format("SENNIT_EXECUTOR='{}' names no executor", wanted), {},
                  "Set it to cuda, host or auto");
  auto cuda = open_cuda_executor();
  if (cuda.ok()) return cuda;
  return open_host_executor();
}

}  // namespace sennit::device
