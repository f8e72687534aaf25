// How communicators come and go.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "capi_rank.h"

namespace sennit::capi {

namespace {

int entries(const char* folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

/// Of some looks: a thread that was joined is listed for a moment longer.
int fewest_threads() {
  int fewest = entries("/proc/self/task");
  for (int look = 0; look < 20; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    fewest = std::min(fewest, entries("/proc/self/task"));
  }
  return fewest;
}

// COUNT communicators in turn, each with a message over every path, and windows and memory left to its end.
int cycles(const Arguments& arguments) {
  int files = 0, threads = 0;
  const int count = std::stoi(arguments.at(0));
  for (int i = 0; i < count; ++i) {
    sennit_comm* comm = create();
    constexpr std::uint64_t kBytes = 256 << 10;
    Inbox inbox = make_inbox(comm, kBytes);
    void* memory = nullptr;
    must(sennit_memory_allocate_pinned(comm, kBytes, &memory));
    const int next = (sennit_comm_rank(comm) + 1) % sennit_comm_size(comm);
    for (int message = 0; message < 3; ++message) {
      must(sennit_put(inbox.window, next, 0, memory, kBytes, nullptr));
      must(sennit_synchronize(comm, nullptr));
    }
    must(sennit_comm_destroy(comm));
    if (i == 1) files = entries("/proc/self/fd"), threads = fewest_threads();
  }
  say("files {} threads {}", entries("/proc/self/fd") - files, fewest_threads() - threads);
  return 0;
}

/// A star of socket pairs, made before the ranks were forked.
struct Star {
  int rank = 0, size = 1;
  std::vector<int> to;  // rank 0: of each rank; others: [0] is rank 0
};

bool move_all(int fd, void* data, std::size_t bytes, bool out) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t moved = out ? ::send(fd, at, bytes, MSG_NOSIGNAL) : ::recv(fd, at, bytes, 0);
    if (moved <= 0) return false;
    at += moved;
    bytes -= std::size_t(moved);
  }
  return true;
}

int all_gather(void* context, const void* send, void* receive, std::size_t bytes) {
  const Star& star = *static_cast<Star*>(context);
  auto* all = static_cast<char*>(receive);
  const std::size_t whole = bytes * std::size_t(star.size);
  if (bytes == 0) return 1;  // never asked for
  if (star.rank != 0) {
    const bool sent = move_all(star.to[0], const_cast<void*>(send), bytes, true);
    return sent && move_all(star.to[0], receive, whole, false) ? 0 : 1;
  }
  std::memcpy(all, send, bytes);
  for (int rank = 1; rank < star.size; ++rank)
    if (!move_all(star.to[rank], all + bytes * std::size_t(rank), bytes, false)) return 1;
  for (int rank = 1; rank < star.size; ++rank)
    if (!move_all(star.to[rank], all, whole, true)) return 1;
  return 0;
}

int rank_of_star(Star star) {
  const sennit_exchange exchange{star.rank, star.size, all_gather, &star};
  sennit_options options = SENNIT_OPTIONS_INIT;
  options.exchange = &exchange;
  sennit_comm* comm = nullptr;
  must(sennit_comm_create(&options, &comm));
  constexpr std::uint64_t kBytes = 1 << 20;
  Inbox inbox = make_inbox(comm, kBytes);
  std::vector<std::byte> source(kBytes);
  fill(source.data(), kBytes, std::uint64_t(star.rank));
  must(sennit_put(inbox.window, (star.rank + 1) % star.size, 0, source.data(), kBytes, nullptr));
  must(sennit_synchronize(comm, nullptr));
  must(sennit_comm_barrier(comm));
  const int before = (star.rank + star.size - 1) % star.size;
  const bool good = first_wrong(inbox.data, kBytes, std::uint64_t(before)) == kBytes;
  say("rank {} of {}: {}", sennit_comm_rank(comm), sennit_comm_size(comm), good ? "all right" : "wrong");
  must(sennit_comm_destroy(comm));
  return good ? 0 : 1;
}

// RANKS ranks that nobody but this process knows of, meeting through a function of their own.
int exchange(const Arguments& arguments) {
  const int size = std::stoi(arguments.at(0));
  Star first{0, size, std::vector<int>(std::size_t(size), -1)};
  for (int rank = 1; rank < size; ++rank) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 1;
    if (::fork() == 0) {
      for (const int other : first.to)
        if (other >= 0) ::close(other);
      ::close(pair[0]);
      std::exit(rank_of_star({rank, size, {pair[1]}}));
    }
    ::close(pair[1]);
    first.to[std::size_t(rank)] = pair[0];
  }
  int failures = rank_of_star(first);
  for (int status = 0; ::wait(&status) > 0;) failures += status != 0 ? 1 : 0;
  say("failures {}", failures);
  return failures;
}

/// The sum of what the ranks of `comm` give.
int sum_of(sennit_comm* comm, int mine) {
  void *in = nullptr, *out = nullptr;
  must(sennit_memory_allocate(comm, sizeof mine, &in));
  must(sennit_memory_allocate(comm, sizeof mine, &out));
  must(sennit_copy(comm, in, &mine, sizeof mine, nullptr));
  must(sennit_allreduce(comm, in, out, 1, SENNIT_INT32, SENNIT_SUM, nullptr, nullptr));
  int sum = 0;
  must(sennit_copy(comm, &sum, out, sizeof sum, nullptr));
  must(sennit_synchronize(comm, nullptr));
  must(sennit_memory_free(comm, in));
  must(sennit_memory_free(comm, out));
  return sum;
}

// Halves by parity, from the highest rank down, and all but rank 0, and a half once more, while the whole goes on;
// then the whole ends before its parts, and these in different orders. Ranks add up the numbers that they have in the
// whole.
int split(const Arguments&) {
  sennit_comm *all = create(), *half = nullptr, *others = nullptr, *again = nullptr;
  const int mine = sennit_comm_rank(all);
  const auto show = [mine](const char* what, sennit_comm* comm) {
    say("{}: rank {} of {}, sum {}", what, sennit_comm_rank(comm), sennit_comm_size(comm), sum_of(comm, mine));
  };
  must(sennit_comm_split(all, mine % 2, -mine, &half));
  show("half", half);
  show("all", all);
  must(sennit_comm_split(all, mine == 0 ? -1 : 7, 0, &others));
  if ((others == nullptr) != (mine == 0)) say("rank {} is wrong about the others", mine);
  if (others != nullptr) show("others", others);
  must(sennit_comm_split(half, 0, 0, &again));
  if (sennit_comm_device(again) != sennit_comm_device(all)) say("another device");
  must(sennit_comm_destroy(all));
  show("again", again);
  must(sennit_comm_destroy(mine % 2 == 0 ? half : again));
  show("last", mine % 2 == 0 ? again : half);
  must(sennit_comm_destroy(mine % 2 == 0 ? again : half));
  if (others != nullptr) must(sennit_comm_destroy(others));
  return 0;
}

// One color for all, whatever the nodes; and the rest of the communicator's life.
int split_all(const Arguments&) {
  sennit_comm *all = create(), *whole = nullptr;
  say("{}", outcome(sennit_comm_split(all, 0, 0, &whole)));
  must(sennit_comm_barrier(all));
  must(sennit_comm_split(all, sennit_comm_rank(all) == 1 ? 1 : 0, 0, &whole));
  say("rank {} of {}", sennit_comm_rank(whole), sennit_comm_size(whole));
  must(sennit_comm_destroy(whole));
  must(sennit_comm_destroy(all));
  return 0;
}

// What a communicator says of its ranks.
int shape(const Arguments&) {
  sennit_comm* comm = create();
  std::string same;
  for (int rank = 0; rank < sennit_comm_size(comm); ++rank) same += std::to_string(sennit_comm_same_node(comm, rank));
  say("rank {} of {} device {} node {} same {}", sennit_comm_rank(comm), sennit_comm_size(comm),
      sennit_comm_device(comm), sennit_comm_node_size(comm), same);
  Inbox inbox = make_inbox(comm, 64);
  std::byte local[8] = {};
  const int last = sennit_comm_size(comm) - 1;
  if (sennit_comm_rank(comm) == 0) say("put: {}", outcome(sennit_put(inbox.window, last, 0, local, 8, nullptr)));
  must(sennit_synchronize(comm, nullptr));
  must(sennit_comm_destroy(comm));
  return 0;
}

}  // namespace

std::vector<Scenario> life_scenarios() {
  return {{"cycles", cycles}, {"exchange", exchange}, {"shape", shape}, {"split", split}, {"split_all", split_all}};
}

}  // namespace sennit::capi
