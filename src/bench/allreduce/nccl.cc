#include "bench/allreduce/nccl.h"

#include <cstring>

#include <fmt/format.h>

#include "device/cuda/check.h"

namespace sennit::bench::allreduce {

Result<std::unique_ptr<Nccl>> Nccl::open(path::Node& node, const std::string& given) {
  comm::Group& group = node.group();
  std::unique_ptr<Nccl> nccl(new Nccl());
  auto library = open_nccl_library(given);
  Status status = library.status();
  NcclId id{};
  if (status.ok()) {
    nccl->library_ = *library;
    int version = 0;
    (void)library->version(&version);
    nccl->version_ = nccl_version_text(version);
    if (node.rank() == 0)
      if (const int error = library->unique_id(&id); error != 0)
        status = Status(Code::device_error, fmt::format("ncclGetUniqueId: {}", library->text(error)));
  }
  auto ids = comm::agree(group.exchange(), status, std::as_bytes(std::span(&id, 1)));
  if (!ids) return ids.status();
  std::memcpy(&id, ids->front().data(), sizeof id);
  nccl->device_ = node.device();
  const device::CurrentDevice current(nccl->device_);
  if (const int error = nccl->library_.init(&nccl->communicator_, group.size(), id, group.rank()); error != 0)
    status = Status(Code::device_error, fmt::format("ncclCommInitRank: {}", nccl->library_.text(error)), {},
                    "NCCL_DEBUG=INFO tells more");
  auto met = comm::agree(group.exchange(), status, {});
  if (!met) return met.status();
  return nccl;
}

Nccl::~Nccl() {
  if (communicator_ != nullptr) (void)library_.abort(communicator_);
}

int Nccl::number_of(device::Type type) {
  switch (type) {
    case device::Type::int8: return 0;
    case device::Type::uint8: return 1;
    case device::Type::int32: return 2;
    case device::Type::uint32: return 3;
    case device::Type::int64: return 4;
    case device::Type::uint64: return 5;
    case device::Type::float16: return 6;
    case device::Type::float32: return 7;
    case device::Type::float64: return 8;
    case device::Type::bfloat16: return 9;
    case device::Type::float8_e4m3: return 10;
    case device::Type::float8_e5m2: return 11;
    default: return -1;
  }
}

int Nccl::number_of(device::Operator op) {
  switch (op) {
    case device::Operator::sum: return 0;
    case device::Operator::product: return 1;
    case device::Operator::max: return 2;
    case device::Operator::min: return 3;
    case device::Operator::average: return 4;
    default: return -1;
  }
}

Status Nccl::allreduce(const void* input, void* output, std::uint64_t count, device::Type type, device::Operator op,
                       void* stream) {
  const device::CurrentDevice current(device_);
  const int error = library_.all_reduce(input, output, count, number_of(type), number_of(op), communicator_,
                                        static_cast<NcclLibrary::Stream>(stream));
  if (error == 0) return {};
  return Status(Code::device_error, fmt::format("ncclAllReduce: {}", library_.text(error)), "nccl",
                "NCCL_DEBUG=INFO tells more; --vs none goes on without");
}

}  // namespace sennit::bench::allreduce
