// Says how long each thread computes in each iteration, as a pure function of (seed, iteration, thread): every back
// end of every MPI meets the same noise. Single, uniform and Gaussian noise are those of Temuçin, Grant and Afsahi
// (ICPP 2022), the laggard that of Gillis et al. (ICPP 2023, arXiv 2308.03930).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sennit::bench::partitioned {

/// Times of compute that were recorded somewhere, in µs: a line an iteration, in it one of each thread.
using Recorded = std::vector<std::vector<double>>;

struct Noise {
  enum class Kind {
    none,
    single,       ///< the first thread computes `amount` % longer
    uniform,      ///< each up to `amount` % longer
    gaussian,     ///< normal with a deviation of `amount` %, at least 0
    laggard,      ///< the last thread comes to its last partition `amount` µs per 10^6 bytes of the message later
    exponential,  ///< each longer by an exponential time whose mean is `amount` %
    replayed,     ///< as `recorded`, again from its start where it ends
  };
  Kind kind = Kind::none;
  double amount = 0;
  std::string file{};  ///< of what is replayed
  std::shared_ptr<const Recorded> recorded{};

  /// "uniform:4", as parse_noise() reads it; of a file its name alone, as its folder is this machine's own.
  std::string text() const;
};

/// Reads "none", "single:N", "uniform:N", "gaussian:N", "exponential:N" (%), "laggard:Nus/MB" or "replay:FILE".
/// Errors: invalid_argument.
Result<Noise> parse_noise(std::string_view text);
/// Reads such times: numbers between blanks or commas, a line an iteration; what begins with # is skipped. Errors:
/// invalid_argument, naming the line.
Result<Recorded> parse_recorded(std::string_view text);

/// One thread's compute in µs: `even_us` is divided over its partitions, `last_us` comes before its last partition
/// alone.
struct Work {
  double even_us = 0, last_us = 0;
};

/// Decides how long a thread computes.
struct Draw {
  std::uint64_t seed = 0;
  int iteration = 0, thread = 0, threads = 1;
};
/// `compute_us`: without noise; `bytes`: of the message.
Work work(const Noise& noise, const Draw& draw, double compute_us, std::uint64_t bytes);

/// Returns a number from 0 to 1, 1 excluded, that is all of these numbers' own: the same on every machine.
double uniform(std::uint64_t seed, std::uint64_t first, std::uint64_t second, std::uint64_t third);

}  // namespace sennit::bench::partitioned
