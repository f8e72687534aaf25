// The program's own MPI as what carries bytes between nodes.
#pragma once

#include <fmt/format.h>

#include "net/rail.h"
#include "shim/mpi/mpi.h"

namespace sennit::shim::mpi {

class MpiRail final : public net::Rail {
 public:
  /// `comm`: of one rank of each node, in the order of nodes.
  MpiRail(const Mpi& mpi, Handle comm, int node) : mpi_(mpi), comm_(comm), node_(node) {}

  /// Whether the MPI reduces such numbers.
  static bool knows(const Mpi& mpi, const device::Reduction& reduction) {
    return mpi.type_of(reduction.type) != kNoHandle && mpi.op_of(reduction.op) != kNoHandle;
  }

  Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) override {
    return checked("MPI_Allreduce", mpi_.all_reduce(comm_, data, count(bytes, reduction),
                                                    mpi_.type_of(reduction.type), mpi_.op_of(reduction.op)));
  }
  Status reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction, int root) override {
    return checked("MPI_Reduce", mpi_.reduce(comm_, data, count(bytes, reduction), mpi_.type_of(reduction.type),
                                             mpi_.op_of(reduction.op), root, node_ == root));
  }
  Status broadcast(std::byte* data, std::uint64_t bytes, int root) override {
    return checked("MPI_Bcast", mpi_.broadcast(comm_, data, static_cast<int>(bytes), root));
  }

 private:
  static int count(std::uint64_t bytes, const device::Reduction& reduction) {
    return static_cast<int>(bytes / device::bytes_of(reduction.type));
  }
  static Status checked(std::string_view function, int code) {
    if (code == 0) return {};
    return Status(Code::system_error, fmt::format("{} returned error {}", function, code), "between nodes");
  }

  const Mpi& mpi_;
  const Handle comm_;
  const int node_;
};

}  // namespace sennit::shim::mpi
