// Has the program's own MPI carry bytes between nodes.
#pragma once

#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "net/rail.h"
#include "shim/mpi/abi/mpi.h"

namespace sennit::shim::mpi {

class MpiRail final : public net::Rail {
 public:
  /// `comm`: of one rank of each node, in the order of nodes.
  MpiRail(const Mpi& mpi, Handle comm, int nodes, int node) : mpi_(mpi), comm_(comm), nodes_(nodes), node_(node) {}

  /// Returns whether the MPI reduces such numbers.
  static bool knows(const Mpi& mpi, const device::Reduction& reduction) {
    const Handle type = mpi.type_of(reduction.type), op = mpi.op_of(reduction.op);
    if (type == kNoHandle || op == kNoHandle) return false;
    const auto numbers = mpi.numbers(type, op);
    return numbers && numbers->type == reduction.type;
  }

  Status all_gather(std::byte* rows, std::uint64_t bytes) override {
    return checked("MPI_Allgather", mpi_.all_gather_rows(comm_, rows, static_cast<int>(bytes)));
  }
  Status gather(std::byte* rows, std::uint64_t bytes, int root) override {
    return checked("MPI_Gather", mpi_.gather_rows(comm_, rows, static_cast<int>(bytes), root, node_));
  }
  Status scatter(std::byte* rows, std::uint64_t bytes, int root) override {
    return checked("MPI_Scatter", mpi_.scatter_rows(comm_, rows, static_cast<int>(bytes), root, node_));
  }
  Status all_to_all(const std::byte* from, std::byte* to, std::uint64_t bytes) override {
    // This rank's own row would be copied for nothing.
    std::vector<int> lengths(static_cast<std::size_t>(nodes_), static_cast<int>(bytes)), places = lengths;
    lengths[static_cast<std::size_t>(node_)] = 0;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), 0);
    return checked("MPI_Alltoallv", mpi_.all_to_all(comm_, from, to, lengths, places));
  }
  Status swap(const std::byte* sent, std::uint64_t bytes_sent, int to, std::byte* received,
              std::uint64_t bytes_received, int from) override {
    return checked("MPI_Sendrecv", mpi_.swap(comm_, sent, static_cast<int>(bytes_sent), to, received,
                                             static_cast<int>(bytes_received), from));
  }
  Status broadcast(std::byte* data, std::uint64_t bytes, int root) override {
    return checked("MPI_Bcast", mpi_.broadcast(comm_, data, static_cast<int>(bytes), root));
  }

  Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) override {
    return checked("MPI_Allreduce", mpi_.all_reduce(comm_, data, count(bytes, reduction),
                                                    mpi_.type_of(reduction.type), mpi_.op_of(reduction.op)));
  }
  Status reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction, int root) override {
    return checked("MPI_Reduce", mpi_.reduce(comm_, data, count(bytes, reduction), mpi_.type_of(reduction.type),
                                             mpi_.op_of(reduction.op), root, node_ == root));
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
  const int nodes_, node_;
};

}  // namespace sennit::shim::mpi
