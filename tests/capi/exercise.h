// One collective of the C API on int32, as this rank takes part in it: its numbers, the call, and what should come of
// it. What jobs on the host executor and on GPUs check alike. `Space` says where the numbers live:
//   Space(sennit_comm*, bytes), data(), put(to, from, bytes) from host memory, get(to, from, bytes) to it.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "capi_rank.h"

namespace sennit::capi {

enum class Collective {
  allreduce,
  reduce_scatter,
  allgather,
  reduce,
  broadcast,
  gather,
  scatter,
  all_to_all,
  all_to_all_v,
};
inline constexpr std::array kCollectives{Collective::allreduce, Collective::reduce_scatter, Collective::allgather,
                                         Collective::reduce,    Collective::broadcast,      Collective::gather,
                                         Collective::scatter,   Collective::all_to_all,     Collective::all_to_all_v};
constexpr bool has_root(Collective which) {
  return which == Collective::reduce || which == Collective::broadcast || which == Collective::gather ||
         which == Collective::scatter;
}

/// The same on every rank.
struct Task {
  Collective which = Collective::allreduce;
  std::uint64_t count = 0;
  int root = 0;
  bool in_place = false;
  std::uint64_t call = 0;  ///< makes its numbers different from those of other calls
};

template <class Space>
class Exercise {
 public:
  Exercise(sennit_comm* comm, Task task)
      : comm_(comm),
        task_(task),
        rank_(sennit_comm_rank(comm)),
        size_(sennit_comm_size(comm)),
        buffer_(comm, (in_place() ? std::max(given_bytes(), taken_bytes()) : given_bytes()) + kSpare),
        output_(comm, (in_place() ? 0 : taken_bytes()) + kSpare) {
    auto* const first = static_cast<std::int32_t*>(buffer_.data());
    from_ = first + (in_place() && gathers() && !scatters() ? own() : 0);
    to_ = in_place() ? first + (scatters() && !gathers() ? own() : 0) : static_cast<std::int32_t*>(output_.data());
    std::vector<std::int32_t> numbers;
    if (task_.which == Collective::all_to_all_v) {
      for (std::uint64_t peer = 0; peer < ranks(); ++peer)
        for (std::uint64_t i = 0; i < length(me(), peer); ++i) numbers.push_back(number(rank_, peer * kFar + i));
    } else {
      for (std::uint64_t i = 0; i < given() * task_.count; ++i) numbers.push_back(number(rank_, i));
    }
    buffer_.put(from_, numbers.data(), numbers.size() * 4);
  }

  sennit_result enqueue(void* stream) {
    const std::uint64_t n = task_.count;
    switch (task_.which) {
      case Collective::allreduce:
        return sennit_allreduce(comm_, from_, to_, n, SENNIT_INT32, SENNIT_SUM, nullptr, stream);
      case Collective::reduce_scatter:
        return sennit_reduce_scatter(comm_, from_, to_, n, SENNIT_INT32, SENNIT_SUM, nullptr, stream);
      case Collective::allgather: return sennit_allgather(comm_, from_, to_, n, SENNIT_INT32, stream);
      case Collective::reduce:
        return sennit_reduce(comm_, from_, to_, n, SENNIT_INT32, SENNIT_SUM, nullptr, task_.root, stream);
      case Collective::broadcast: return sennit_broadcast(comm_, from_, to_, n, SENNIT_INT32, task_.root, stream);
      case Collective::gather: return sennit_gather(comm_, from_, to_, n, SENNIT_INT32, task_.root, stream);
      case Collective::scatter: return sennit_scatter(comm_, from_, to_, n, SENNIT_INT32, task_.root, stream);
      case Collective::all_to_all: return sennit_all_to_all(comm_, from_, to_, n, SENNIT_INT32, stream);
      case Collective::all_to_all_v: break;
    }
    std::vector<std::uint64_t> sent, sent_from, received, received_to;
    std::uint64_t all_sent = 0;
    for (std::uint64_t peer = 0; peer < ranks(); ++peer) {
      sent.push_back(length(me(), peer));
      sent_from.push_back(all_sent);
      all_sent += sent.back();
      received.push_back(length(peer, me()));
      received_to.push_back(place_of(peer));
    }
    return sennit_all_to_all_v(comm_, from_, sent.data(), sent_from.data(), to_, received.data(), received_to.data(),
                               SENNIT_INT32, stream);
  }

  /// After the stream is done: says what is wrong, if something is.
  bool right() {
    std::vector<std::int32_t> got(taken_bytes() / 4);
    output().get(got.data(), to_, taken_bytes());
    if (task_.which == Collective::all_to_all_v) {
      for (std::uint64_t peer = 0; peer < ranks(); ++peer)
        for (std::uint64_t i = 0; i < length(peer, me()); ++i)
          if (!is(got[place_of(peer) + i], number(int(peer), me() * kFar + i), i)) return false;
      return true;
    }
    for (std::uint64_t i = 0; i < got.size(); ++i)
      if (!is(got[i], expected(int(i / task_.count), i % task_.count), i)) return false;
    return true;
  }

 private:
  static constexpr std::uint64_t kSpare = 4;      // so that nothing is empty
  static constexpr std::uint64_t kFar = 1000003;  // between the numbers of all-to-all-v's messages

  bool gathers() const {
    return task_.which == Collective::allgather || task_.which == Collective::gather ||
           task_.which == Collective::all_to_all;
  }
  bool scatters() const {
    return task_.which == Collective::reduce_scatter || task_.which == Collective::scatter ||
           task_.which == Collective::all_to_all;
  }
  bool reduces() const {
    return task_.which == Collective::allreduce || task_.which == Collective::reduce_scatter ||
           task_.which == Collective::reduce;
  }
  bool in_place() const { return task_.in_place && task_.which != Collective::all_to_all_v; }
  bool is_root() const { return rank_ == task_.root; }
  std::uint64_t ranks() const { return static_cast<std::uint64_t>(size_); }
  std::uint64_t me() const { return static_cast<std::uint64_t>(rank_); }
  std::uint64_t own() const { return me() * task_.count; }

  /// Messages of `count` that this rank gives and gets.
  std::uint64_t given() const {
    const bool none = (task_.which == Collective::broadcast || task_.which == Collective::scatter) && !is_root();
    return none ? 0 : scatters() ? ranks() : 1;
  }
  std::uint64_t taken() const {
    const bool none = (task_.which == Collective::reduce || task_.which == Collective::gather) && !is_root();
    return none ? 0 : gathers() ? ranks() : 1;
  }
  std::uint64_t given_bytes() const {
    if (task_.which != Collective::all_to_all_v) {
      // In place a rank that gives or gets nothing else still has its own message at its place.
      const bool placed = in_place() && (gathers() || scatters());
      return (placed ? ranks() : given()) * task_.count * 4;
    }
    std::uint64_t all = 0;
    for (std::uint64_t peer = 0; peer < ranks(); ++peer) all += length(me(), peer);
    return all * 4;
  }
  std::uint64_t taken_bytes() const {
    return task_.which == Collective::all_to_all_v ? place_of(ranks()) * 4 : taken() * task_.count * 4;
  }
  /// Of all-to-all-v: what rank a sends rank b, and where what a rank sends is put here, with gaps.
  std::uint64_t length(std::uint64_t a, std::uint64_t b) const {
    return (a + 2 * b + task_.call) % 4 * (task_.count / 3 + 1);
  }
  std::uint64_t place_of(std::uint64_t rank) const {
    std::uint64_t at = 0;
    for (std::uint64_t before = 0; before < rank; ++before) at += length(before, me()) + 1;
    return at;
  }

  /// Element i of what a rank gives.
  std::int32_t number(int rank, std::uint64_t i) const {
    return std::int32_t((i * 2654435761u + task_.call * 40503u) >> 8) % 1000 + rank * 7;
  }
  /// Element i of message `message` that this rank gets.
  std::int32_t expected(int message, std::uint64_t i) const {
    const std::uint64_t at = scatters() ? own() + i : i;
    if (!reduces()) return number(gathers() ? message : task_.root, at);
    std::int32_t sum = 0;
    for (int rank = 0; rank < size_; ++rank) sum += number(rank, at);
    return sum;
  }
  bool is(std::int32_t got, std::int32_t expected_one, std::uint64_t i) const {
    if (got == expected_one) return true;
    say("collective {} of {}{}, root {}, call {}: element {} is {} instead of {}", int(task_.which), task_.count,
        in_place() ? " in place" : "", task_.root, task_.call, i, got, expected_one);
    return false;
  }
  Space& output() { return in_place() ? buffer_ : output_; }

  sennit_comm* comm_;
  const Task task_;
  const int rank_, size_;
  Space buffer_, output_;
  std::int32_t *from_ = nullptr, *to_ = nullptr;
};

/// Every collective, with every root, in place and not.
template <class Space>
bool every_collective_is_right(sennit_comm* comm, std::uint64_t count, void* stream) {
  bool good = true;
  std::uint64_t call = 0;
  for (const Collective which : kCollectives)
    for (int root = 0; root < (has_root(which) ? sennit_comm_size(comm) : 1); ++root)
      for (const bool in_place : {false, true}) {
        Exercise<Space> one(comm, {which, count, root, in_place, ++call});
        must(one.enqueue(stream));
        must(sennit_synchronize(comm, stream));
        good = one.right() && good;
      }
  return good;
}

}  // namespace sennit::capi
