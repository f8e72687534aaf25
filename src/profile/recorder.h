// Writes a process's file (layout.h) while the program runs.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "base/status.h"
#include "profile/layout.h"

namespace sennit::profile {

/// CLOCK_MONOTONIC in ns: the time of all records.
std::uint64_t now_ns();

class Recorder {
 public:
  /// A default: some 500,000 calls.
  static constexpr std::uint64_t kFileBytes = std::uint64_t{48} << 20;

  /// Makes the file, which must not exist, at its full size: a disk that is full is found here, not in the middle of
  /// the program. `bytes`: of the file at most. Errors: invalid_argument (`bytes` hold no block), permission_denied,
  /// out_of_memory (the disk or the quota), system_error.
  static Result<std::unique_ptr<Recorder>> create(const std::filesystem::path& file,
                                                  std::uint64_t bytes = kFileBytes);
  /// Makes one in memory alone, for tests and where no file can be made. Errors: invalid_argument, out_of_memory.
  static Result<std::unique_ptr<Recorder>> in_memory(std::uint64_t bytes = kFileBytes);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Counts the call in the sums and puts it into the calling thread's ring. Thread-safe, no lock, no allocation but
  /// at every kCallsInBlock-th call of a thread; takes some 50 ns.
  void record(const Call& call);
  /// Counts a message with a rank of the job. Thread-safe.
  void count_message(int rank, bool sent, std::uint64_t bytes);

  /// Indices of names, which are added where they are new; the table's last index where it is full. Thread-safe.
  std::uint16_t function(std::string_view name);
  std::uint8_t how(std::string_view text);
  std::uint8_t reduction(std::string_view name);
  std::uint16_t type(std::string_view name);
  std::uint8_t phase(std::string_view name);
  /// Each call adds one: communicators are told apart by their maker.
  std::uint16_t communicator(const Communicator& made);

  /// The time of MPI_Init's end or of the first call, from which the run counts. The first one stays.
  void begin_run(std::uint64_t ns);
  /// The run's end: MPI_Finalize's begin, or the process's exit. A call after it sets it anew.
  void end_run(std::uint64_t ns, End end);

  Header& header() { return tables_->header; }
  /// The file's content, as far as threads have published it.
  std::span<const std::byte> bytes() const { return {memory_, bytes_}; }

 private:
  Recorder(std::byte* memory, std::uint64_t bytes);
  static Result<std::unique_ptr<Recorder>> map(int file, std::uint64_t bytes);
  Sum& sum_of(const Call& call);
  Block* next_block();
  template <class Table>
  std::size_t index_of(Table& table, std::atomic<std::uint32_t>& count, std::string_view name);

  std::byte* const memory_;
  const std::uint64_t bytes_;
  Tables* const tables_;
  Block* const blocks_;
  const std::uint64_t serial_;  ///< tells recorders of this process apart, for what threads keep of one
  std::mutex names_;            ///< taken alone, while a name is looked for and added
};

}  // namespace sennit::profile
