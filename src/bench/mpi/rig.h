// Measures operations in this rank's buffers: each variant is verified and then timed in them, together with all
// other ranks.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/timing.h"
#include "bench/mpi/job.h"
#include "bench/mpi/statistics.h"

namespace sennit::bench::mpi {

/// One way of doing a case.
struct Variant {
  std::string name;
  bool with_sennit = false;
  bool by_hand = false;    ///< GPU buffers are copied to pinned memory and back around MPI's own function
  std::vector<int> map{};  ///< of an exchange: the rank that plays each of the pattern's
};
inline constexpr const char* kOwn = "sennit";

/// Holds the times of one variant, of one call, or of one message of a window, on the slowest rank.
struct Times {
  measure::Summary summary;
  int calls = 0;  ///< in a batch
  /// How many times as fast `sennit` was, or of an exchange the first variant, round by round; of that one nothing.
  Paired against;
};

class Rig {
 public:
  Rig(Job& job, Memories& memories, const device::Reduction& reduction)
      : job_(job), memories_(memories), reduction_(reduction) {}

  /// Buffers for all of these cases. Collective. Errors, the same on every rank: out_of_memory.
  Status make_room(const std::vector<Case>& cases);

  /// Makes one call on fresh contents, and compares every message with what should come; nothing may be written
  /// behind the output. Collective. Errors, the same on every rank, naming it: corrupt; those of the call.
  Status verify(const Case& what, const Variant& variant);

  /// Lets it carry the exchanges that are to go over NCCL; it has to be there as long as the rig.
  void use(OverNccl& nccl) { nccl_ = &nccl; }

  /// Times all variants in turns, for some `seconds` each. Collective.
  Result<std::vector<Times>> time(const Case& what, const std::vector<Variant>& variants, double seconds);

 private:
  struct Room {
    device::Memory input, output;
  };
  Batch batch(const Case& what, const Variant& variant) const;
  Status allocate(const std::vector<Case>& cases);
  Status prepare(const Batch& batch);
  Status check(const Batch& batch);
  Status write(std::byte* to, std::uint64_t bytes, const std::vector<std::byte>& again_and_again);
  /// Estimates all µs of a call, there and back or with its window, as it is just seen. Warms up.
  Result<double> estimate(const Batch& batch);

  Job& job_;
  Memories& memories_;
  device::Reduction reduction_;
  OverNccl* nccl_ = nullptr;
  Room gpu_, managed_, host_, staged_;
};

}  // namespace sennit::bench::mpi
