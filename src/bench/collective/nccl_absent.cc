#include "bench/collective/nccl.h"

namespace sennit::bench::collective {

Result<std::unique_ptr<Nccl>> Nccl::open(node::Node&, const std::string&) {
  return Status(Code::not_found, "this build has no CUDA", {}, "Build sennit where nvcc is found");
}
Nccl::~Nccl() = default;
int Nccl::number_of(device::Type) {
  return -1;
}
int Nccl::number_of(device::Operator) {
  return -1;
}
Status Nccl::call(const NcclCall&, void*) {
  return Status(Code::unsupported, "this build has no CUDA");
}
Status Nccl::make_windows(node::Node&, std::uint64_t) {
  return Status(Code::unsupported, "this build has no CUDA");
}

}  // namespace sennit::bench::collective
