// Samples when each share of a message finished: timing events of one sampled message, read later without waiting.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/executor.h"

namespace sennit::path {

class FinishSampler {
 public:
  /// Makes a sampler for messages whose caller's lane is of `device`, of at most `shares` shares.
  static Result<std::unique_ptr<FinishSampler>> create(device::Executor& executor, int device, std::size_t shares);

  /// Marks the start of a message on the caller's lane, and the end of what that lane itself carries.
  Status start(device::Lane& lane, std::size_t shares);
  Status finished_on(device::Lane& lane, std::size_t share);
  /// Returns a lane for a share that another lane carries: it has been made to wait for that one's end. Call
  /// finished_on with it.
  device::Lane& observer(std::size_t share) { return *observers_[share]; }

  /// Returns the finish times in µs from the start, once all have come. Errors: those of the events.
  std::optional<std::vector<double>> read();

 private:
  FinishSampler() = default;

  std::size_t shares_ = 0;
  std::unique_ptr<device::Event> start_;
  std::vector<std::unique_ptr<device::Event>> ends_;
  std::vector<std::unique_ptr<device::Lane>> observers_;  // events of one device alone can be compared
};

}  // namespace sennit::path
