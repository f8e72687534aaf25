// Measures one line of the result: a back end in turns with the whole message that it is compared with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/partitioned/link.h"
#include "bench/partitioned/memory.h"
#include "bench/partitioned/options.h"
#include "bench/partitioned/threads.h"

namespace sennit::bench::partitioned {

/// The times of both, round by round: iterations of a round have the same compute and the same bytes. All of them
/// have been verified, byte for byte.
struct Samples {
  std::vector<Iteration> own, single;
  std::vector<double>
      begin_us;            ///< of own: what the sender's first call of an iteration takes (MPI_Start and the like)
  bool is_steady = false;  ///< the interval of the overhead's median is within 5 % of it
};

/// Decides whether enough has been seen. Pure. `elapsed_s` of at most `seconds`.
bool is_enough(const Samples& samples, double elapsed_s, double seconds);
bool is_enough(std::size_t rounds, bool steady, double elapsed_s, double seconds);
/// Returns whether the median of some rounds' ratios is known to ± 5 %.
bool is_steady(const std::vector<double>& ratios);
/// Returns whether the median of the rounds' overheads is known to ± 5 %.
bool is_steady(const Samples& samples);

/// One of the ranks. Both make the same calls.
class Trial {
 public:
  /// `started`: called on the sender after each message.
  Trial(Link& link, const Options& options, std::function<void()> started)
      : link_(link), options_(options), started_(std::move(started)) {}

  /// Collective. On the receiver samples are empty. Errors: corrupt where a byte was wrong, those of MPI.
  Result<Samples> measure(const Cell& cell, Compute compute);

 private:
  struct Ends {
    std::unique_ptr<End> own, single;
  };
  Result<Samples> send(const Cell& cell, Compute compute, Ends& ends, std::span<std::byte> buffer);
  Status receive(const Cell& cell, Ends& ends, std::span<std::byte> buffer);
  /// Sends one message. The times of what both ranks do.
  Result<Iteration> send_one(const Cell& cell, End& end, bool whole, Threads& threads, int round,
                             std::span<std::byte> buffer, double& begin_us);
  Status receive_one(End& end, int partitions, std::span<std::byte> buffer, int number);
  void flush(const Cell& cell);

  Link& link_;
  const Options& options_;
  const std::function<void()> started_;
  std::unique_ptr<Flush> flush_;
  int number_ = 0;  ///< of messages
};

}  // namespace sennit::bench::partitioned
