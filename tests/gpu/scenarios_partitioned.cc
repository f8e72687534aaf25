// Partitioned messages between GPUs, or between two ranks of one.
#include <chrono>
#include <thread>

#include "buffer.h"
#include "member.h"
#include "scenarios.h"

namespace sennit::gpu {

namespace {

using capi::Arguments;
using capi::must;
using capi::outcome;
using capi::say;
using gpu::must;

bool has_arrived(sennit_partitioned* one, std::uint32_t first, std::uint32_t last) {
  int arrived = 0;
  must(sennit_partitioned_arrived(one, first, last, &arrived));
  return arrived == 1;
}

/// Waits on the host for partitions.
bool comes(sennit_partitioned* one, std::uint32_t first, std::uint32_t last) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (!has_arrived(one, first, last) && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return has_arrived(one, first, last);
}

// RECEIVER SENDER BYTES STARTS: both ranks send to each other in 12 parts what they receive in 8; memory of the kinds
// that Buffer knows. Ready by the host and by streams, awaited by both, before and after the receiver's start.
int partitioned(const Arguments& arguments) {
  const Member me;
  const Stream producer, consumer;
  const int peer = 1 - me.rank;
  const std::uint64_t bytes = std::stoull(arguments.at(2)) / 24 * 24, each = bytes / 12;
  Buffer to(arguments.at(0), bytes), from(arguments.at(1), bytes), next(arguments.at(1), bytes),
      copy("malloc", bytes);
  sennit_partitioned* ends[2] = {};
  must(sennit_send_partitioned(me.comm, from.data(), 12, each, peer, 1, &ends[0]));
  must(sennit_receive_partitioned(me.comm, to.data(), 8, bytes / 8, peer, 1, &ends[1]));
  bool good = true;
  for (int start = 1; start <= std::stoi(arguments.at(3)); ++start) {
    const auto number = [&](int of) { return std::uint64_t(start * 8 + of); };
    const bool late = start % 3 == me.rank;  // the receiver starts when all is ready
    next.fill(0, bytes, number(me.rank));
    to.poison();
    copy.poison();
    must(sennit_comm_barrier(me.comm));
    must(sennit_partitioned_start(&ends[0], 1));
    if (!late) must(sennit_partitioned_start(&ends[1], 1));
    if (start % 2 == 1) {
      must(cudaMemcpyAsync(from.data(), next.data(), bytes, cudaMemcpyDefault, producer.handle), "cudaMemcpyAsync");
      producer.synchronize();
      must(sennit_partitioned_ready(ends[0], 0, 3));
      const std::uint32_t which[] = {11, 5, 4, 8};
      must(sennit_partitioned_ready_list(ends[0], which, 4));
      for (const std::uint32_t part : {10, 6, 7, 9}) must(sennit_partitioned_ready(ends[0], part, part));
    } else {
      for (const std::uint32_t part : {3, 0, 6, 9}) {
        // What the stream writes is ready behind it.
        const std::uint64_t at = part * each;
        must(cudaMemcpyAsync(from.data() + at, next.data() + at, 3 * each, cudaMemcpyDefault, producer.handle),
             "cudaMemcpyAsync");
        must(sennit_partitioned_enqueue_ready(ends[0], part, part + 2, producer.handle));
      }
    }
    if (late) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (!to.untouched(0, bytes)) say("start {}: a byte came before it", start), good = false;
      must(sennit_partitioned_start(&ends[1], 1));
    }
    for (const auto& [first, last] : {std::pair(4u, 7u), std::pair(0u, 3u)}) {
      must(sennit_partitioned_enqueue_await(ends[1], first, last, consumer.handle));
      const std::uint64_t at = first * (bytes / 8);
      must(cudaMemcpyAsync(copy.data() + at, to.data() + at, bytes / 2, cudaMemcpyDefault, consumer.handle),
           "cudaMemcpyAsync");
    }
    must(sennit_partitioned_wait(ends, 2));
    const auto wrong = to.first_wrong(0, bytes, number(peer));
    consumer.synchronize();
    const auto wrong_copy = copy.first_wrong(0, bytes, number(peer));
    if (wrong == bytes && wrong_copy == bytes) continue;
    say("start {}: bytes {} and {} of {} are wrong", start, wrong, wrong_copy, bytes);
    good = false;
  }
  must(sennit_synchronize(me.comm, producer.handle));
  must(sennit_synchronize(me.comm, consumer.handle));
  must(sennit_partitioned_free(ends[1]));
  must(sennit_partitioned_free(ends[0]));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// BYTES: part 0 of two is ready before the receiver's end is made, and part 1 only when the receiver has said, in a
// message the other way, that it has part 0. The sender makes no call of the message's meanwhile.
int partitioned_early(const Arguments& arguments) {
  const Member me;
  const std::uint64_t bytes = std::stoull(arguments.at(0));
  Buffer data("malloc", 2 * bytes), word("malloc", 4);
  sennit_partitioned *one = nullptr, *back = nullptr;
  bool good = true;
  if (me.rank == 0) {
    data.fill(0, 2 * bytes, 5);
    must(sennit_send_partitioned(me.comm, data.data(), 2, bytes, 1, 0, &one));
    must(sennit_receive_partitioned(me.comm, word.data(), 1, 4, 1, 9, &back));
    must(sennit_partitioned_start(&one, 1));
    must(sennit_partitioned_start(&back, 1));
    must(sennit_partitioned_ready(one, 0, 0));
    must(sennit_partitioned_wait(&back, 1));
    must(sennit_partitioned_ready(one, 1, 1));
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    data.poison();
    must(sennit_receive_partitioned(me.comm, data.data(), 2, bytes, 0, 0, &one));
    must(sennit_send_partitioned(me.comm, word.data(), 1, 4, 0, 9, &back));
    must(sennit_partitioned_start(&one, 1));
    must(sennit_partitioned_start(&back, 1));
    good = comes(one, 0, 0) && !has_arrived(one, 1, 1) && data.first_wrong(0, bytes, 5) == bytes &&
           data.untouched(bytes, 2 * bytes);
    must(sennit_partitioned_ready(back, 0, 0));
    must(sennit_partitioned_wait(&back, 1));
  }
  must(sennit_partitioned_wait(&one, 1));
  good = good && data.first_wrong(0, 2 * bytes, 5) == 2 * bytes;
  must(sennit_partitioned_free(back));
  must(sennit_partitioned_free(one));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

}  // namespace

std::vector<capi::Scenario> partitioned_scenarios() {
  return {{"partitioned", partitioned}, {"partitioned_early", partitioned_early}};
}

}  // namespace sennit::gpu
