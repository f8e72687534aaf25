// A made-up MPI whose ranks are threads of this process, for what is
// collective.
#pragma once

#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "made_up_mpi.h"

namespace sennit::shim::mpi {

/// The communicators that the threads have, and where their ranks meet.
class ThreadWorld {
 public:
  using Item = std::vector<std::byte>;

  /// `threads`: by rank. One that stands there several times is all these ranks
  /// at once.
  void add(Handle comm, std::vector<int> threads, bool inter = false) {
    const std::lock_guard lock(mutex_);
    rooms_[comm] = {std::move(threads), inter, {}, {}};
  }

  int shape_of(Handle comm, int thread, CommShape& shape) const {
    const std::lock_guard lock(mutex_);
    const auto found = rooms_.find(comm);
    if (found == rooms_.end()) return 5;
    shape = {found->second.rank_of(thread), static_cast<int>(found->second.threads.size()), found->second.inter, 1};
    return 0;
  }
  std::vector<int> threads(Handle comm) const {
    const std::lock_guard lock(mutex_);
    const auto found = rooms_.find(comm);
    return found != rooms_.end() ? found->second.threads : std::vector<int>();
  }

  /// The thread's next collective call of the communicator: its number there,
  /// for look().
  std::size_t begin(Handle comm, int thread, const void* mine, int bytes) {
    const std::lock_guard lock(mutex_);
    Room& room = rooms_.at(comm);
    const std::size_t call = room.calls[thread]++;
    if (room.items.size() <= call) room.items.resize(call + 1);
    Items& items = room.items[call];
    items.of.resize(room.threads.size());
    const auto* const first = static_cast<const std::byte*>(mine);
    for (std::size_t rank = 0; rank < room.threads.size(); ++rank)
      if (room.threads[rank] == thread) {
        items.of[rank].assign(first, first + bytes);
        ++items.here;
      }
    came_.notify_all();
    return call;
  }
  /// How many collective calls of the communicator a thread has made.
  std::size_t pending(Handle comm, int thread) {
    const std::lock_guard lock(mutex_);
    return rooms_.at(comm).calls[thread];
  }
  /// Whether all ranks have made it: then what they gave. `wait`: until they
  /// have.
  bool look(Handle comm, std::size_t call, std::vector<Item>& given, bool wait) {
    std::unique_lock lock(mutex_);
    const Room& room = rooms_.at(comm);
    const auto all = [&] { return room.items[call].here == room.threads.size(); };
    if (wait) came_.wait(lock, all);
    if (!all()) return false;
    given = room.items[call].of;
    return true;
  }

 private:
  struct Items {
    std::vector<Item> of;  // by rank
    std::size_t here = 0;
  };
  struct Room {
    std::vector<int> threads;
    bool inter = false;
    std::map<int, std::size_t> calls;  // by thread
    std::vector<Items> items;          // by call
    int rank_of(int thread) const { return static_cast<int>(std::ranges::find(threads, thread) - threads.begin()); }
  };

  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::map<Handle, Room> rooms_;
};

/// One thread's MPI. `world`: what is MPI_COMM_WORLD to it.
class ThreadMpi : public MadeUpMpi {
 public:
  ThreadMpi(ThreadWorld& threads, int thread, Handle world = kComm)
      : threads_(threads), thread_(thread), world_(world) {}

  using MadeUpMpi::shape;
  Handle comm_world() const override { return world_; }
  int shape(Handle handle, CommShape& shape) const override { return threads_.shape_of(handle, thread_, shape); }
  int world_ranks(Handle handle, std::vector<int>& ranks) const override {
    const auto world = threads_.threads(world_);
    const auto threads = threads_.threads(handle);
    if (threads.empty()) return 5;
    for (const int thread : threads) {
      const auto found = std::ranges::find(world, thread);
      ranks.push_back(found != world.end() ? static_cast<int>(found - world.begin()) : -32766);
    }
    return 0;
  }

  /// Files and windows are known as communicators are.
  int world_ranks_of(Shared, Handle handle, std::vector<int>& ranks) const override {
    return world_ranks(handle, ranks);
  }

  int all_gather(Handle handle, const void* mine, void* all, int bytes) const override {
    std::vector<ThreadWorld::Item> given;
    threads_.look(handle, threads_.begin(handle, thread_, mine, bytes), given, true);
    place(given, all);
    return 0;
  }
  int all_gather(Handle handle, const void* mine, int bytes, void* all, std::span<const int> lengths,
                 std::span<const int> places) const override {
    std::vector<ThreadWorld::Item> given;
    threads_.look(handle, threads_.begin(handle, thread_, mine, bytes), given, true);
    for (std::size_t rank = 0; rank < given.size(); ++rank) {
      if (static_cast<int>(given[rank].size()) != lengths[rank]) return 15;
      if (lengths[rank] != 0)
        std::memcpy(static_cast<char*>(all) + places[rank], given[rank].data(), given[rank].size());
    }
    return 0;
  }
  int begin_all_gather(Handle handle, const void* mine, void* all, int bytes, Handle& request) const override {
    begun_ = {handle, threads_.begin(handle, thread_, mine, bytes), all};
    request = kRequest;
    return 0;
  }
  int begin_barrier(Handle handle, Handle& request) const override {
    begun_ = {handle, threads_.begin(handle, thread_, &nothing_, 1), nullptr};
    request = kRequest;
    return 0;
  }
  int done(Handle& request, bool& done) const override {
    if (request != kRequest) return 19;
    std::vector<ThreadWorld::Item> given;
    done = threads_.look(begun_.comm, begun_.call, given, false);
    if (!done) return 0;
    if (begun_.all != nullptr) place(given, begun_.all);
    request = request_null();
    return 0;
  }
  Handle revoked_comm = 0;
  bool revoked(Handle handle) const override { return handle == revoked_comm; }
  int barrier(Handle handle) const {
    std::vector<ThreadWorld::Item> given;
    threads_.look(handle, threads_.begin(handle, thread_, &nothing_, 1), given, true);
    return 0;
  }

 private:
  static constexpr Handle kRequest = 700;
  static constexpr std::byte nothing_{};
  static void place(const std::vector<ThreadWorld::Item>& given, void* all) {
    auto* to = static_cast<std::byte*>(all);
    for (const auto& item : given) to = std::ranges::copy(item, to).out;
  }

  struct PendingCall {
    Handle comm = 0;
    std::size_t call = 0;
    void* all = nullptr;
  };
  ThreadWorld& threads_;
  const int thread_;
  const Handle world_;
  mutable PendingCall begun_;
};

/// Runs work(mpi) on as many threads, with MPI_COMM_WORLD for all of them.
inline void on_threads(ThreadWorld& world, int count, const std::function<void(ThreadMpi&, int)>& work) {
  std::vector<int> all;
  for (int thread = 0; thread < count; ++thread) all.push_back(thread);
  world.add(MadeUpMpi::kComm, all);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < count; ++thread)
    threads.emplace_back([&world, &work, thread] {
      ThreadMpi mpi(world, thread);
      work(mpi, thread);
    });
}

}  // namespace sennit::shim::mpi
