#include "bench/collective/nccl.h"

#include <cstring>

#include <fmt/format.h>

#include "base/nccl_name.h"
#include "device/executor.h"

namespace sennit::bench::collective {

Result<std::unique_ptr<Nccl>> Nccl::open(node::Node& node, const std::string& given) {
  if (node.executor().kind() != device::Kind::cuda)
    return Status(Code::unsupported, "it moves GPU memory alone", {}, "Measure it where GPUs are");
  comm::Group& group = node.group();
  std::unique_ptr<Nccl> nccl(new Nccl(node.executor()));
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
  nccl->rank_ = node.rank();
  nccl->size_ = node.size();
  const device::OnDevice current(nccl->executor_, nccl->device_);
  if (const int error = nccl->library_.init(&nccl->communicator_, group.size(), id, group.rank()); error != 0)
    status = Status(Code::device_error, fmt::format("ncclCommInitRank: {}", nccl->library_.text(error)), {},
                    "NCCL_DEBUG=INFO tells more");
  if (status.ok()) {
    auto one = node.executor().allocate(nccl->device_, sizeof(std::int32_t));
    status = one.status();
    if (one.ok()) nccl->one_ = std::move(*one);
  }
  auto met = comm::agree(group.exchange(), status, {});
  if (!met) return met.status();
  return nccl;
}

Nccl::~Nccl() {
  if (communicator_ != nullptr) (void)library_.abort(communicator_);
  for (void* const memory : window_)
    if (memory != nullptr) (void)library_.free(memory);
}

Status Nccl::make_windows(node::Node& node, std::uint64_t bytes) {
  constexpr int kSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
  const device::OnDevice current(executor_, device_);
  Status status;
  if (library_.open_window == nullptr)
    status = Status(Code::unsupported, fmt::format("NCCL {} has no windows", version_), {}, "Use 2.27 or later");
  for (void*& memory : window_) {
    if (int error = status.ok() ? library_.allocate(&memory, bytes) : 0; error != 0)
      status = Status(Code::device_error, fmt::format("ncclMemAlloc: {}", library_.text(error)));
    // The registration is collective: either all ranks come or no rank does.
    if (auto all = comm::agree(node.group().exchange(), status, {}); !all) return all.status();
    void* window = nullptr;
    if (const int error = library_.open_window(communicator_, memory, bytes, &window, kSymmetric); error != 0)
      status = Status(Code::device_error, fmt::format("ncclCommWindowRegister: {}", library_.text(error)));
    // Memory is as ordinary as any where there is no window.
    if (status.ok() && window == nullptr)
      status = Status(Code::unsupported, fmt::format("NCCL {} makes no windows here", version_));
  }
  auto all = comm::agree(node.group().exchange(), status, {});
  has_windows_ = all.ok();
  return all.status();
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

int Nccl::exchange(const NcclCall& call, NcclLibrary::Stream stream) {
  const int type = number_of(call.type);
  const std::uint64_t message = call.count * device::bytes_of(call.type);
  const auto* const from = static_cast<const std::byte*>(call.input);
  auto* const to = static_cast<std::byte*>(call.output);
  const bool gives = call.operation != coll::Operation::scatter || rank_ == call.root;
  const bool takes = call.operation != coll::Operation::gather || rank_ == call.root;
  const bool scatters = call.operation != coll::Operation::gather;
  const bool gathers = call.operation != coll::Operation::scatter;
  int error = library_.group_start();
  for (int peer = 0; peer < size_ && error == 0; ++peer) {
    const std::uint64_t place = static_cast<unsigned>(peer) * message;
    if (gives && (scatters || peer == call.root))
      error = library_.send(from + (scatters ? place : 0), call.count, type, peer, communicator_, stream);
    if (error == 0 && takes && (gathers || peer == call.root))
      error = library_.receive(to + (gathers ? place : 0), call.count, type, peer, communicator_, stream);
  }
  const int ended = library_.group_end();
  return error != 0 ? error : ended;
}

int Nccl::pass_round(const NcclCall& call, NcclLibrary::Stream stream) {
  const int type = number_of(call.type), next = (rank_ + 1) % size_, last = (rank_ + size_ - 1) % size_;
  int error = library_.group_start();
  if (error == 0) error = library_.send(call.input, call.count, type, next, communicator_, stream);
  if (error == 0) error = library_.receive(call.output, call.count, type, last, communicator_, stream);
  const int ended = library_.group_end();
  return error != 0 ? error : ended;
}

Status Nccl::call(const NcclCall& call, void* on) {
  using enum coll::Operation;
  const device::OnDevice current(executor_, device_);
  auto* const stream = static_cast<NcclLibrary::Stream>(on);
  const NcclLibrary& nccl = library_;
  const int type = number_of(call.type), op = number_of(call.op);
  const auto [operation, input, output, count, element, reduction, root] = call;
  int error = 0;
  switch (operation) {
    case allreduce: error = nccl.all_reduce(input, output, count, type, op, communicator_, stream); break;
    case reduce_scatter: error = nccl.reduce_scatter(input, output, count, type, op, communicator_, stream); break;
    case allgather: error = nccl.all_gather(input, output, count, type, communicator_, stream); break;
    case reduce: error = nccl.reduce(input, output, count, type, op, root, communicator_, stream); break;
    case broadcast: error = nccl.broadcast(input, output, count, type, root, communicator_, stream); break;
    case gather:
      error = nccl.gather != nullptr ? nccl.gather(input, output, count, type, root, communicator_, stream)
                                     : exchange(call, stream);
      break;
    case scatter:
      error = nccl.scatter != nullptr ? nccl.scatter(input, output, count, type, root, communicator_, stream)
                                      : exchange(call, stream);
      break;
    case all_to_all:
      error = nccl.all_to_all != nullptr ? nccl.all_to_all(input, output, count, type, communicator_, stream)
                                         : exchange(call, stream);
      break;
    case all_to_all_v: error = exchange(call, stream); break;
    case sendrecv: error = pass_round(call, stream); break;
    case barrier:
      error = nccl.all_reduce(one_.data(), one_.data(), 1, number_of(device::Type::int32),
                              number_of(device::Operator::sum), communicator_, stream);
      break;
  }
  if (error == 0) return {};
  return Status(Code::device_error, fmt::format("{}: {}", coll::name(operation), library_.text(error)), "nccl",
                "NCCL_DEBUG=INFO tells more; --vs none goes on without");
}

}  // namespace sennit::bench::collective
