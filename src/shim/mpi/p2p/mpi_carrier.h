// Has the program's MPI carry messages between nodes, on a communicator that only the drop-in has.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "msg/carrier.h"
#include "shim/mpi/abi/mpi.h"
#include "shim/mpi/comm/peer_query.h"

namespace sennit::shim::mpi {

class MpiCarrier final : public msg::Carrier {
 public:
  /// `comm`: of all ranks of MPI_COMM_WORLD, in their order, which only the drop-in uses. All outlive it.
  MpiCarrier(const Mpi& mpi, Handle comm, PeerQuery& peer_query) : mpi_(mpi), comm_(comm), peer_query_(peer_query) {}

  std::string_view plan() const override { return "in chunks, through the MPI"; }
  Result<Request> send(const void* data, std::uint64_t bytes, int rank, int tag) override {
    Handle request = kNoHandle;
    const int code = mpi_.begin_send(comm_, data, static_cast<int>(bytes), rank, tag, request);
    return code == 0 ? Result<Request>(request) : failed("MPI_Isend", code);
  }
  Result<Request> receive(void* data, std::uint64_t bytes, int rank, int tag) override {
    Handle request = kNoHandle;
    const int code = mpi_.begin_receive(comm_, data, static_cast<int>(bytes), rank, tag, request);
    return code == 0 ? Result<Request>(request) : failed("MPI_Irecv", code);
  }
  Result<bool> sent(Request request) override {
    bool done = false;
    const int code = mpi_.done(request, done);
    return code == 0 ? Result<bool>(done) : failed("MPI_Test", code);
  }
  Result<std::optional<std::uint64_t>> received(Request request) override {
    bool done = false;
    Received told;
    if (const int code = mpi_.look_at(request, true, done, told); code != 0) return failed("MPI_Test", code);
    return done ? std::optional(static_cast<std::uint64_t>(told.bytes)) : std::nullopt;
  }
  bool cancel(Request request) override { return mpi_.cancel(request) == 0; }
  void publish(int slot, const std::optional<msg::Announced>& what) override { peer_query_.announce(slot, what); }
  std::optional<msg::Announced> published(int rank, int slot) override { return peer_query_.announced(rank, slot); }

 private:
  static Status failed(std::string_view function, int code) {
    return Status(Code::system_error, fmt::format("{} returned error {}", function, code), "between nodes");
  }

  const Mpi& mpi_;
  const Handle comm_;
  PeerQuery& peer_query_;
};

}  // namespace sennit::shim::mpi
