// Collectives in CUDA graphs: replayed in turn, beside each other and other calls, captured on several streams.
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "buffer.h"
#include "collective.h"
#include "scenarios.h"

namespace sennit::gpu {

namespace {

using capi::Arguments;
using capi::must;
using capi::say;
using gpu::must;

// COUNT REPLAYS: two graphs of three allreduces each, replayed in turn, with an eager call on another stream between.
int allreduce_graphs(const Arguments& arguments) {
  const Member job;
  const Stream stream, other;
  const std::uint64_t count = std::stoull(arguments.at(0)), most = count * 3;
  Buffer eager("malloc", 64), input("malloc", 2 * most * 4), output("malloc", 2 * most * 4);
  auto* const from = reinterpret_cast<std::int32_t*>(input.data());
  auto* const to = reinterpret_cast<std::int32_t*>(output.data());
  std::vector<Graph> graphs;
  for (std::size_t which = 0; which < 2; ++which)
    graphs.emplace_back(stream.handle, [&] {
      for (std::uint64_t part = 0; part < 3; ++part) {
        const std::uint64_t at = which * most + part * count;
        must(sennit_allreduce(job.comm, from + at, to + at, count, SENNIT_INT32, SENNIT_SUM, nullptr, stream.handle));
      }
    });
  bool good = true;
  for (std::uint64_t replay = 0; replay < std::stoull(arguments.at(1)); ++replay) {
    const std::size_t which = replay % 2;
    const auto mine = samples(job.rank, most, replay);
    must(cudaMemcpy(from + which * most, mine.data(), most * 4, cudaMemcpyDefault), "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    graphs[which].launch(stream.handle);
    must(cudaStreamSynchronize(stream.handle), "cudaStreamSynchronize");
    good = right(job, to + which * most, most, replay) && good;
    auto* const one = reinterpret_cast<std::int32_t*>(eager.data());
    must(cudaMemcpy(one, mine.data(), 4, cudaMemcpyDefault), "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    must(sennit_allreduce(job.comm, one, one, 1, SENNIT_INT32, SENNIT_SUM, nullptr, other.handle));
    must(sennit_synchronize(job.comm, other.handle));
    good = right(job, one, 1, replay) && good;
  }
  must(sennit_comm_barrier(job.comm));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// COUNT ROUNDS: two graphs of two allreduces each and an eager one, on three streams that nothing orders; each round
// enqueues them several times before it waits.
int replays_beside_calls(const Arguments& arguments) {
  const Member job;
  constexpr std::size_t kSets = 3, kCalls = 2;  // the last set is the eager call's
  const std::array<Stream, kSets> streams;
  const std::uint64_t count = std::stoull(arguments.at(0)), set = count * kCalls;
  Buffer input("malloc", kSets * set * 4), output("malloc", kSets * set * 4);
  auto* const from = reinterpret_cast<std::int32_t*>(input.data());
  auto* const to = reinterpret_cast<std::int32_t*>(output.data());
  const auto enqueue = [&](std::size_t which, std::uint64_t call) {
    const std::uint64_t at = which * set + call * count;
    must(sennit_allreduce(job.comm, from + at, to + at, count, SENNIT_INT32, SENNIT_SUM, nullptr,
                          streams[which].handle));
  };
  const auto enqueue_all = [&](std::size_t which) {
    for (std::uint64_t call = 0; call < kCalls; ++call) enqueue(which, call);
  };
  std::vector<Graph> graphs;
  for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal}) {
    const std::size_t which = graphs.size();
    graphs.emplace_back(
        streams[which].handle, [&] { enqueue_all(which); }, mode);
  }
  bool good = true;
  for (std::uint64_t round = 0; round < std::stoull(arguments.at(1)) && good; ++round) {
    const auto mine = samples(job.rank, kSets * set, round);
    must(cudaMemcpy(from, mine.data(), kSets * set * 4, cudaMemcpyDefault), "cudaMemcpy");
    must(cudaMemset(to, 0xA5, kSets * set * 4), "cudaMemset");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (int again = 0; again < 5; ++again) {
      for (std::size_t which = 0; which < graphs.size(); ++which) graphs[which].launch(streams[which].handle);
      enqueue_all(kSets - 1);
    }
    for (const Stream& each : streams) must(sennit_synchronize(job.comm, each.handle));
    good = right(job, to, kSets * set, round);
  }
  must(sennit_comm_barrier(job.comm));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// COUNT: a communicator that ends while a replay waits in a stream that it does not know. One capture was thrown
// away.
int ends_behind_a_replay(const Arguments& arguments) {
  const std::uint64_t count = std::stoull(arguments.at(0));
  auto job = std::make_unique<Member>();  // selects the device of what follows
  const Stream captured, replayed;
  Buffer input("malloc", count * 4), output("malloc", count * 4);
  auto* const from = reinterpret_cast<std::int32_t*>(input.data());
  auto* const to = reinterpret_cast<std::int32_t*>(output.data());
  const auto mine = samples(job->rank, count, 1);
  must(cudaMemcpy(from, mine.data(), count * 4, cudaMemcpyDefault), "cudaMemcpy");
  const auto enqueue = [&] {
    must(sennit_allreduce(job->comm, from, to, count, SENNIT_INT32, SENNIT_SUM, nullptr, captured.handle));
  };
  cudaGraph_t thrown_away = nullptr;
  must(cudaStreamBeginCapture(captured.handle, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  enqueue();
  must(cudaStreamEndCapture(captured.handle, &thrown_away), "cudaStreamEndCapture");
  must(cudaGraphDestroy(thrown_away), "cudaGraphDestroy");
  const Graph graph(captured.handle, enqueue);
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const auto late = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  must(cudaLaunchHostFunc(replayed.handle, late, nullptr), "cudaLaunchHostFunc");
  graph.launch(replayed.handle);
  job = nullptr;
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  job = std::make_unique<Member>();
  const bool good = right(*job, to, count, 1);
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// COUNT: sums in turn on two streams of one capture, forked and joined by events alone; replayed.
int captured_on_two_streams(const Arguments& arguments) {
  const Member job;
  const Stream first, second;
  const std::uint64_t count = std::stoull(arguments.at(0));
  Buffer data("malloc", count * 4);
  auto* const numbers = reinterpret_cast<std::int32_t*>(data.data());
  cudaEvent_t fork = nullptr, join = nullptr;
  must(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "cudaEventCreate");
  must(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "cudaEventCreate");
  constexpr int kCalls = 6, kReplays = 3;
  const auto enqueue = [&] {
    must(cudaEventRecord(fork, first.handle), "cudaEventRecord");
    must(cudaStreamWaitEvent(second.handle, fork), "cudaStreamWaitEvent");
    for (int call = 0; call < kCalls; ++call)
      must(sennit_allreduce(job.comm, numbers, numbers, count, SENNIT_INT32, SENNIT_SUM, nullptr,
                            (call % 2 == 0 ? first : second).handle));
    must(cudaEventRecord(join, second.handle), "cudaEventRecord");
    must(cudaStreamWaitEvent(first.handle, join), "cudaStreamWaitEvent");
  };
  const std::vector<std::int32_t> ones(count, 1);
  must(cudaMemcpy(numbers, ones.data(), count * 4, cudaMemcpyDefault), "cudaMemcpy");
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  replay(first.handle, kReplays, enqueue);
  must(sennit_synchronize(job.comm, first.handle));
  std::uint32_t expected = 1;
  for (int call = 0; call < kCalls * kReplays; ++call) expected *= static_cast<std::uint32_t>(job.size);
  std::vector<std::int32_t> got(count);
  must(cudaMemcpy(got.data(), numbers, count * 4, cudaMemcpyDefault), "cudaMemcpy");
  const bool good = std::ranges::count(got, static_cast<std::int32_t>(expected)) == std::ptrdiff_t(count);
  (void)cudaEventDestroy(fork);
  (void)cudaEventDestroy(join);
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// COUNT: allgathers between windows, some captured and, before the capture ends, some called on another stream; then
// the graph, and what was called again.
int captures_beside_calls(const Arguments& arguments) {
  const Member job;
  const Stream captured, called;
  const std::uint64_t count = std::stoull(arguments.at(0)), all = count * std::uint64_t(job.size);
  struct Exchange {
    explicit Exchange(std::uint64_t bytes) : buffer("malloc", bytes) {}
    Buffer buffer;
    sennit_window* window = nullptr;
    std::int32_t* numbers() { return reinterpret_cast<std::int32_t*>(buffer.data()); }
  };
  std::array<Exchange, 3> exchanges{Exchange(all * 4), Exchange(all * 4), Exchange(all * 4)};
  for (Exchange& each : exchanges)
    must(sennit_register_symmetric(job.comm, each.buffer.data(), each.buffer.bytes(), &each.window));
  const auto prepare = [&](std::size_t which) {
    const auto mine = samples(job.rank, count, which);
    must(cudaMemset(exchanges[which].buffer.data(), 0xA5, all * 4), "cudaMemset");
    must(cudaMemcpy(exchanges[which].numbers() + std::uint64_t(job.rank) * count, mine.data(), count * 4,
                    cudaMemcpyDefault),
         "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    must(sennit_comm_barrier(job.comm));  // nobody's memset comes behind another's bytes
  };
  const auto gather = [&](std::size_t which, cudaStream_t stream) {
    std::int32_t* const to = exchanges[which].numbers();
    must(sennit_allgather(job.comm, to + std::uint64_t(job.rank) * count, to, count, SENNIT_INT32, stream));
  };
  const auto gathered = [&](std::size_t which) {
    std::vector<std::int32_t> got(all);
    must(cudaMemcpy(got.data(), exchanges[which].numbers(), all * 4, cudaMemcpyDefault), "cudaMemcpy");
    for (std::uint64_t at = 0; at < all; ++at)
      if (got[at] != sample(int(at / count), at % count, which)) {
        say("exchange {}, element {} of {}: {}", which, at, all, got[at]);
        return false;
      }
    return true;
  };
  for (const std::size_t which : {0u, 1u, 2u}) prepare(which);
  const Graph graph(captured.handle, [&] {
    gather(0, captured.handle);
    gather(1, called.handle);
    gather(2, captured.handle);
    gather(1, called.handle);
  });
  must(sennit_synchronize(job.comm, called.handle));
  bool good = gathered(1);
  for (int replays = 0; replays < 3; ++replays) {
    for (const std::size_t which : {0u, 1u, 2u}) prepare(which);
    graph.launch(captured.handle);
    must(sennit_synchronize(job.comm, captured.handle));
    gather(1, called.handle);
    must(sennit_synchronize(job.comm, called.handle));
    for (const std::size_t which : {0u, 1u, 2u}) good = gathered(which) && good;
  }
  must(sennit_comm_barrier(job.comm));
  for (Exchange& each : exchanges) must(sennit_deregister(each.window));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

}  // namespace

std::vector<capi::Scenario> graph_scenarios() {
  return {{"allreduce_graphs", allreduce_graphs},
          {"replays_beside_calls", replays_beside_calls},
          {"ends_behind_a_replay", ends_behind_a_replay},
          {"captured_on_two_streams", captured_on_two_streams},
          {"captures_beside_calls", captures_beside_calls}};
}

}  // namespace sennit::gpu
