#include "bench/partitioned/pattern_trial.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/partitioned/pattern_block.h"
#include "bench/partitioned/trial.h"

namespace sennit::bench::partitioned {

namespace {

constexpr int kUntimedRounds = 1;  // a default

/// Rank 0 says this before each round.
struct Turn {
  enum Which : int { stop, own, single };
  int which = stop;
  int round = 0;
};

/// Each rank says this after it.
struct Told {
  enum Wrong : int { nothing, call, differs, otherwise };
  int wrong = nothing;
  double start_us = 0, end_us = 0;
  Ledger moved;
};

/// The faces to or from one neighbour, each in one of two buffers in turns: one is on its way while the other is
/// used.
class Channel {
 public:
  static Result<std::unique_ptr<Channel>> open(Link& link, BackEnd back_end, const Shape& shape, bool sends,
                                               int peer) {
    auto made = std::make_unique<Channel>();
    made->partitions_ = is_whole(back_end) ? 1 : shape.partitions;
    made->there_ = std::vector<Arrival>(std::size_t(made->partitions_));
    for (int turn = 0; turn < 2; ++turn) {
      auto& buffer = made->buffers_[std::size_t(turn)];
      buffer.resize(shape.bytes / sizeof(double));
      const Message message{reinterpret_cast<std::byte*>(buffer.data()), shape.bytes, made->partitions_};
      auto end = link.open(back_end, message, Way{sends, peer, turn});
      if (!end) return end.status();
      made->ends_[std::size_t(turn)] = std::move(*end);
    }
    return made;
  }

  double* data() { return buffers_[turn()].data(); }

  /// The receiver's: `faces` will come in this round; two are awaited at a time.
  void expect(int faces) {
    number_ = 0;
    faces_ = faces;
    for (int face = 0; face < std::min(2, faces); ++face) ends_[std::size_t(face)]->begin();
    clear();
  }
  /// Waits for a partition; from any thread.
  void await(int partition) {
    Arrival& one = there_[partitions_ == 1 ? 0 : std::size_t(partition)];
    while (!one.is_there.load(std::memory_order_acquire)) {
      if (std::unique_lock lock(one.mutex, std::try_to_lock);
          lock.owns_lock() && !one.is_there.load() && end().arrived(partitions_ == 1 ? 0 : partition))
        one.is_there.store(true, std::memory_order_release);
      else
        (void)sched_yield();  // ranks may be more than cores
    }
  }
  /// The face has been used.
  void used() {
    end().finish();
    if (number_ + 2 < faces_) end().begin();
    ++number_;
    clear();
  }

  /// The sender's: a face is made next.
  void begin() {
    if (number_ >= 2) end().finish();
    end().begin();
  }
  int ready(int partition) { return end().ready(partition); }
  void sent() { ++number_; }
  /// All that was sent in this round has left.
  void flush() {
    for (int face = std::max(0, number_ - 2); face < number_; ++face) ends_[std::size_t(face % 2)]->finish();
    number_ = 0;
  }

  bool ok() const { return ends_[0]->status().ok() && ends_[1]->status().ok(); }

 private:
  struct Arrival {
    std::atomic<bool> is_there{false};
    std::mutex mutex;  // MPI_Test of one request is one thread's at a time
  };
  std::size_t turn() const { return std::size_t(number_ % 2); }
  End& end() { return *ends_[turn()]; }
  void clear() {
    for (Arrival& each : there_) each.is_there.store(false);
  }

  int partitions_ = 1, faces_ = 0, number_ = 0;
  std::array<std::vector<double>, 2> buffers_;
  std::array<std::unique_ptr<End>, 2> ends_;
  std::vector<Arrival> there_;
};

/// One rank's way of doing rounds.
class Rounds {
 public:
  static Result<std::unique_ptr<Rounds>> open(Link& link, BackEnd back_end, const Shape& shape) {
    auto made = std::make_unique<Rounds>(link.rank(), back_end, shape);
    for (std::size_t side = 0; side < kSides; ++side)
      for (const bool sends : {true, false}) {
        const int peer = neighbour(shape.grid, link.rank(), int(side));
        if (peer < 0) continue;
        auto channel = Channel::open(link, back_end, shape, sends, peer);
        if (!channel) return channel.status();
        (sends ? made->to_ : made->from_)[side] = std::move(*channel);
      }
    return made;
  }
  Rounds(int rank, BackEnd back_end, const Shape& shape)
      : rank_(rank), whole_(is_whole(back_end)), shape_(shape), block_(shape, rank) {}

  /// Before all ranks have met.
  void prepare(int round) {
    block_.reset(round);
    std::array<int, kSides> faces{};
    for (int step = 0; step < shape_.steps(); ++step)
      for (std::size_t side = 0; side < kSides; ++side)
        faces[side] += exchange(shape_, rank_, step).receives[side] ? 1 : 0;
    for (std::size_t side = 0; side < kSides; ++side)
      if (from_[side]) from_[side]->expect(faces[side]);
  }
  Told run(int round, const Plan& plan, Threads& threads) {
    Told report;
    report.start_us = now_us();
    for (int step = 0; step < shape_.steps(); ++step) {
      const int code = one(step, round * shape_.steps() + step, plan, threads, report.moved);
      if (code != 0) report.wrong = Told::call;
    }
    for (const auto& channel : to_)
      if (channel) channel->flush();
    report.end_us = now_us();
    for (const auto* channels : {&to_, &from_})
      for (const auto& channel : *channels)
        if (channel && !channel->ok()) report.wrong = Told::call;
    return report;
  }
  std::span<const double> result() const { return block_.result(); }

 private:
  int one(int step, int iteration, const Plan& plan, Threads& threads, Ledger& moved) {
    const Exchange sides = exchange(shape_, rank_, step);
    Faces in{}, out{};
    for (std::size_t side = 0; side < kSides; ++side) {
      if (sides.sends[side]) to_[side]->begin();
      if (sides.receives[side]) in[side] = from_[side]->data();
      if (sides.sends[side]) out[side] = to_[side]->data();
    }
    const auto wait = [&](int partition) {
      for (std::size_t side = 0; side < kSides; ++side)
        if (in[side] != nullptr) from_[side]->await(partition);
    };
    const auto compute = [&](int partition) {
      Faces from = in, to = out;
      for (std::size_t side = 0; side < kSides; ++side) {
        if (in[side] != nullptr) from[side] += shape_.numbers() * std::size_t(partition);
        if (out[side] != nullptr) to[side] += shape_.numbers() * std::size_t(partition);
      }
      block_.step(step, partition, from, to);
      updates_.fetch_add(updates(shape_), std::memory_order_relaxed);
    };
    const auto send = [&](int partition) {
      int first = 0;
      for (std::size_t side = 0; side < kSides; ++side) {
        if (out[side] == nullptr) continue;
        const int code = to_[side]->ready(partition);
        if (first == 0) first = code;
        bytes_.fetch_add(whole_ ? shape_.bytes : shape_.numbers() * sizeof(double), std::memory_order_relaxed);
      }
      return first;
    };
    bytes_.store(0);
    updates_.store(0);
    int code = 0;
    if (whole_) {
      wait(0);
      code = threads
                 .run(
                     plan, iteration, [&](int partition) { return compute(partition), 0; }, [](int) {})
                 .code;
      if (const int sent = send(0); code == 0) code = sent;
    } else {
      code = threads
                 .run(
                     plan, iteration, [&](int partition) { return compute(partition), send(partition); }, wait)
                 .code;
    }
    for (std::size_t side = 0; side < kSides; ++side) {
      if (out[side] != nullptr) to_[side]->sent();
      if (in[side] == nullptr) continue;
      from_[side]->used();
      moved.received += shape_.bytes;
    }
    moved.faces += std::uint64_t(std::ranges::count(sides.sends, true));
    moved.bytes += bytes_.load();
    moved.updates += updates_.load();
    return code;
  }

  const int rank_;
  const bool whole_;
  const Shape shape_;
  Block block_;
  std::array<std::unique_ptr<Channel>, kSides> to_, from_;
  std::atomic<std::uint64_t> bytes_{0}, updates_{0};  // of a step, counted by threads
};

bool is_same(std::span<const double> one, std::span<const double> other) {
  return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size_bytes()) == 0;
}

/// Gathers what all ranks say of a round on rank 0.
Result<Told> gathered(Link& link, const Told& mine) {
  if (link.rank() != 0) {
    if (auto status = link.tell_one(mine, 0); !status) return status;
    return mine;
  }
  Told all = mine;
  for (int rank = 1; rank < link.ranks(); ++rank) {
    Told one;
    if (auto status = link.hear_one(one, rank); !status) return status;
    all.wrong = std::max(all.wrong, one.wrong);
    all.start_us = std::min(all.start_us, one.start_us);
    all.end_us = std::max(all.end_us, one.end_us);
    all.moved += one.moved;
  }
  return all;
}

Status tell_all(Link& link, Turn& next) {
  if (link.rank() != 0) return link.hear_one(next, 0);
  for (int rank = 1; rank < link.ranks(); ++rank)
    if (auto status = link.tell_one(next, rank); !status) return status;
  return {};
}

Status wrong(const Told& report, int round) {
  switch (report.wrong) {
    case Told::nothing: return {};
    case Told::call:
      return Status(Code::corrupt, fmt::format("a call of MPI's failed in round {}", round), {},
                    "The MPI's own messages may say why");
    case Told::differs:
      return Status(Code::corrupt, fmt::format("the two ways of sending computed different bits in round {}", round),
                    {}, "Told it to the MPI's developers with this command");
    default: break;
  }
  return Status(Code::corrupt, fmt::format("round {} is not what one process computes", round), {},
                "Told it to the MPI's developers with this command");
}

}  // namespace

std::vector<double> ratios(const PatternSamples& samples) {
  std::vector<double> found;
  for (std::size_t round = 0; round < std::min(samples.own.size(), samples.single.size()); ++round)
    if (samples.own[round] > 0) found.push_back(samples.single[round] / samples.own[round]);
  return found;
}

Result<PatternSamples> PatternTrial::measure(const Cell& cell, const Shape& shape, Compute compute) {
  auto own = Rounds::open(link_, cell.back_end, shape);
  if (!own) return own.status();
  auto single = Rounds::open(link_, BackEnd::single, shape);
  if (!single) return single.status();
  Threads threads(cell.plan.crew.threads, compute);
  PatternSamples samples;
  Status found;
  const double began_us = now_us();
  const bool decides = link_.rank() == 0;
  std::optional<std::vector<double>> first;  // what one process computes in the first round
  for (int message = 0;; ++message) {
    // Whole messages and the back end take turns at being first, and compute the same in a round.
    const int round = message / 2;
    const bool is_own = (message % 2 == 0) == (round % 2 == 0);
    Turn next{is_own ? Turn::own : Turn::single, round};
    if (decides && message % 2 == 0 &&
        (!found.ok() ||
         is_enough(samples.own.size(), samples.is_steady, (now_us() - began_us) / 1e6, options_.seconds)))
      next.which = Turn::stop;
    if (auto status = tell_all(link_, next); !status) return status;
    if (next.which == Turn::stop) break;
    Rounds& rounds = next.which == Turn::own ? **own : **single;
    rounds.prepare(next.round);
    if (auto status = link_.meet(); !status) return status;
    Told mine = rounds.run(next.round, cell.plan, threads);
    if (next.round == 0) {
      if (!first) first = serial(shape, 0)[std::size_t(link_.rank())];
      if (mine.wrong == Told::nothing && !is_same(*first, rounds.result())) mine.wrong = Told::otherwise;
    } else if (message % 2 == 1 && mine.wrong == Told::nothing && !is_same((*own)->result(), (*single)->result())) {
      mine.wrong = Told::differs;
    }
    auto all = gathered(link_, mine);
    if (!all) return all.status();
    if (!decides) continue;
    started_();
    if (found.ok()) found = wrong(*all, next.round);
    (next.which == Turn::own ? samples.own_moved : samples.single_moved) = all->moved;
    if (next.round < kUntimedRounds) continue;
    (next.which == Turn::own ? samples.own : samples.single).push_back(all->end_us - all->start_us);
    if (message % 2 == 1) samples.is_steady = is_steady(ratios(samples));
  }
  if (!found.ok()) return found;
  Ledger expected;
  for (int rank = 0; rank < link_.ranks(); ++rank) expected += ledger(shape, rank);
  for (const auto& [who, moved] :
       {std::pair(cell.back_end, samples.own_moved), {BackEnd::single, samples.single_moved}})
    if (decides && moved != expected)
      return Status(Code::corrupt,
                    fmt::format("{} moved {} bytes in {} updates instead of {} in {}", name(who), moved.bytes,
                                moved.updates, expected.bytes, expected.updates),
                    {}, "Told it: nothing can be said of two ways that do not do the same");
  return samples;
}

}  // namespace sennit::bench::partitioned
