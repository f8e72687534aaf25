// Makes the loops that are timed, over one set of functions of one ABI: one for each operation of the benchmark,
// which is why the file is long.
#pragma once

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "bench/mpi/functions.h"
#include "bench/mpi/job.h"
#include "shim/mpi/abi/handle.h"

namespace sennit::bench::mpi {

/// Holds what does not change from batch to batch.
template <class Abi>
struct Setting {
  typename Abi::Comm world;
  typename Abi::Datatype type;
  typename Abi::Op op;
  typename Abi::Datatype word;  ///< an integer of 8 bytes, of atomic calls
  int element_bytes = 1;
  typename Abi::Comm ring{};  ///< of neighbours
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
        requests_(std::max(2 * static_cast<std::size_t>(window_), std::size_t{layout_.given()} + layout_.taken())) {}

  /// Does `calls` calls and adds up what they took. Messages are timed from the start of the first one to the end of
  /// the last one, on the rank that sends first; collectives and one-sided calls are timed one by one.
  Status run(int calls, Spent& spent) {
    check(barrier_(setting_.world), "MPI_Barrier");
    if (is_one_sided(layout_.what.operation))
      one_sided(calls, spent);
    else if (layout_.what.operation == Operation::exchange)
      exchanges(calls, spent);
    else if (!is_message(layout_.what.operation))
      collectives(calls, spent);
    else if (peer_ != Layout::kNobody)
      messages(calls, spent);
    else if (layout_.what.operation == Operation::partitioned)
      take_no_part();
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

  /// The first error is kept; calls go on, so that no other rank waits for ever.
  void check(int code, const char* function) {
    if (code != 0 && status_.ok())
      status_ = Status(Code::system_error, fmt::format("{} returned {}", function, code), {},
                       "The MPI's own messages may say why");
  }
  void check(Status status) {
    if (!status.ok() && status_.ok()) status_ = std::move(status);
  }

  /// Copies by hand some of the input into pinned memory, at once. begin_up() copies some of the output out of it,
  /// until wait_up().
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

  void messages(int calls, Spent& spent) {
    const Operation operation = layout_.what.operation;
    const bool kept = is_kept() || operation == Operation::partitioned;
    if (kept && !make_requests()) return;
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) {
      if (is_ping_pong(operation))
        ping_pong();
      else if (is_bidirectional(operation))
        both_ways();
      else
        one_way();
    }
    spent.all_us = since(begin);
    if (layout_.is_first()) spent.us = spent.all_us;
    if (kept) free_requests();
  }

  /// Returns true where requests are made once and started for each message.
  bool is_kept() const { return layout_.what.style == Style::persistent; }
  /// The requests of a window's messages lie in one list: first all that receive, then all that send.
  Request* received(int index = 0) { return &requests_[static_cast<std::size_t>(index)]; }
  Request* sent(int index = 0) {
    return &requests_[static_cast<std::size_t>(window_) + static_cast<std::size_t>(index)];
  }

  /// Open MPI's first partitioned requests wait until every rank has made some: without these, of nothing and to the
  /// rank itself, they never end on more than two ranks.
  void take_no_part() {
    if (!make_partitioned(1, 0, layout_.rank)) return;
    check(call_.request_free(sent()), "MPI_Request_free");
    check(call_.request_free(received()), "MPI_Request_free");
  }
  bool make_partitioned(int parts, int each, int peer) {
    check(call_.psend_init(input_, parts, each, setting_.type, peer, kTag, setting_.world, setting_.info, sent()),
          "MPI_Psend_init");
    check(
        call_.precv_init(output_, parts, each, setting_.type, peer, kTag, setting_.world, setting_.info, received()),
        "MPI_Precv_init");
    return status_.ok();
  }

  bool make_requests() {
    if (layout_.what.operation == Operation::partitioned) return make_partitioned(parts_, count_ / parts_, peer_);
    for (int i = 0; i < int(layout_.given()); ++i)
      check(call_.send_init(input_ + at(i), count_, setting_.type, peer_, kTag, setting_.world, sent(i)),
            "MPI_Send_init");
    for (int i = 0; i < int(layout_.taken()); ++i)
      check(call_.recv_init(output_ + at(i), count_, setting_.type, peer_, kTag, setting_.world, received(i)),
            "MPI_Recv_init");
    return status_.ok();
  }
  void free_requests() {
    for (int i = 0; i < int(layout_.given()); ++i) check(call_.request_free(sent(i)), "MPI_Request_free");
    for (int i = 0; i < int(layout_.taken()); ++i) check(call_.request_free(received(i)), "MPI_Request_free");
  }
  /// Returns the offset of a window's message.
  std::uint64_t at(int index) const { return static_cast<unsigned>(index) * bytes_; }

  void send() {
    if (layout_.what.operation == Operation::partitioned) {
      check(call_.start(sent()), "MPI_Start");
      for (int part = 0; part < parts_; ++part) {
        const std::uint64_t some = bytes_ / static_cast<unsigned>(parts_);
        down(static_cast<unsigned>(part) * some, some);
        check(call_.pready(part, *sent()), "MPI_Pready");
      }
      check(call_.wait(sent(), ignore()), "MPI_Wait");
      return;
    }
    down(0, bytes_);
    if (is_kept()) {
      check(call_.start(sent()), "MPI_Start");
      check(call_.wait(sent(), ignore()), "MPI_Wait");
    } else {
      check(call_.send(input_, count_, setting_.type, peer_, kTag, setting_.world), "MPI_Send");
    }
  }
  void receive() {
    if (is_kept() || layout_.what.operation == Operation::partitioned) {
      check(call_.start(received()), "MPI_Start");
      check(call_.wait(received(), ignore()), "MPI_Wait");
    } else {
      check(call_.recv(output_, count_, setting_.type, peer_, kTag, setting_.world, ignore()), "MPI_Recv");
    }
    begin_up(0, bytes_);
    wait_up();
  }
  void ping_pong() {
    if (layout_.is_first()) send();
    receive();
    if (!layout_.is_first()) send();
  }

  /// Sends a window at a time; the receiver's empty answer ends it. By hand, the next message is copied down while
  /// those before it travel.
  void send_window() {
    for (int i = 0; i < window_; ++i) {
      down(at(i), bytes_);
      if (is_kept())
        check(call_.start(sent(i)), "MPI_Start");
      else
        check(call_.isend(input_ + at(i), count_, setting_.type, peer_, kTag, setting_.world, sent(i)), "MPI_Isend");
    }
  }
  void open_window() {
    for (int i = 0; i < window_; ++i)
      if (is_kept())
        check(call_.start(received(i)), "MPI_Start");
      else
        check(call_.irecv(output_ + at(i), count_, setting_.type, peer_, kTag, setting_.world, received(i)),
              "MPI_Irecv");
  }
  void close_window() {
    if (!batch_.by_hand()) {
      check(call_.waitall(window_, received(), ignore()), "MPI_Waitall");
      return;
    }
    for (int i = 0; i < window_; ++i) {
      check(call_.wait(received(i), ignore()), "MPI_Wait");
      begin_up(at(i), bytes_);
    }
    wait_up();
  }
  void one_way() {
    if (layout_.is_first()) {
      send_window();
      check(call_.waitall(window_, sent(), ignore()), "MPI_Waitall");
      check(call_.recv(&answer_, 0, setting_.type, peer_, kTag, setting_.world, ignore()), "MPI_Recv");
    } else {
      open_window();
      close_window();
      check(call_.send(&answer_, 0, setting_.type, peer_, kTag, setting_.world), "MPI_Send");
    }
  }
  void both_ways() {
    open_window();
    send_window();
    close_window();
    check(call_.waitall(window_, sent(), ignore()), "MPI_Waitall");
  }

  /// Exchanges all messages of a pattern, one exchange after the other, as a stencil code does: ranks wait for their
  /// own messages alone.
  void exchanges(int calls, Spent& spent) {
    const Part& part = *layout_.part;
    const auto elements = [&](const Piece& piece) {
      return static_cast<int>(piece.bytes / static_cast<unsigned>(setting_.element_bytes));
    };
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) {
      Request* request = requests_.data();
      for (const Message& one : part.received)
        check(call_.irecv(output_ + one.piece.at, elements(one.piece), setting_.type, one.peer, kTag, setting_.world,
                          request++),
              "MPI_Irecv");
      for (const Message& one : part.sent)
        check(call_.isend(input_ + one.piece.at, elements(one.piece), setting_.type, one.peer, kTag, setting_.world,
                          request++),
              "MPI_Isend");
      check(call_.waitall(static_cast<int>(request - requests_.data()), requests_.data(), ignore()), "MPI_Waitall");
    }
    spent.us = spent.all_us = since(begin);
  }

  /// Makes one-sided calls between fences, since by hand the target has to copy before and after.
  void one_sided(int calls, Spent& spent) {
    const auto first = Clock::now();
    for (int i = 0; i < calls; ++i) {
      check(barrier_(setting_.world), "MPI_Barrier");
      const auto begin = Clock::now();
      down(0, layout_.input_bytes());
      if (updates(layout_.what.operation) && layout_.is_target() && batch_.by_hand())
        check(memories_.copy(batch_.staged_output, batch_.output, bytes_));
      check(call_.win_fence(0, setting_.win), "MPI_Win_fence");
      for (int message = 0; message < window_ && layout_.is_caller(); ++message) reach(at(message));
      check(call_.win_fence(0, setting_.win), "MPI_Win_fence");
      begin_up(0, layout_.output_bytes());
      wait_up();
      spent.us += since(begin);
    }
    spent.all_us = since(first);
  }
  /// Makes one call, of what lies `at` so many bytes on both sides.
  void reach(std::uint64_t at) {
    const auto win = setting_.win;
    const auto type = setting_.type;
    const auto op = setting_.op;
    const auto there = static_cast<shim::mpi::Aint>(at);
    switch (layout_.what.operation) {
      case Operation::accumulate:
        check(call_.accumulate(input_, count_, type, peer_, there, count_, type, op, win), "MPI_Accumulate");
        break;
      case Operation::get_accumulate:
        check(call_.get_accumulate(input_, count_, type, output_, count_, type, peer_, there, count_, type, op, win),
              "MPI_Get_accumulate");
        break;
      case Operation::fetch_and_op:
        check(call_.fetch_and_op(input_, output_, setting_.word, peer_, there, op, win), "MPI_Fetch_and_op");
        break;
      case Operation::compare_and_swap:
        check(call_.compare_and_swap(input_, input_ + bytes_, output_, setting_.word, peer_, there, win),
              "MPI_Compare_and_swap");
        break;
      case Operation::get:
      case Operation::get_bandwidth:
        check(call_.get(output_ + at, count_, type, peer_, there, count_, type, win), "MPI_Get");
        break;
      default: check(call_.put(input_ + at, count_, type, peer_, there, count_, type, win), "MPI_Put");
    }
  }

  /// Times a collective as the OSU benchmarks do: ranks meet before each call, which is not timed.
  void collectives(int calls, Spent& spent) {
    for (int rank = 0; rank < layout_.size; ++rank) {
      counts_.push_back(count_);
      places_.push_back(rank * count_);
      byte_places_.push_back(rank * static_cast<int>(bytes_));
      far_places_.push_back(rank * static_cast<shim::mpi::Aint>(bytes_));
      types_.push_back(setting_.type);
    }
    if (is_kept()) {
      const auto make = [&](const auto& function, auto... arguments) {
        return function.persistent(arguments..., setting_.info, requests_.data());
      };
      check(with_collective(make), "a persistent collective of MPI's");
      if (!status_.ok()) return;
    }
    const auto first = Clock::now();
    for (int i = 0; i < calls; ++i) {
      if (layout_.what.operation != Operation::barrier) check(barrier_(setting_.world), "MPI_Barrier");
      const auto begin = Clock::now();
      down(0, layout_.input_bytes());
      check(collective(), "a collective of MPI's");
      begin_up(0, layout_.output_bytes());
      wait_up();
      spent.us += since(begin);
    }
    spent.all_us = since(first);
    if (is_kept()) check(call_.request_free(requests_.data()), "MPI_Request_free");
  }

  int collective() {
    if (layout_.what.style == Style::blocking)
      return with_collective([](const auto& function, auto... arguments) { return function.blocking(arguments...); });
    const int code =
        is_kept() ? call_.start(requests_.data()) : with_collective([&](const auto& function, auto... arguments) {
          return function.nonblocking(arguments..., requests_.data());
        });
    return code != 0 ? code : call_.wait(requests_.data(), ignore());
  }

  /// Calls visit(its three functions, what all of them are given).
  template <class Visit>
  int with_collective(const Visit& visit) {
    const auto type = setting_.type;
    const auto op = setting_.op;
    const auto world = setting_.world;
    const auto ring = setting_.ring;
    const int root = Layout::kRoot;
    const int *const counts = counts_.data(), *const places = places_.data(), *const bytes = byte_places_.data();
    const auto* const types = types_.data();
    // Only the root of a reduce says that it is in place.
    const bool is_root = layout_.rank == root;
    const bool placed = layout_.what.in_place && (layout_.what.operation != Operation::reduce || is_root);
    const void* const input = placed ? in_place() : input_;
    switch (layout_.what.operation) {
      using enum Operation;
      case allreduce: return visit(call_.allreduce, input, output_, count_, type, op, world);
      case reduce: return visit(call_.reduce, input, output_, count_, type, op, root, world);
      case reduce_scatter_block: return visit(call_.reduce_scatter_block, input, output_, count_, type, op, world);
      case reduce_scatter: return visit(call_.reduce_scatter, input, output_, counts, type, op, world);
      case scan: return visit(call_.scan, input, output_, count_, type, op, world);
      case exscan: return visit(call_.exscan, input, output_, count_, type, op, world);
      case bcast: return visit(call_.bcast, is_root ? input_ : output_, count_, type, root, world);
      case allgather: return visit(call_.allgather, input, count_, type, output_, count_, type, world);
      case allgatherv: return visit(call_.allgatherv, input, count_, type, output_, counts, places, type, world);
      case gather: return visit(call_.gather, input, count_, type, output_, count_, type, root, world);
      case gatherv: return visit(call_.gatherv, input, count_, type, output_, counts, places, type, root, world);
      case scatterv: return visit(call_.scatterv, input, counts, places, type, output_, count_, type, root, world);
      case scatter: return visit(call_.scatter, input, count_, type, output_, count_, type, root, world);
      case alltoall: return visit(call_.alltoall, input, count_, type, output_, count_, type, world);
      case alltoallv:
        return visit(call_.alltoallv, input, counts, places, type, output_, counts, places, type, world);
      case alltoallw:
        return visit(call_.alltoallw, input, counts, bytes, types, output_, counts, bytes, types, world);
      case neighbor_allgather:
        return visit(call_.neighbor_allgather, input, count_, type, output_, count_, type, ring);
      case neighbor_allgatherv:
        return visit(call_.neighbor_allgatherv, input, count_, type, output_, counts, places, type, ring);
      case neighbor_alltoall: return visit(call_.neighbor_alltoall, input, count_, type, output_, count_, type, ring);
      case neighbor_alltoallv:
        return visit(call_.neighbor_alltoallv, input, counts, places, type, output_, counts, places, type, ring);
      case neighbor_alltoallw:
        return visit(call_.neighbor_alltoallw, input, counts, far_places_.data(), types, output_, counts,
                     far_places_.data(), types, ring);
      default: return visit(call_.barrier, world);
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
  // The arrays say where each rank's elements lie, in elements and in bytes, for collectives whose ranks have numbers
  // of elements of their own.
  std::vector<int> counts_, places_, byte_places_;
  std::vector<shim::mpi::Aint> far_places_;
  std::vector<typename Abi::Datatype> types_;
  int answer_ = 0;
  Status status_;
};

}  // namespace sennit::bench::mpi
