// Every collective of the C API on int32, with every root, in place and not: what jobs on the host executor and on
// GPUs check alike. `Space` says where the numbers live:
//   Space(sennit_comm*, bytes), data(), put(src, bytes), get(dst, bytes), and void* stream.
#pragma once

#include <numeric>
#include <vector>

#include "capi_rank.h"

namespace sennit::capi {

template <class Space>
class Family {
 public:
  using Numbers = std::vector<std::int32_t>;

  Family(sennit_comm* comm, std::uint64_t count)
      : comm_(comm), rank_(sennit_comm_rank(comm)), size_(sennit_comm_size(comm)), count_(count) {}

  bool all_right() {
    for (const bool in_place : {false, true}) {
      run(
          in_place, Shape{1, 1}, 0,
          [&](const void* in, void* out, void* stream) {
            return sennit_allreduce(comm_, in, out, count_, SENNIT_INT32, SENNIT_SUM, nullptr, stream);
          },
          [&](int, std::uint64_t i) { return sum(i); }, "allreduce");
      run(
          in_place, Shape{ranks(), 1}, -1,
          [&](const void* in, void* out, void* stream) {
            return sennit_reduce_scatter(comm_, in, out, count_, SENNIT_INT32, SENNIT_SUM, nullptr, stream);
          },
          [&](int, std::uint64_t i) { return sum(mine() + i); }, "reduce_scatter");
      run(
          in_place, Shape{1, ranks()}, 1,
          [&](const void* in, void* out, void* stream) {
            return sennit_allgather(comm_, in, out, count_, SENNIT_INT32, stream);
          },
          [&](int from, std::uint64_t i) { return number(from, i); }, "allgather");
      run(
          in_place, Shape{ranks(), ranks()}, 0,
          [&](const void* in, void* out, void* stream) {
            return sennit_all_to_all(comm_, in, out, count_, SENNIT_INT32, stream);
          },
          [&](int from, std::uint64_t i) { return number(from, mine() + i); }, "all_to_all");
      for (int root = 0; root < size_; ++root) {
        const std::uint64_t here = rank_ == root ? 1 : 0;
        run(
            in_place, Shape{1, here}, 0,
            [&](const void* in, void* out, void* stream) {
              return sennit_reduce(comm_, in, out, count_, SENNIT_INT32, SENNIT_SUM, nullptr, root, stream);
            },
            [&](int, std::uint64_t i) { return sum(i); }, "reduce");
        run(
            in_place, Shape{here, 1}, 0,
            [&](const void* in, void* out, void* stream) {
              return sennit_broadcast(comm_, in, out, count_, SENNIT_INT32, root, stream);
            },
            [&](int, std::uint64_t i) { return number(root, i); }, "broadcast");
        run(
            in_place, Shape{1, here * ranks()}, 1,
            [&](const void* in, void* out, void* stream) {
              return sennit_gather(comm_, in, out, count_, SENNIT_INT32, root, stream);
            },
            [&](int from, std::uint64_t i) { return number(from, i); }, "gather");
        run(
            in_place, Shape{here * ranks(), 1}, -1,
            [&](const void* in, void* out, void* stream) {
              return sennit_scatter(comm_, in, out, count_, SENNIT_INT32, root, stream);
            },
            [&](int, std::uint64_t i) { return number(root, mine() + i); }, "scatter");
      }
    }
    all_to_all_v();
    return good_;
  }

 private:
  /// Messages of `count` that a rank gives and gets.
  struct Shape {
    std::uint64_t given, taken;
  };

  std::uint64_t ranks() const { return static_cast<std::uint64_t>(size_); }
  std::uint64_t mine() const { return static_cast<std::uint64_t>(rank_) * count_; }
  /// Element i of what a rank gives in this call.
  std::int32_t number(int rank, std::uint64_t i) const {
    return std::int32_t((i * 2654435761u + call_ * 40503u) >> 8) % 1000 + rank * 7;
  }
  std::int32_t sum(std::uint64_t i) const {
    std::int32_t all = 0;
    for (int rank = 0; rank < size_; ++rank) all += number(rank, i);
    return all;
  }

  /// `own`: in place, where this rank's own message lies: 1 in the output, -1 in the input, 0 at the beginning of
  /// both.
  template <class Call, class Expected>
  void run(bool in_place, Shape shape, int own, Call call, Expected expected, const char* name) {
    ++call_;
    const std::uint64_t given = shape.given * count_, taken = shape.taken * count_;
    const std::uint64_t both = std::max(std::max(given, taken), own == 0 ? 0 : ranks() * count_);
    Space input(comm_, (in_place ? both : given) * 4), output(comm_, (in_place ? 0 : taken) * 4);
    auto* const from = static_cast<std::int32_t*>(input.data()) + (in_place && own > 0 ? mine() : 0);
    auto* const to = in_place ? static_cast<std::int32_t*>(input.data()) + (own < 0 ? mine() : 0)
                              : static_cast<std::int32_t*>(output.data());
    Numbers numbers(given);
    for (std::uint64_t i = 0; i < given; ++i) numbers[i] = number(rank_, i);
    input.put(from, numbers.data(), given * 4);
    must(call(from, to, input.stream));
    must(sennit_synchronize(comm_, input.stream));
    Numbers got(taken);
    input.get(got.data(), to, taken * 4);
    for (std::uint64_t i = 0; i < taken; ++i)
      if (const auto right = expected(int(i / count_), i % count_); got[i] != right) {
        say("{}{} of {}: element {} is {} instead of {}", name, in_place ? " in place" : "", count_, i, got[i],
            right);
        good_ = false;
        return;
      }
  }

  /// Rank a sends rank b (a + 2b) % 4 times a part of the count.
  void all_to_all_v() {
    ++call_;
    const auto length = [&](std::uint64_t from, std::uint64_t to) { return (from + 2 * to) % 4 * (count_ / 3 + 1); };
    const auto me = static_cast<std::uint64_t>(rank_);
    std::vector<std::uint64_t> sent, sent_from, received, received_to;
    std::uint64_t all_sent = 0, all_received = 0;
    for (std::uint64_t peer = 0; peer < ranks(); ++peer) {
      sent.push_back(length(me, peer));
      sent_from.push_back(std::exchange(all_sent, all_sent + sent.back()));
      received.push_back(length(peer, me));
      received_to.push_back(std::exchange(all_received, all_received + received.back() + 1));  // with gaps
    }
    Space input(comm_, all_sent * 4), output(comm_, all_received * 4);
    Numbers numbers;
    for (std::uint64_t peer = 0; peer < ranks(); ++peer)
      for (std::uint64_t i = 0; i < sent[peer]; ++i) numbers.push_back(number(rank_, peer * 1000003 + i));
    input.put(input.data(), numbers.data(), all_sent * 4);
    must(sennit_all_to_all_v(comm_, input.data(), sent.data(), sent_from.data(), output.data(), received.data(),
                             received_to.data(), SENNIT_INT32, input.stream));
    must(sennit_synchronize(comm_, input.stream));
    Numbers got(all_received);
    input.get(got.data(), output.data(), all_received * 4);
    for (std::uint64_t peer = 0; peer < ranks(); ++peer)
      for (std::uint64_t i = 0; i < received[peer]; ++i)
        if (got[received_to[peer] + i] != number(int(peer), me * 1000003 + i)) {
          say("all_to_all_v: element {} from rank {} is wrong", i, peer);
          good_ = false;
          return;
        }
  }

  sennit_comm* comm_;
  const int rank_, size_;
  const std::uint64_t count_;
  std::uint64_t call_ = 0;
  bool good_ = true;
};

}  // namespace sennit::capi
