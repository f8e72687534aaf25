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

Result<std::unique_ptr<Graph>> Lane::graph_of(const std::function<Status()>&) {
  return Status(Code::unsupported, "only lanes of GPUs make graphs", {},
                "Use it where a GPU answers (SENNIT_EXECUTOR=cuda)");
}

Result<Memory> Executor::allocate_exportable(int, std::size_t) {
  return Status(Code::unsupported, "only GPU memory travels as an open file of the driver's", {},
                "Use it where a GPU answers (SENNIT_EXECUTOR=cuda)");
}

Result<Memory> Executor::allocate_managed(int, std::size_t) {
  return Status(Code::unsupported, "there is no managed memory without a GPU", {},
                "Use it where a GPU answers (SENNIT_EXECUTOR=cuda)");
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
