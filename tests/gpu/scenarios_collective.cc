// Collectives on GPUs: kinds of memory, streams, windows, a rank that is killed.
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "buffer.h"
#include "collective.h"
#include "member.h"
#include "scenarios.h"
#include "soak.h"

namespace sennit::gpu {

namespace {

using capi::Arguments;
using capi::must;
using capi::outcome;
using capi::say;
using gpu::must;

// KIND COUNTS…: sums of int32 in memory of a kind that Buffer knows, in place and not, also off by one element.
int allreduces(const Arguments& arguments) {
  const Member job;
  const Stream stream;
  bool good = true;
  std::uint64_t call = 0;
  for (std::size_t i = 1; i < arguments.size(); ++i)
    for (const bool in_place : {false, true})
      for (const std::uint64_t shift : {0, 1}) {
        const std::uint64_t count = std::stoull(arguments[i]);
        Buffer input(arguments.at(0), (count + 1) * 4), output(arguments.at(0), (count + 1) * 4);
        auto* const from = reinterpret_cast<std::int32_t*>(input.data()) + shift;
        auto* const to = in_place ? from : reinterpret_cast<std::int32_t*>(output.data()) + shift;
        const auto mine = samples(job.rank, count, ++call);
        must(cudaMemcpy(from, mine.data(), count * 4, cudaMemcpyDefault), "cudaMemcpy");
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        must(sennit_allreduce(job.comm, from, to, count, SENNIT_INT32, SENNIT_SUM, nullptr, stream.handle));
        must(sennit_synchronize(job.comm, stream.handle));
        good = right(job, to, count, call) && good;
      }
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

/// GPU memory, also one element beyond an aligned address.
class GpuSpace {
 public:
  GpuSpace(sennit_comm*, std::uint64_t bytes) : buffer_("malloc", bytes + 4) {}
  void* data() { return buffer_.data() + (shifted ? 4 : 0); }
  void put(void* to, const void* from, std::uint64_t bytes) { copy(to, from, bytes); }
  void get(void* to, const void* from, std::uint64_t bytes) { copy(to, from, bytes); }
  static inline bool shifted = false;

  static void copy(void* to, const void* from, std::uint64_t bytes) {
    must(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

 private:
  Buffer buffer_;
};

// COUNTS…: every operation, also off by one element.
int family(const Arguments& arguments) {
  const Member job;
  const Stream stream;
  bool good = true;
  for (const bool shifted : {false, true}) {
    GpuSpace::shifted = shifted;
    for (const std::string& count : arguments)
      good = capi::every_collective_is_right<GpuSpace>(job.comm, std::stoull(count), stream.handle) && good;
  }
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// ROUNDS SEED: random operations on two streams, some as graphs.
int soak_collectives(const Arguments& arguments) {
  const Member job;
  const Stream streams[2];
  capi::SoakOptions options;
  options.rounds = std::stoull(arguments.at(0));
  options.seed = std::stoull(arguments.at(1));
  options.most_count = 3'000'000;
  options.streams = {streams[0].handle, streams[1].handle};
  options.replay = replay;
  const bool good = capi::soak<GpuSpace>({job.comm}, options);
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// CALLS: calls of all sizes on two streams in turn, without waiting in between; each adds ranks' ones to a counter.
int allreduce_streams(const Arguments& arguments) {
  const Member job;
  const Stream streams[2];
  constexpr std::uint64_t kMost = 1 << 20;
  Buffer data("malloc", kMost * 4);
  auto* const numbers = reinterpret_cast<std::int32_t*>(data.data());
  const std::vector<std::int32_t> ones(kMost, 1);
  must(cudaMemcpy(numbers, ones.data(), kMost * 4, cudaMemcpyDefault), "cudaMemcpy");
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const std::uint64_t calls = std::stoull(arguments.at(0));
  // The maximum of equal numbers changes nothing, so that any number of calls can follow each other.
  for (std::uint64_t call = 0; call < calls; ++call)
    must(sennit_allreduce(job.comm, numbers, numbers, 1 + call * 7919 % kMost, SENNIT_INT32, SENNIT_MAX, nullptr,
                          streams[call % 2].handle));
  must(sennit_allreduce(job.comm, numbers, numbers, kMost, SENNIT_INT32, SENNIT_SUM, nullptr, streams[0].handle));
  for (const Stream& each : streams) must(sennit_synchronize(job.comm, each.handle));
  std::vector<std::int32_t> got(kMost);
  must(cudaMemcpy(got.data(), numbers, kMost * 4, cudaMemcpyDefault), "cudaMemcpy");
  const bool good = std::ranges::count(got, job.size) == std::ptrdiff_t(kMost);
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// ROUNDS: small sums, which launch early, right behind a long copy of their input on another stream; every second
// round as a graph. Each round's copy overwrites the numbers of the one before.
int allreduce_behind_a_copy(const Arguments& arguments) {
  const Member job;
  const Stream stream, other;
  constexpr std::uint64_t kCount = 8 << 20, kReduced = 512;  // the last ones of a copy
  Buffer input("malloc", kCount * 4), output("malloc", kReduced * 4);
  std::array<Buffer, 2> fresh{Buffer("malloc", kCount * 4), Buffer("malloc", kCount * 4)};
  auto* const last = reinterpret_cast<std::int32_t*>(input.data()) + kCount - kReduced;
  for (std::size_t which = 0; which < fresh.size(); ++which) {
    const auto mine = samples(job.rank, kReduced, which);
    must(cudaMemcpy(fresh[which].data() + (kCount - kReduced) * 4, mine.data(), kReduced * 4, cudaMemcpyDefault),
         "cudaMemcpy");
  }
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cudaEvent_t fork = nullptr, copied = nullptr;
  must(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "cudaEventCreate");
  must(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), "cudaEventCreate");
  bool good = true;
  for (std::uint64_t round = 0; round < std::stoull(arguments.at(0)) && good; ++round) {
    const auto enqueue = [&] {
      for (const std::size_t which : {round % 2, (round + 1) % 2}) {  // two calls: the second one starts early
        must(cudaEventRecord(fork, stream.handle), "cudaEventRecord");
        must(cudaStreamWaitEvent(other.handle, fork), "cudaStreamWaitEvent");
        must(cudaMemcpyAsync(input.data(), fresh[which].data(), kCount * 4, cudaMemcpyDefault, other.handle),
             "cudaMemcpyAsync");
        must(cudaEventRecord(copied, other.handle), "cudaEventRecord");
        must(cudaStreamWaitEvent(stream.handle, copied), "cudaStreamWaitEvent");
        must(sennit_allreduce(job.comm, last, output.data(), kReduced, SENNIT_INT32, SENNIT_SUM, nullptr,
                              stream.handle));
      }
    };
    if (round % 4 < 2) {
      enqueue();
      must(sennit_synchronize(job.comm, stream.handle));
    } else {
      replay(stream.handle, 1, enqueue);
    }
    good = right(job, reinterpret_cast<const std::int32_t*>(output.data()), kReduced, (round + 1) % 2);
  }
  (void)cudaEventDestroy(fork);
  (void)cudaEventDestroy(copied);
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// COUNTS…: sums in parts of the communicator, even ranks and odd ones, and between them in the whole.
int allreduce_parts(const Arguments& arguments) {
  const Member job;
  const Stream stream;
  sennit_comm* part = nullptr;
  must(sennit_comm_split(job.comm, job.rank % 2, -job.rank, &part));
  bool good = sennit_comm_size(part) == (job.size + 1 - job.rank % 2) / 2;
  for (const std::string& argument : arguments)
    for (const bool whole : {false, true}) {
      const std::uint64_t count = std::stoull(argument);
      Buffer data("malloc", count * 4);
      const std::vector<std::int32_t> ones(count, 1 + job.rank);
      must(cudaMemcpy(data.data(), ones.data(), count * 4, cudaMemcpyDefault), "cudaMemcpy");
      must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      must(sennit_allreduce(whole ? job.comm : part, data.data(), data.data(), count, SENNIT_INT32, SENNIT_SUM,
                            nullptr, stream.handle));
      must(sennit_synchronize(whole ? job.comm : part, stream.handle));
      std::int32_t sum = 0;
      for (int rank = 0; rank < job.size; ++rank)
        if (whole || rank % 2 == job.rank % 2) sum += 1 + rank;
      std::vector<std::int32_t> got(count);
      must(cudaMemcpy(got.data(), data.data(), count * 4, cudaMemcpyDefault), "cudaMemcpy");
      good = std::ranges::count(got, sum) == std::ptrdiff_t(count) && good;
    }
  must(sennit_comm_destroy(part));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// KIND COUNTS…: allreduces, allgathers and all-to-alls between symmetric windows in memory of a kind, beginning
// behind their begins, call by call and as a graph that is replayed.
int between_windows(const Arguments& arguments) {
  const Member job;
  const Stream stream;
  bool good = true;
  std::uint64_t call = 0;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::uint64_t count = std::stoull(arguments[i]), ranks = std::uint64_t(job.size), shift = 3;
    Buffer input(arguments.at(0), (ranks * count + shift) * 4), output(arguments.at(0), (ranks * count + shift) * 4);
    sennit_window* windows[2] = {};
    must(sennit_register_symmetric(job.comm, input.data(), input.bytes(), &windows[0]));
    must(sennit_register_symmetric(job.comm, output.data(), output.bytes(), &windows[1]));
    auto* const from = reinterpret_cast<std::int32_t*>(input.data()) + shift;
    auto* const to = reinterpret_cast<std::int32_t*>(output.data()) + shift;
    std::vector<std::int32_t> got(ranks * count);
    const auto fetch = [&](const std::int32_t* data) {
      must(cudaMemcpy(got.data(), data, got.size() * 4, cudaMemcpyDefault), "cudaMemcpy");
    };
    for (const bool graph : {false, true}) {
      const auto run = [&](const std::function<void()>& enqueue) {
        const auto mine = samples(job.rank, ranks * count, ++call);
        must(cudaMemcpy(from, mine.data(), ranks * count * 4, cudaMemcpyDefault), "cudaMemcpy");
        must(cudaMemset(output.data(), 0xA5, output.bytes()), "cudaMemset");
        must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        if (graph)
          replay(stream.handle, 3, enqueue);
        else
          enqueue();
        must(sennit_synchronize(job.comm, stream.handle));
      };
      run([&] {
        must(sennit_allreduce(job.comm, from, to, count, SENNIT_INT32, SENNIT_SUM, nullptr, stream.handle));
      });
      good = right(job, to, count, call) && good;
      run([&] {
        must(sennit_allreduce(job.comm, from, from, count, SENNIT_INT32, SENNIT_MAX, nullptr, stream.handle));
      });
      fetch(from);
      for (std::uint64_t at = 0; at < count; ++at) {
        std::int32_t most = sample(0, at, call);
        for (int peer = 1; peer < job.size; ++peer) most = std::max(most, sample(peer, at, call));
        good = good && got[at] == most;
      }
      run([&] { must(sennit_allgather(job.comm, from, to, count, SENNIT_INT32, stream.handle)); });
      fetch(to);
      for (std::uint64_t at = 0; at < ranks * count; ++at)
        good = good && got[at] == sample(int(at / count), at % count, call);
      run([&] { must(sennit_all_to_all(job.comm, from, to, count, SENNIT_INT32, stream.handle)); });
      fetch(to);
      for (std::uint64_t at = 0; at < ranks * count; ++at)
        good = good && got[at] == sample(int(at / count), unsigned(job.rank) * count + at % count, call);
      if (!good) say("{} of {}{}", arguments.at(0), count, graph ? ", as a graph" : "");
    }
    for (sennit_window* window : windows) must(sennit_deregister(window));
  }
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// VICTIM: that rank is killed while the others reduce.
int allreduce_killed(const Arguments& arguments) {
  sennit_comm* comm = capi::create();
  must(cudaSetDevice(sennit_comm_device(comm)), "cudaSetDevice");
  Buffer data("malloc", 64 << 20);
  const auto call = [&] {
    const sennit_result result = sennit_allreduce(comm, data.data(), data.data(), (64 << 20) / 4, SENNIT_FLOAT32,
                                                  SENNIT_MAX, nullptr, nullptr);
    return result == SENNIT_OK ? sennit_synchronize(comm, nullptr) : result;
  };
  // The first call sets up, which may take longer than the victim lives.
  sennit_result result = call();
  const auto begin = std::chrono::steady_clock::now();
  if (sennit_comm_rank(comm) == std::stoi(arguments.at(0)))
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      (void)::kill(::getpid(), SIGKILL);
    }).detach();
  while (result == SENNIT_OK && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) result = call();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  say("after {} ms: {}", ms.count(), outcome(result));
  (void)sennit_comm_destroy(comm);
  return 0;
}

}  // namespace

std::vector<capi::Scenario> collective_scenarios() {
  return {{"allreduces", allreduces},
          {"family", family},
          {"soak", soak_collectives},
          {"allreduce_streams", allreduce_streams},
          {"allreduce_behind_a_copy", allreduce_behind_a_copy},
          {"allreduce_parts", allreduce_parts},
          {"between_windows", between_windows},
          {"allreduce_killed", allreduce_killed}};
}

}  // namespace sennit::gpu
