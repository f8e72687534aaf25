// Writes a process's file (layout.h) while the program runs. Recorder is long: all that calls tell goes through it.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "base/status.h"
#include "profile/clock.h"
#include "profile/layout.h"

namespace sennit::profile {

class Recorder {
 public:
  /// What a thread has of the recorder that it wrote to last.
  class Thread {
   public:
    std::uint32_t number() const { return number_; }

   private:
    friend class Recorder;
    std::uint64_t serial_ = 0;  ///< of the recorder
    std::uint32_t number_ = 0, owner_ = 0;
    Block *block_ = nullptr, *first_ = nullptr, *last_ = nullptr;  ///< in use; its own in a chain
    std::uint32_t blocks_ = 0;
    std::uint64_t calibration_ = 0;  ///< when it looks at the clocks again
  };
  /// The slot of a key that somebody found last, for who asks for the same one again and again.
  template <class Of>
  struct Found {
    std::uint64_t key = 0;
    Of* slot = nullptr;
  };

  /// A default: some 500,000 calls.
  static constexpr std::uint64_t kFileBytes = std::uint64_t{48} << 20;

  /// Makes the file, which must not exist, at its full size: a disk that is full is found here, not in the middle of
  /// the program. `bytes`: of the file at most; fewer where the process may not write as many (RLIMIT_FSIZE). Errors:
  /// invalid_argument (`bytes` hold no block), permission_denied, out_of_memory (the disk, the quota or that limit),
  /// system_error.
  static Result<std::unique_ptr<Recorder>> create(const std::filesystem::path& file, std::uint64_t bytes = kFileBytes,
                                                  Clock clock = Clock::monotonic());
  /// Makes one in memory alone: what is not saved (save.h) goes with the process. Errors: invalid_argument,
  /// out_of_memory.
  static Result<std::unique_ptr<Recorder>> in_memory(std::uint64_t bytes = kFileBytes,
                                                     Clock clock = Clock::monotonic());
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The clock of all times that it is given.
  const Clock& clock() const { return clock_; }
  std::uint64_t now() const { return clock_.now(); }

  /// The calling thread's; it stays where it is.
  Thread& thread();
  /// Counts the call in the sums and puts it into the thread's ring. No lock, no allocation.
  void record(Thread& thread, const Call& call, Found<Sum>& found);
  void record(const Call& call) {
    Found<Sum> found;
    record(thread(), call, found);
  }
  /// Tells the calls of a class that one of their requests has ended.
  void end_request(Thread& thread, const Class& of, const Ended& ended);
  /// Tells that a call which was recorded is of another class, as it turned out later.
  void retell(Thread& thread, const Class& recorded, const Class& of, const Recorded& call);
  /// Tells them that one has ended at an unknown time.
  void end_unseen(Thread& thread, const Class& of);
  /// Tells the calls of a class how long so many of them took together on a GPU.
  void add_device_time(Thread& thread, const Class& of, std::uint64_t calls, std::uint64_t ns);
  /// Tells the calls of a class that one of them was put into a CUDA graph, in place of being done.
  void add_captured(Thread& thread, const Class& of);
  /// Tells them that such graphs have done so many, of so many bytes on their larger sides.
  void add_replays(Thread& thread, const Class& of, std::uint64_t calls, std::uint64_t bytes);
  /// Counts a message with a rank of the job; a negative one is none of it.
  void count_message(Thread& thread, int rank, bool sent, std::uint64_t bytes, Found<Peer>& found);
  void count_message(int rank, bool sent, std::uint64_t bytes) {
    Found<Peer> found;
    count_message(thread(), rank, sent, bytes, found);
  }

  /// Tells of memory that a function has registered, and of its end.
  void begin_registration(std::uint16_t function, std::uint64_t bytes);
  void end_registration(std::uint16_t function, std::uint64_t bytes);

  /// Indices of names, which are added where they are new; the table's last index where it is full. Thread-safe.
  std::uint16_t function(std::string_view name);
  std::uint8_t reduction(std::string_view name);
  std::uint16_t type(std::string_view name);
  std::uint8_t phase(std::string_view name);
  std::uint8_t how(std::string_view name);
  /// Each call adds one. `failed`: the reason why it will have no samples.
  std::uint16_t variable(std::string_view name, std::string_view failed);
  /// Notes what a variable is at a time. One thread calls it at a time.
  void sample(std::uint16_t variable, std::uint64_t time, std::uint64_t value);
  /// Each call adds one: communicators are told apart by their maker.
  std::uint16_t communicator(const Communicator& made);

  /// The time of MPI_Init's end or of the first call, from which the run counts. The first one stays.
  void begin_run(std::uint64_t time);
  /// The run's end: MPI_Finalize's begin, or the process's exit. A call after it sets it anew.
  void end_run(std::uint64_t time, End end);

  /// From now on calls are not told, or they are again: what lies between is no part of the run's time.
  void pause(bool paused);

  Header& header() { return tables_->header; }
  const Header& header() const { return tables_->header; }
  /// The file's content, as far as threads have published it.
  std::span<const std::byte> bytes() const { return {memory_, bytes_}; }

 private:
  Recorder(std::byte* memory, std::uint64_t bytes, Clock clock, const Clock::Moment& begin);
  static Result<std::unique_ptr<Recorder>> map(int file, std::uint64_t bytes, Clock clock);
  /// A class's sum. `shared`: with other threads, so that it is added to by atomic operations.
  struct Counted {
    Sum& sum;
    bool shared;
  };
  Counted counted(const Thread& thread, const Class& of, Found<Sum>& found);
  bool next_block(Thread& thread);
  /// Tells how long the clock's tick is, as exactly as the time since the begin lets it.
  void calibrate();
  template <class Table>
  std::size_t index_of(Table& table, std::atomic<std::uint32_t>& count, std::string_view name);

  std::byte* const memory_;
  const std::uint64_t bytes_;
  Tables* const tables_;
  Block* const blocks_;
  const Clock clock_;
  const std::uint64_t serial_;  ///< tells recorders of this process apart, for what threads keep of one
  std::mutex names_;            ///< taken alone, while a name is looked for and added, or a pause begins or ends
};

}  // namespace sennit::profile
