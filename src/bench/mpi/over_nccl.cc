#include "bench/mpi/over_nccl.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "base/nccl_name.h"

namespace sennit::bench::mpi {

namespace {

constexpr int kBytes = 1;  // ncclUint8: what a message means does not matter to its carrier

Status failed(const NcclLibrary& nccl, const char* function, int error) {
  return Status(Code::device_error, fmt::format("{}: {}", function, nccl.text(error)), {},
                "NCCL_DEBUG=INFO tells more");
}

}  // namespace

Result<std::unique_ptr<OverNccl>> OverNccl::open(Job& job, Memories& memories, const std::string& given) {
  std::unique_ptr<OverNccl> made(new OverNccl(memories));
  auto library = open_nccl_library(given);
  NcclId id{};
  Status status = library.status();
  if (library) {
    made->library_ = as_programs_reach(*library);
    status = made->begin(job.rank(), id);
  }
  if (auto all = job.agree(status); !all) return all;
  auto ids = job.gather(job.rank() == 0 ? std::string(id.bytes, sizeof id.bytes) : std::string());
  if (!ids) return ids.status();
  std::memcpy(id.bytes, ids->front().data(), std::min(ids->front().size(), sizeof id.bytes));
  const int error = made->library_.init(&made->communicator_, job.size(), id, job.rank());
  if (error != 0) made->communicator_ = nullptr;
  if (auto all = job.agree(error == 0 ? Status() : failed(made->library_, "ncclCommInitRank", error)); !all)
    return all;
  return made;
}

OverNccl::~OverNccl() {
  if (communicator_ != nullptr) (void)library_.abort(communicator_);
}

Status OverNccl::begin(int rank, NcclId& id) {
  int version = 0;
  (void)library_.version(&version);
  version_ = nccl_version_text(version);
  const int error = rank == 0 ? library_.unique_id(&id) : 0;
  return error == 0 ? Status() : failed(library_, "ncclGetUniqueId", error);
}

int OverNccl::enqueue(const Batch& batch, NcclLibrary::Stream stream) const {
  const Part& part = *batch.layout.part;
  int error = library_.group_start();
  for (const Message& one : part.received)
    if (error == 0)
      error = library_.receive(batch.output + one.piece.at, one.piece.bytes, kBytes, one.peer, communicator_, stream);
  for (const Message& one : part.sent)
    if (error == 0)
      error = library_.send(batch.input + one.piece.at, one.piece.bytes, kBytes, one.peer, communicator_, stream);
  const int ended = library_.group_end();
  return error != 0 ? error : ended;
}

Status OverNccl::exchange(const Batch& batch, int calls, Spent& spent) {
  auto* const stream = static_cast<NcclLibrary::Stream>(memories_.stream());
  const auto begin = std::chrono::steady_clock::now();
  int error = 0;
  for (int i = 0; i < calls && error == 0; ++i) error = enqueue(batch, stream);
  const Status waited = memories_.wait();
  spent.us = spent.all_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  return error == 0 ? waited : failed(library_, "grouped ncclSend and ncclRecv", error);
}

}  // namespace sennit::bench::mpi
