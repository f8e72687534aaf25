#include "bench/partitioned/trial.h"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/mpi/statistics.h"

namespace sennit::bench::partitioned {

namespace {

// Defaults: untimed rounds, the fewest whose interval means something, and the most that memory is kept for.
constexpr int kWarmUp = 2;
constexpr std::size_t kFewestRounds = 7, kMostRounds = 5000;
constexpr double kSteady = 0.05;  // of the median, on either side
constexpr std::size_t kPage = 4096;

/// The sender says this before each message.
struct Next {
  enum Which : int { stop, own, single };
  int which = stop;
  int number = 0;
};

/// The receiver says this after the message; arrivals follow.
struct Report {
  std::int64_t wrong_at = -1;
  double end_us = 0;
  int failed = 0;
};

/// A message that begins on a page of its own.
struct Pages {
  explicit Pages(std::uint64_t count)
      : bytes(count), data(static_cast<std::byte*>(::operator new(count, std::align_val_t(kPage)))) {}
  ~Pages() { ::operator delete(data, std::align_val_t(kPage)); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  const std::uint64_t bytes;
  std::byte* const data;
};

std::vector<double> overheads(const Samples& samples) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(samples.own.size(), samples.single.size()); ++round) {
    const auto own = metrics_of(samples.own[round]), single = metrics_of(samples.single[round]);
    if (!own || !single) continue;
    if (const auto ratio = overhead(*own, single->transfer_us)) ratios.push_back(*ratio);
  }
  return ratios;
}

}  // namespace

bool is_steady(const Samples& samples) {
  return is_steady(overheads(samples));
}

bool is_steady(const std::vector<double>& ratios) {
  const mpi::Median found = mpi::median_of(ratios);
  return found.count >= int(kFewestRounds) && found.high - found.value <= kSteady * found.value &&
         found.value - found.low <= kSteady * found.value;
}

bool is_enough(const Samples& samples, double elapsed_s, double seconds) {
  return is_enough(samples.own.size(), is_steady(samples), elapsed_s, seconds);
}

bool is_enough(std::size_t rounds, bool steady, double elapsed_s, double seconds) {
  if (rounds < kFewestRounds) return false;
  return elapsed_s >= seconds || rounds >= kMostRounds || steady;
}

Result<Samples> Trial::measure(const Cell& cell, Compute compute) {
  const int partitions = cell.plan.crew.partitions;
  Pages pages(cell.plan.bytes);
  const std::span buffer(pages.data, pages.bytes);
  Ends ends;
  auto own = link_.open(cell.back_end, {pages.data, cell.plan.bytes, is_whole(cell.back_end) ? 1 : partitions});
  if (!own) return own.status();
  auto single = link_.open(BackEnd::single, {pages.data, cell.plan.bytes, 1});
  if (!single) return single.status();
  ends = {std::move(*own), std::move(*single)};
  if (link_.sends()) return send(cell, compute, ends, buffer);
  if (auto status = receive(cell, ends, buffer); !status) return status;
  return Samples{};
}

void Trial::flush(const Cell& cell) {
  if (!cell.cold) return;
  if (!flush_) flush_ = std::make_unique<Flush>(2 * last_level_cache());
  (*flush_)();
}

Result<Samples> Trial::send(const Cell& cell, Compute compute, Ends& ends, std::span<std::byte> buffer) {
  Threads threads(cell.plan.crew.threads, compute);
  Samples samples;
  Status status;
  double began_us = now_us();
  for (int round = -kWarmUp; status.ok(); ++round) {
    if (round == 0) began_us = now_us();
    if (round > 0 && is_enough(samples, (now_us() - began_us) / 1e6, options_.seconds)) break;
    // They take turns at being first.
    for (const bool first : {true, false}) {
      const bool own = first == (round % 2 == 0);
      double begin_us = 0;
      if (status = link_.tell_one(Next{own ? Next::own : Next::single, number_}); !status) break;
      auto one = send_one(cell, own ? *ends.own : *ends.single, !own || is_whole(cell.back_end), threads,
                          round + kWarmUp, buffer, begin_us);
      if (!one) {
        status = one.status();
        break;
      }
      started_();
      if (round < 0) continue;
      (own ? samples.own : samples.single).push_back(std::move(*one));
      if (own) samples.begin_us.push_back(begin_us);
    }
  }
  if (auto stopped = link_.tell_one(Next{}); status.ok()) status = std::move(stopped);
  if (!status.ok()) return status;
  samples.is_steady = is_steady(samples);
  return samples;
}

Result<Iteration> Trial::send_one(const Cell& cell, End& end, bool whole, Threads& threads, int round,
                                  std::span<std::byte> buffer, double& begin_us) {
  const int number = number_++;
  fill(buffer, number);
  flush(cell);
  if (auto status = link_.meet(); !status) return status;
  const double begun = now_us();
  end.begin();
  begin_us = now_us() - begun;
  Ran ran;
  if (whole) {
    ran = threads.run(cell.plan, round, {});
    Partition partition;
    partition.ready_us = now_us();
    ran.code = end.ready(0);
    partition.returned_us = now_us();
    ran.iteration.partitions = {partition};
  } else {
    ran = threads.run(cell.plan, round, [&](int partition) { return end.ready(partition); });
  }
  end.finish();
  ran.iteration.end_us = now_us();
  Report report;
  if (auto status = link_.hear_one(report); !status) return status;
  std::vector<double> arrivals(ran.iteration.partitions.size());
  if (auto status = link_.hear(std::as_writable_bytes(std::span(arrivals))); !status) return status;
  if (ran.code != 0)
    return Status(Code::system_error, fmt::format("the call that sends a partition returned {}", ran.code), "rank 0",
                  "The MPI's own messages may say why");
  if (!end.status().ok()) return Status(end.status()).in("rank 0");
  if (report.failed != 0)
    return Status(Code::system_error, "a call of MPI's failed", "rank 1", "The MPI's own messages may say why");
  if (report.wrong_at >= 0)
    return Status(Code::corrupt, fmt::format("byte {} of message {} was wrong", report.wrong_at, number), "rank 1",
                  "Report it to the MPI's developers with this command");
  for (std::size_t partition = 0; partition < arrivals.size(); ++partition)
    ran.iteration.partitions[partition].arrived_us = arrivals[partition];
  ran.iteration.end_us = std::max(ran.iteration.end_us, report.end_us);
  return std::move(ran.iteration);
}

Status Trial::receive(const Cell& cell, Ends& ends, std::span<std::byte> buffer) {
  for (;;) {
    Next next;
    if (auto status = link_.hear_one(next); !status) return status;
    if (next.which == Next::stop) return {};
    const bool own = next.which == Next::own;
    spoil(buffer, next.number);
    flush(cell);
    const int partitions = own && !is_whole(cell.back_end) ? cell.plan.crew.partitions : 1;
    if (auto status = receive_one(own ? *ends.own : *ends.single, partitions, buffer, next.number); !status)
      return status;
  }
}

Status Trial::receive_one(End& end, int partitions, std::span<std::byte> buffer, int number) {
  end.begin();
  if (auto status = link_.meet(); !status) return status;
  std::vector<double> arrivals(std::size_t(partitions), 0);
  std::vector<int> missing;
  for (int partition = 0; partition < partitions; ++partition) missing.push_back(partition);
  while (!missing.empty())
    std::erase_if(missing, [&](int partition) {
      if (!end.arrived(partition)) return false;
      arrivals[std::size_t(partition)] = now_us();
      return true;
    });
  end.finish();
  Report report;
  report.end_us = now_us();
  report.failed = end.status().ok() ? 0 : 1;
  if (const auto wrong = first_wrong(buffer, number)) report.wrong_at = std::int64_t(*wrong);
  if (auto status = link_.tell_one(report); !status) return status;
  return link_.tell(std::as_bytes(std::span(arrivals)));
}

}  // namespace sennit::bench::partitioned
