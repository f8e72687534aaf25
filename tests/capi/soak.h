// Random collectives one after the other on several communicators and streams, half of their numbers in symmetric
// windows, with nothing waiting in between: what `make soak` runs for minutes, and the tests for seconds. Every rank
// makes the same choices from the same seed.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "arena.h"
#include "exercise.h"

namespace sennit::capi {

struct SoakOptions {
  std::uint64_t rounds = 100, seed = 1, most_count = 100000;
  std::vector<void*> streams{nullptr};  ///< that calls are spread over
  /// Runs what `enqueue` enqueues on a stream as a graph, replayed; empty: there are no graphs.
  std::function<void(void* stream, int replays, const std::function<void()>& enqueue)> replay;
};

/// A round is a batch of up to eight calls on each communicator.
template <class Memory>
bool soak(const std::vector<sennit_comm*>& comms, const SoakOptions& options) {
  using Space = Placed<Memory>;
  for (sennit_comm* comm : comms) Space::arenas.emplace(comm, comm);
  std::mt19937_64 random(options.seed);
  const auto upto = [&](std::uint64_t n) { return random() % n; };
  bool good = true;
  std::uint64_t call = 0;
  for (std::uint64_t round = 0; round < options.rounds && good; ++round) {
    struct Started {
      sennit_comm* comm;
      std::unique_ptr<Exercise<Space>> one;
      void* stream;
    };
    const bool replayed = options.replay && upto(4) == 0;
    std::vector<Started> batch;
    for (sennit_comm* comm : comms) {
      Space::arenas.at(comm).reuse();
      void* const only = options.streams[upto(options.streams.size())];
      for (std::uint64_t i = 0, n = 1 + upto(8); i < n; ++i) {
        Task task;
        task.which = kCollectives[upto(kCollectives.size())];
        // Many small ones, some large.
        task.count = 1 + upto(upto(4) == 0 ? options.most_count : 2000);
        task.root = int(upto(std::uint64_t(sennit_comm_size(comm))));
        task.in_place = upto(2) == 0 && !replayed;  // a replay would reduce the results again
        task.call = ++call;
        Space::in_arena = upto(2) == 0;
        void* const stream = replayed ? only : options.streams[upto(options.streams.size())];
        batch.push_back({comm, std::make_unique<Exercise<Space>>(comm, task), stream});
      }
    }
    if (replayed) {
      const int replays = 1 + int(upto(3));
      for (sennit_comm* comm : comms) {
        void* stream = nullptr;
        for (const Started& each : batch)
          if (each.comm == comm) stream = each.stream;
        options.replay(stream, replays, [&] {
          for (Started& each : batch)
            if (each.comm == comm) must(each.one->enqueue(each.stream));
        });
        must(sennit_synchronize(comm, stream));
      }
    } else {
      for (Started& each : batch) must(each.one->enqueue(each.stream));
    }
    for (const Started& each : batch) must(sennit_synchronize(each.comm, each.stream));
    for (Started& each : batch) good = each.one->right() && good;
    if (!good) say("round {} of seed {} is wrong", round, options.seed);
  }
  if (good)
    for (sennit_comm* comm : comms) Space::arenas.at(comm).close();
  return good;
}

}  // namespace sennit::capi
