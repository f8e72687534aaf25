// One rank's end of a message of partitions, whatever sends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/status.h"

namespace sennit::bench::partitioned {

inline constexpr int kMostPartitions = 1024;  // a limit: of a message's tags

/// `data`: `bytes` of them, a multiple of `partitions`; the caller's, as long as there is an End of it.
struct Message {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  int partitions = 1;
  std::uint64_t each() const { return bytes / static_cast<unsigned>(partitions); }
};

/// The sender calls begin(), ready() of each partition, finish(); the receiver begin(), arrived() until all
/// partitions are there, finish(); and again. The receiver's begin() is done before the sender's begins, but where a
/// probe wants it otherwise. The message of a back end that sends it whole has one partition.
class End {
 public:
  virtual ~End() = default;
  virtual void begin() = 0;
  /// Says that a partition may leave. From any thread, of each partition one; returns MPI's code.
  virtual int ready(int partition) = 0;
  /// Returns whether a partition is there. It does not wait, and has MPI make progress; after true not asked again.
  virtual bool arrived(int partition) = 0;
  virtual void finish() = 0;

  /// Returns the first error of any of these calls, but of ready(), which returns its own.
  const Status& status() const { return status_; }

 protected:
  void check(int code, const char* function) {
    if (code != 0 && status_.ok())
      status_ = Status(Code::system_error, fmt::format("{} returned {}", function, code), {},
                       "The MPI's own messages may say why");
  }

 private:
  Status status_;
};

}  // namespace sennit::bench::partitioned
