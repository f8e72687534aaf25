// The profile of this process: one file in the folder that SENNIT_PROFILE names, begun when the program first calls
// MPI or NCCL, and ended with the process.
#pragma once

#include <cstdint>
#include <optional>

#include "device/type.h"
#include "profile/recorder.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::recorder {

/// Begins the profile, or finds it begun by the other library's observer. Null, and a line to the user, where there
/// is no folder or no file can be made: the program then runs as it would have. After fork() it is null in the child
/// for good, whose calls are not this process's.
profile::Recorder* begin_profile();

/// The profile, once it has begun and unless this is a child of fork(); one load.
profile::Recorder* current_profile();

/// What kind of memory an address lies in; `absent` for null. Costs some ns for what is on the heap or a stack, else
/// a call of the driver.
profile::Memory memory_of(const void* address);

/// The profile's number of an operator; of none, that of operators which the program has made.
std::uint8_t reduction_of(std::optional<device::Operator> op);

/// Counts the calling thread among those in calls, as long as it lives. A call within a call (an MPI that calls MPI,
/// a wrapper that calls another function) is not one of the program's: `outermost` is then false.
class InCall {
 public:
  InCall();
  ~InCall();
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

  bool outermost() const { return outermost_; }
  std::uint8_t others() const { return others_; }  ///< threads that were in calls when this one began; 255 at most

 private:
  bool outermost_;
  std::uint8_t others_ = 0;
};

}  // namespace sennit::shim::recorder
