// The requests of MPI that a program has open: what ends one is told to the operation that began it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "profile/recorder.h"
#include "shim/recorder/communicators.h"

namespace sennit::shim::recorder {

/// What began a request.
struct Operation {
  profile::Class of{};      ///< of the call
  std::uint32_t took = 0;   ///< the call, of a collective
  std::uint64_t begun = 0;  ///< by the recorder's clock; 0: a persistent one that does not run
  std::uint64_t bytes = 0;  ///< of the call's larger side
  KnownCommunicator* communicator = nullptr;
  int to = -1;  ///< rank of the job that a message goes to
  bool receives = false, persistent = false, cancelled = false;
  bool is_collective = false;                          ///< of GPU memory: a drop-in says at its end how it was done
  bool gives = false, takes = false, at_once = false;  ///< of a collective
};

/// Thread-safe: a request is often ended by another thread than began it.
class OpenRequests {
 public:
  /// MPIs give one handle to several requests that have ended at once: what is added first ends first. Returns
  /// whether another one has it.
  bool add(Handle request, const Operation& begun);
  /// The one that was added last has the handle alone: older ones have ended unseen. Returns these.
  std::vector<Operation> end_unseen(Handle request);
  /// A persistent one runs from now on: what it is of. None where it is not known.
  std::optional<Operation> start(Handle request, std::uint64_t now);
  /// It has ended: what it was of. A persistent one stays. None where it is not known, or did not run.
  std::optional<Operation> end(Handle request);
  /// It is freed, so that nobody hears of its end.
  void forget(Handle request);
  /// It was told to be cancelled, which need not succeed.
  void cancel(Handle request);
  std::size_t size() const;

 private:
  struct Entry {
    Handle request = 0;
    Operation operation;
    bool used = false;
  };
  /// An open table whose entries stay in the order in which those of one place came.
  struct Shard {
    mutable std::mutex mutex;  ///< under which nothing else is taken
    std::vector<Entry> entries;
    std::size_t used = 0;
  };
  static constexpr unsigned kShardBits = 4;
  /// What some library ends behind our back would stay for ever: a shard with so many begins anew.
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  static std::uint64_t hash_of(Handle request) { return request * 0x9e3779b97f4a7c15u; }
  Shard& shard_of(Handle request) { return shards_[hash_of(request) >> (64 - kShardBits)]; }
  static std::size_t place_of(const Shard& shard, Handle request) {
    return (hash_of(request) >> 16) & (shard.entries.size() - 1);
  }
  static Entry* find(Shard& shard, Handle request);
  static bool put(Shard& shard, Handle request, const Operation& operation);
  static void erase(Shard& shard, Entry& entry);

  std::array<Shard, std::size_t{1} << kShardBits> shards_;
};

}  // namespace sennit::shim::recorder
