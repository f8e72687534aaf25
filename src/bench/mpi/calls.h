// The loops that are timed, over one set of functions of one ABI.
#pragma once

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "bench/mpi/functions.h"
#include "bench/mpi/job.h"
#include "shim/mpi/handle.h"

namespace sennit::bench::mpi {

/// What stays the same from batch to batch.
template <class Abi>
struct Setting {
  typename Abi::Comm world;
  typename Abi::Datatype type;
  typename Abi::Op op;
  int element_bytes = 1;
  typename Abi::Win win{};    ///< of one-sided calls
  typename Abi::Info info{};  ///< an empty one: the constant for none differs from MPI to MPI
};

template <class Abi>
class Calls {
 public:
  using Request = typename Abi::Request;
  using Clock = std::chrono::steady_clock;

  /// `barrier`: the MPI's own, for what is not timed.
  Calls(const Functions<Abi>& functions, int (*barrier)(typename Abi::Comm), const Setting<Abi>& setting,
        const Batch& batch, Memories& memories)
      : call_(functions),
        barrier_(barrier),
        setting_(setting),
        batch_(batch),
        memories_(memories),
        layout_(batch.layout),
        window_(batch.layout.what.window),
        bytes_(batch.layout.what.bytes),
        count_(static_cast<int>(bytes_ / static_cast<unsigned>(setting.element_bytes))),
        parts_(std::gcd(count_, kMostParts)),
        peer_(batch.layout.peer()),
        input_(batch.by_hand() ? batch.staged_input : batch.input),
        output_(batch.by_hand() ? batch.staged_output : batch.output),
        requests_(2 * static_cast<std::size_t>(window_)) {}

  /// µs of all `calls`: of messages from the first one's start to the last one's end on the rank that sends first, of
  /// collectives in the calls alone.
  Status run(int calls, double& us) {
    us = 0;
    check(barrier_(setting_.world), "MPI_Barrier");
    if (is_one_sided(layout_.what.operation)) {
      one_sided(calls, us);
      return status_;
    }
    if (!is_message(layout_.what.operation)) {
      collectives(calls, us);
      return status_;
    }
    if (peer_ != Layout::kNobody) messages(calls, us);
    return status_;
  }

 private:
  static constexpr int kTag = 1;
  static constexpr int kMostParts = 16;  // of a partitioned message: a default, as many threads give them

  static double since(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  static auto* ignore() { return reinterpret_cast<typename Abi::Status*>(Abi::kStatusIgnore); }
  void* in_place() const { return reinterpret_cast<void*>(Abi::kInPlace); }

  /// The first error is kept; calls go on, so that no other rank waits in vain.
  void check(int code, const char* function) {
    if (code != 0 && status_.ok())
      status_ = Status(Code::system_error, fmt::format("{} returned {}", function, code), {},
                       "The MPI's own messages may say why");
  }
  void check(Status status) {
    if (!status.ok() && status_.ok()) status_ = std::move(status);
  }

  /// By hand: some of the input into pinned memory, at once; some of the output out of it, until wait().
  void down(std::uint64_t at, std::uint64_t bytes) {
    if (!batch_.by_hand() || bytes == 0) return;
    check(memories_.copy(batch_.staged_input + at, batch_.input + at, bytes));
  }
  void begin_up(std::uint64_t at, std::uint64_t bytes) {
    if (!batch_.by_hand() || bytes == 0) return;
    check(memories_.begin_copy(batch_.output + at, batch_.staged_output + at, bytes));
  }
  void wait_up() {
    if (batch_.by_hand()) check(memories_.wait());
  }

  void messages(int calls, double& us) {
    const Operation operation = layout_.what.operation;
    const bool kept = operation == Operation::persistent || operation == Operation::partitioned;
    if (kept && !make_requests()) return;
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) {
      if (is_ping_pong(operation))
        ping_pong();
      else if (operation == Operation::bidirectional)
        both_ways();
      else
        one_way();
    }
    if (layout_.is_first()) us = since(begin);
    if (kept) free_requests();
  }

  /// Of both ways: the one that is sent, and the one that is received.
  bool make_requests() {
    Request* const sent = &requests_[0];
    Request* const received = &requests_[1];
    if (layout_.what.operation == Operation::persistent) {
      check(call_.send_init(input_, count_, setting_.type, peer_, kTag, setting_.world, sent), "MPI_Send_init");
      check(call_.recv_init(output_, count_, setting_.type, peer_, kTag, setting_.world, received), "MPI_Recv_init");
    } else {
      const int each = count_ / parts_;
      check(call_.psend_init(input_, parts_, each, setting_.type, peer_, kTag, setting_.world, setting_.info, sent),
            "MPI_Psend_init");
      check(call_.precv_init(output_, parts_, each, setting_.type, peer_, kTag, setting_.world, setting_.info,
                             received),
            "MPI_Precv_init");
    }
    return status_.ok();
  }
  void free_requests() {
    for (Request* const each : {&requests_[0], &requests_[1]}) check(call_.request_free(each), "MPI_Request_free");
  }

  void send() {
    switch (layout_.what.operation) {
      case Operation::persistent:
        down(0, bytes_);
        check(call_.start(&requests_[0]), "MPI_Start");
        break;
      case Operation::partitioned:
        check(call_.start(&requests_[0]), "MPI_Start");
        for (int part = 0; part < parts_; ++part) {
          const std::uint64_t some = bytes_ / static_cast<unsigned>(parts_);
          down(static_cast<unsigned>(part) * some, some);
          check(call_.pready(part, requests_[0]), "MPI_Pready");
        }
        break;
      default: {
        down(0, bytes_);
        check(call_.send(input_, count_, setting_.type, peer_, kTag, setting_.world), "MPI_Send");
        return;
      }
    }
    check(call_.wait(&requests_[0], ignore()), "MPI_Wait");
  }
  void receive() {
    if (layout_.what.operation == Operation::latency) {
      check(call_.recv(output_, count_, setting_.type, peer_, kTag, setting_.world, ignore()), "MPI_Recv");
    } else {
      check(call_.start(&requests_[1]), "MPI_Start");
      check(call_.wait(&requests_[1], ignore()), "MPI_Wait");
    }
    begin_up(0, bytes_);
    wait_up();
  }
  void ping_pong() {
    if (layout_.is_first()) send();
    receive();
    if (!layout_.is_first()) send();
  }

  /// A window at a time; the receiver's empty answer ends it. By hand, the next message is copied down while those
  /// before it travel.
  void send_window(Request* requests) {
    for (int i = 0; i < window_; ++i) {
      const std::uint64_t at = static_cast<unsigned>(i) * bytes_;
      down(at, bytes_);
      check(call_.isend(input_ + at, count_, setting_.type, peer_, kTag, setting_.world, &requests[i]), "MPI_Isend");
    }
  }
  void open_window(Request* requests) {
    for (int i = 0; i < window_; ++i)
      check(call_.irecv(output_ + static_cast<unsigned>(i) * bytes_, count_, setting_.type, peer_, kTag,
                        setting_.world, &requests[i]),
            "MPI_Irecv");
  }
  void close_window(Request* requests) {
    if (!batch_.by_hand()) {
      check(call_.waitall(window_, requests, ignore()), "MPI_Waitall");
      return;
    }
    for (int i = 0; i < window_; ++i) {
      check(call_.wait(&requests[i], ignore()), "MPI_Wait");
      begin_up(static_cast<unsigned>(i) * bytes_, bytes_);
    }
    wait_up();
  }
  void one_way() {
    if (layout_.is_first()) {
      send_window(requests_.data());
      check(call_.waitall(window_, requests_.data(), ignore()), "MPI_Waitall");
      check(call_.recv(&answer_, 0, setting_.type, peer_, kTag, setting_.world, ignore()), "MPI_Recv");
    } else {
      open_window(requests_.data());
      close_window(requests_.data());
      check(call_.send(&answer_, 0, setting_.type, peer_, kTag, setting_.world), "MPI_Send");
    }
  }
  void both_ways() {
    Request* const sent = requests_.data() + window_;
    open_window(requests_.data());
    send_window(sent);
    close_window(requests_.data());
    check(call_.waitall(window_, sent, ignore()), "MPI_Waitall");
  }

  /// Between fences, since by hand the target has to copy before and after.
  void one_sided(int calls, double& us) {
    const Operation operation = layout_.what.operation;
    const auto win = setting_.win;
    const auto type = setting_.type;
    for (int i = 0; i < calls; ++i) {
      check(barrier_(setting_.world), "MPI_Barrier");
      const auto begin = Clock::now();
      down(0, layout_.input_bytes());
      if (operation == Operation::accumulate && layout_.is_target() && batch_.by_hand())
        check(memories_.copy(batch_.staged_output, batch_.output, bytes_));
      check(call_.win_fence(0, win), "MPI_Win_fence");
      if (layout_.rank == Layout::kRoot) {
        if (operation == Operation::put)
          check(call_.put(input_, count_, type, peer_, 0, count_, type, win), "MPI_Put");
        else if (operation == Operation::get)
          check(call_.get(output_, count_, type, peer_, 0, count_, type, win), "MPI_Get");
        else
          check(call_.accumulate(input_, count_, type, peer_, 0, count_, type, setting_.op, win), "MPI_Accumulate");
      }
      check(call_.win_fence(0, win), "MPI_Win_fence");
      begin_up(0, layout_.output_bytes());
      wait_up();
      us += since(begin);
    }
  }

  /// As the OSU benchmarks do: ranks meet before each call, which is not timed.
  void collectives(int calls, double& us) {
    if (has_counts(layout_.what.operation))
      for (int rank = 0; rank < layout_.size; ++rank) {
        counts_.push_back(count_);
        places_.push_back(rank * count_);
      }
    const bool kept = layout_.what.operation == Operation::allreduce_init;
    if (kept) {
      const void* const input = layout_.what.in_place ? in_place() : input_;
      check(call_.allreduce_init(input, output_, count_, setting_.type, setting_.op, setting_.world, setting_.info,
                                 requests_.data()),
            "MPI_Allreduce_init");
      if (!status_.ok()) return;
    }
    for (int i = 0; i < calls; ++i) {
      if (layout_.what.operation != Operation::barrier) check(barrier_(setting_.world), "MPI_Barrier");
      const auto begin = Clock::now();
      down(0, layout_.input_bytes());
      check(collective(), "a collective of MPI's");
      begin_up(0, layout_.output_bytes());
      wait_up();
      us += since(begin);
    }
    if (kept) check(call_.request_free(requests_.data()), "MPI_Request_free");
  }

  int collective() {
    const auto type = setting_.type;
    const auto op = setting_.op;
    const auto world = setting_.world;
    const int root = Layout::kRoot;
    // Of a reduce, the root alone says that it is in place.
    const bool is_root = layout_.rank == root;
    const bool placed = layout_.what.in_place && (layout_.what.operation != Operation::reduce || is_root);
    const void* const input = placed ? in_place() : input_;
    switch (layout_.what.operation) {
      case Operation::allreduce: return call_.allreduce(input, output_, count_, type, op, world);
      case Operation::iallreduce: {
        const int code = call_.iallreduce(input, output_, count_, type, op, world, requests_.data());
        return code != 0 ? code : call_.wait(requests_.data(), ignore());
      }
      case Operation::allreduce_init: {
        const int code = call_.start(requests_.data());
        return code != 0 ? code : call_.wait(requests_.data(), ignore());
      }
      case Operation::reduce: return call_.reduce(input, output_, count_, type, op, root, world);
      case Operation::reduce_scatter_block:
        return call_.reduce_scatter_block(input, output_, count_, type, op, world);
      case Operation::reduce_scatter: return call_.reduce_scatter(input, output_, counts_.data(), type, op, world);
      case Operation::scan: return call_.scan(input, output_, count_, type, op, world);
      case Operation::exscan: return call_.exscan(input, output_, count_, type, op, world);
      case Operation::bcast: return call_.bcast(is_root ? input_ : output_, count_, type, root, world);
      case Operation::allgather: return call_.allgather(input, count_, type, output_, count_, type, world);
      case Operation::allgatherv:
        return call_.allgatherv(input, count_, type, output_, counts_.data(), places_.data(), type, world);
      case Operation::gather: return call_.gather(input, count_, type, output_, count_, type, root, world);
      case Operation::gatherv:
        return call_.gatherv(input, count_, type, output_, counts_.data(), places_.data(), type, root, world);
      case Operation::scatterv:
        return call_.scatterv(input, counts_.data(), places_.data(), type, output_, count_, type, root, world);
      case Operation::scatter: return call_.scatter(input, count_, type, output_, count_, type, root, world);
      case Operation::alltoall: return call_.alltoall(input, count_, type, output_, count_, type, world);
      case Operation::alltoallv:
        return call_.alltoallv(input, counts_.data(), places_.data(), type, output_, counts_.data(), places_.data(),
                               type, world);
      default: return call_.barrier(world);
    }
  }

  const Functions<Abi>& call_;
  int (*const barrier_)(typename Abi::Comm);
  const Setting<Abi>& setting_;
  const Batch& batch_;
  Memories& memories_;
  const Layout& layout_;
  const int window_;
  const std::uint64_t bytes_;
  const int count_;
  const int parts_;  ///< as many as there are whole elements for, up to kMostParts
  const int peer_;
  std::byte* const input_;
  std::byte* const output_;
  std::vector<Request> requests_;
  std::vector<int> counts_, places_;
  int answer_ = 0;
  Status status_;
};

}  // namespace sennit::bench::mpi
