// Partitioned messages between processes.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "capi_rank.h"

namespace sennit::capi {

namespace {

using Clock = std::chrono::steady_clock;

template <class Condition>
bool comes(Condition holds) {
  const auto give_up = Clock::now() + std::chrono::seconds(15);
  while (!holds() && Clock::now() < give_up) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return holds();
}

bool has_arrived(sennit_partitioned* one, std::uint32_t first, std::uint32_t last) {
  int arrived = 0;
  must(sennit_partitioned_arrived(one, first, last, &arrived));
  return arrived == 1;
}

std::byte* allocate(sennit_comm* comm, std::uint64_t bytes) {
  void* data = nullptr;
  must(sennit_memory_allocate(comm, bytes, &data));
  return static_cast<std::byte*>(data);
}

// A ring of ranks: each sends to the next in 18 parts what that receives in 5, in every way in turn.
int partitioned_ring(const Arguments& arguments) {
  sennit_comm* comm = create();
  const int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size, starts = std::stoi(arguments.at(0));
  constexpr std::uint64_t kBytes = std::uint64_t{90} * 1024;
  std::byte *const from = allocate(comm, kBytes), *const to = allocate(comm, kBytes),
                   *const copy = allocate(comm, kBytes);
  sennit_partitioned* ends[2] = {};
  must(sennit_send_partitioned(comm, from, 18, kBytes / 18, next, 3, &ends[0]));
  must(sennit_receive_partitioned(comm, to, 5, kBytes / 5, before, 3, &ends[1]));
  for (int start = 1; start <= starts; ++start) {
    const auto number = [&](int of) { return std::uint64_t(start * 8 + of); };
    if (start % 4 == 1) {
      must(sennit_partitioned_start(ends, 2));
    } else {
      must(sennit_partitioned_start(&ends[rank % 2], 1));
      if (start % 4 == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      must(sennit_partitioned_start(&ends[1 - rank % 2], 1));
    }
    fill(from, kBytes, number(rank));
    if (start % 3 == 0) {
      must(sennit_partitioned_ready(ends[0], 0, 17));
    } else if (start % 3 == 1) {
      const std::uint32_t odd[] = {17, 1, 3, 4, 5, 16};
      must(sennit_partitioned_ready_list(ends[0], odd, 6));
      must(sennit_partitioned_ready(ends[0], 6, 15));
      for (const std::uint32_t one : {2, 0}) must(sennit_partitioned_ready(ends[0], one, one));
    } else {
      must(sennit_partitioned_enqueue_ready(ends[0], 9, 17, nullptr));
      must(sennit_partitioned_enqueue_ready(ends[0], 0, 8, nullptr));
    }
    // The lane reads what it has waited for.
    must(sennit_partitioned_enqueue_await(ends[1], 3, 4, nullptr));
    must(sennit_partitioned_enqueue_await(ends[1], 0, 2, nullptr));
    must(sennit_copy(comm, copy, to, kBytes, nullptr));
    must(sennit_partitioned_wait(ends, 2));
    must(sennit_synchronize(comm, nullptr));
    int done = 0;
    must(sennit_partitioned_test(ends, 2, &done));
    if (done != 1 || first_wrong(to, kBytes, number(before)) != kBytes ||
        first_wrong(copy, kBytes, number(before)) != kBytes) {
      say("wrong in start {}", start);
      return 1;
    }
  }
  // A receiver's end waits for the sender's process, which makes no call meanwhile.
  if (rank % 2 == 1) must(sennit_partitioned_free(ends[1]));
  must(sennit_comm_barrier(comm));
  must(sennit_partitioned_free(ends[0]));
  if (rank % 2 == 0) must(sennit_partitioned_free(ends[1]));
  must(sennit_comm_destroy(comm));
  say("all right");
  return 0;
}

// Partition 1 is never ready, and after that of partition 0 the sender makes no call until the message was aborted.
int partitioned_early(const Arguments&) {
  sennit_comm* comm = create();
  constexpr std::uint64_t kBytes = 4096;
  std::byte* const data = allocate(comm, 2 * kBytes);
  sennit_partitioned* one = nullptr;
  if (sennit_comm_rank(comm) == 0) {
    must(sennit_send_partitioned(comm, data, 2, kBytes, 1, 0, &one));
    must(sennit_partitioned_start(&one, 1));
    fill(data, kBytes, 4);
    must(sennit_partitioned_ready(one, 0, 0));  // before the receiver has made its end
    (void)comes([&] { return sennit_comm_check(comm) != SENNIT_OK; });
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    must(sennit_receive_partitioned(comm, data, 2, kBytes, 0, 0, &one));
    must(sennit_partitioned_start(&one, 1));
    say("{}",
        comes([&] { return has_arrived(one, 0, 0); }) && first_wrong(data, kBytes, 4) == kBytes ? "early" : "late");
    say("the other: {}", has_arrived(one, 1, 1));
    say("free: {}", outcome(sennit_partitioned_free(one)));
    must(sennit_comm_abort(comm, "never ready"));
  }
  say("wait: {}", outcome(sennit_partitioned_wait(&one, 1)));
  say("ready: {}", sennit_comm_rank(comm) == 0 ? outcome(sennit_partitioned_ready(one, 1, 1)) : "aborted");
  say("free then: {}", outcome(sennit_partitioned_free(one)));
  (void)sennit_comm_destroy(comm);
  return 0;
}

// Rank 1 is killed while rank 0 sends to it, and rank 2 receives from it.
int partitioned_killed(const Arguments&) {
  sennit_comm* comm = create();
  const int rank = sennit_comm_rank(comm);
  std::byte* const data = allocate(comm, 8);
  sennit_partitioned *one = nullptr, *other = nullptr;
  if (rank == 0) must(sennit_send_partitioned(comm, data, 2, 4, 1, 0, &one));
  if (rank == 1) must(sennit_receive_partitioned(comm, data, 2, 4, 0, 0, &one));
  if (rank == 1) must(sennit_send_partitioned(comm, data, 2, 4, 2, 0, &other));
  if (rank == 2) must(sennit_receive_partitioned(comm, data, 2, 4, 1, 0, &one));
  must(sennit_partitioned_start(&one, 1));
  must(sennit_comm_barrier(comm));
  if (rank == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    (void)::kill(::getpid(), SIGKILL);
  }
  if (rank == 0) must(sennit_partitioned_ready(one, 0, 0));
  if (rank == 2) must(sennit_partitioned_enqueue_await(one, 0, 0, nullptr));
  const auto start = Clock::now();
  const std::string text = outcome(sennit_partitioned_wait(&one, 1));
  say("{} 5 s: {}", Clock::now() - start < std::chrono::seconds(5) ? "within" : "after", text);
  say("free: {}", outcome(sennit_partitioned_free(one)));
  (void)sennit_comm_destroy(comm);
  return 0;
}

// What is told to one rank alone, or to both; afterwards the communicator still works.
int partitioned_refused(const Arguments&) {
  sennit_comm* comm = create(0.4);
  const bool sends = sennit_comm_rank(comm) == 0;
  std::byte* const data = allocate(comm, 90);
  sennit_partitioned *unequal = nullptr, *idle = nullptr;
  must(sends ? sennit_send_partitioned(comm, data, 18, 5, 1, 1, &unequal)
             : sennit_receive_partitioned(comm, data, 5, 17, 0, 1, &unequal));
  must(sends ? sennit_send_partitioned(comm, data, 9, 10, 1, 2, &idle)
             : sennit_receive_partitioned(comm, data, 9, 10, 0, 2, &idle));
  (void)sennit_partitioned_start(&unequal, 1);
  say("unequal: {}", outcome(sennit_partitioned_wait(&unequal, 1)));
  say("free unequal: {}", outcome(sennit_partitioned_free(unequal)));
  must(sennit_comm_barrier(comm));
  if (sends) {
    must(sennit_partitioned_start(&idle, 1));
    must(sennit_partitioned_ready(idle, 0, 7));
    say("not ready: {}", outcome(sennit_partitioned_wait(&idle, 1)));
    say("twice: {}", outcome(sennit_partitioned_ready(idle, 3, 8)));
    must(sennit_partitioned_ready(idle, 8, 8));
    say("not started: {}", outcome(sennit_partitioned_wait(&idle, 1)));
  }
  (void)sennit_comm_barrier(comm);
  if (!sends) must(sennit_partitioned_start(&idle, 1));
  say("at last: {}", outcome(sennit_partitioned_wait(&idle, 1)));
  must(sennit_comm_destroy(comm));  // with an end that was not freed
  say("void: {}", outcome(sennit_partitioned_free(idle)));
  return 0;
}

// Ranks that cannot map each other's memory.
int partitioned_unreachable(const Arguments&) {
  sennit_comm* comm = create();
  sennit_partitioned* one = nullptr;
  say("{}", outcome(sennit_receive_partitioned(comm, allocate(comm, 8), 1, 8, 1 - sennit_comm_rank(comm), 0, &one)));
  must(sennit_comm_destroy(comm));
  return 0;
}

}  // namespace

std::vector<Scenario> partitioned_scenarios() {
  return {{"partitioned_ring", partitioned_ring},
          {"partitioned_early", partitioned_early},
          {"partitioned_killed", partitioned_killed},
          {"partitioned_refused", partitioned_refused},
          {"partitioned_unreachable", partitioned_unreachable}};
}

}  // namespace sennit::capi
