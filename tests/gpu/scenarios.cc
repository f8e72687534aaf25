#include "scenarios.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "buffer.h"
#include "member.h"

namespace sennit::gpu {

namespace {

using capi::Arguments;
using capi::must;
using capi::outcome;
using capi::say;
using gpu::must;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kGuard = 64;

/// A member, and its neighbours in a ring of ranks.
struct Ring : Member {
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
};

std::uint64_t number_of(int rank, std::uint64_t round) {
  return round * 8 + std::uint64_t(rank);
}

bool arrived(const char* what, const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes,
             std::uint64_t number) {
  if (const auto wrong = buffer.first_wrong(offset, bytes, number); wrong != bytes) {
    say("{} of {} bytes at offset {}: byte {} is wrong", what, bytes, offset, wrong);
    return false;
  }
  if (buffer.untouched(offset - kGuard, offset) && buffer.untouched(offset + bytes, offset + bytes + kGuard))
    return true;
  say("{} of {} bytes at offset {}: a byte beside it was written", what, bytes, offset);
  return false;
}

// WINDOW SOURCE ROUNDS BYTES…: rounds of put and get between neighbours; memory of the kinds that Buffer knows.
int transfers(const Arguments& arguments) {
  const Ring ring;
  const Stream stream;
  std::uint64_t most = 0;
  for (std::size_t i = 3; i < arguments.size(); ++i) most = std::max<std::uint64_t>(most, std::stoull(arguments[i]));
  Buffer inbox(arguments.at(0), most + 4 * kGuard);
  Buffer source(arguments.at(1), most + 4 * kGuard), landing(arguments.at(1), most + 4 * kGuard);
  sennit_window* window = nullptr;
  must(sennit_register(ring.comm, inbox.data(), inbox.bytes(), &window));
  bool good = true;
  std::uint64_t round = 0;
  for (int repeat = 0; repeat < std::stoi(arguments.at(2)); ++repeat)
    for (std::size_t i = 3; i < arguments.size(); ++i)
      for (const std::uint64_t shift : {0, 13}) {
        const std::uint64_t bytes = std::stoull(arguments[i]), there = kGuard + shift, here = kGuard + shift / 2;
        ++round;
        inbox.poison();
        landing.poison();
        source.fill(here, bytes, number_of(ring.rank, round));
        must(sennit_comm_barrier(ring.comm));
        must(sennit_put(window, ring.next, there, source.data() + here, bytes, stream.handle));
        must(sennit_synchronize(ring.comm, stream.handle));
        must(sennit_comm_barrier(ring.comm));
        good = arrived("put", inbox, there, bytes, number_of(ring.before, round)) && good;
        must(sennit_get(window, ring.next, there, landing.data() + here, bytes, stream.handle));
        must(sennit_synchronize(ring.comm, stream.handle));
        good = arrived("get", landing, here, bytes, number_of(ring.rank, round)) && good;
        must(sennit_comm_barrier(ring.comm));
      }
  must(sennit_deregister(window));
  say("{}; host path {}", good ? "all right" : "wrong", capi::messages_by_courier() > 0 ? "used" : "not used");
  return good ? 0 : 1;
}

// BYTES REPLAYS: two captured puts, each to a place of its own, replayed in turn with new contents.
int graphs(const Arguments& arguments) {
  const Ring ring;
  const Stream stream;
  const std::uint64_t bytes = std::stoull(arguments.at(0)), room = bytes + 2 * kGuard;
  Buffer inbox("malloc", 2 * room);
  std::array<std::unique_ptr<Buffer>, 2> sources;
  std::vector<Graph> replayable;
  sennit_window* window = nullptr;
  must(sennit_register(ring.comm, inbox.data(), inbox.bytes(), &window));
  for (std::size_t i = 0; i < 2; ++i) {
    sources[i] = std::make_unique<Buffer>("malloc", bytes);
    replayable.emplace_back(stream.handle, [&] {
      must(sennit_put(window, ring.next, i * room + kGuard, sources[i]->data(), bytes, stream.handle));
    });
  }
  bool good = true;
  for (std::uint64_t replay = 0; replay < std::stoull(arguments.at(1)); ++replay) {
    const std::size_t which = replay % 2;
    inbox.poison();
    sources[which]->fill(0, bytes, number_of(ring.rank, replay));
    must(sennit_comm_barrier(ring.comm));
    replayable[which].launch(stream.handle);
    stream.synchronize();
    must(sennit_comm_barrier(ring.comm));
    good = arrived("replayed put", inbox, which * room + kGuard, bytes, number_of(ring.before, replay)) && good;
    must(sennit_comm_barrier(ring.comm));
  }
  replayable.clear();
  must(sennit_deregister(window));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// BYTES REPLAYS: two puts in one capture, replayed; then puts while another thread captures in CUDA's default mode,
// which forbids much to all threads.
int captures(const Arguments& arguments) {
  const Ring ring;
  const Stream stream, other;
  const std::uint64_t bytes = std::stoull(arguments.at(0)), room = bytes + 2 * kGuard;
  Buffer inbox("malloc", 2 * room), source("malloc", 2 * bytes);
  sennit_window* window = nullptr;
  must(sennit_register(ring.comm, inbox.data(), inbox.bytes(), &window));
  const auto put_both = [&] {
    for (std::uint64_t i = 0; i < 2; ++i)
      must(sennit_put(window, ring.next, i * room + kGuard, source.data() + i * bytes, bytes, stream.handle));
  };
  bool good = true;
  const auto once = [&](const char* what, std::uint64_t number, const auto& send) {
    inbox.poison();
    for (std::uint64_t i = 0; i < 2; ++i) source.fill(i * bytes, bytes, number_of(ring.rank, 2 * number + i));
    must(sennit_comm_barrier(ring.comm));
    send();
    stream.synchronize();
    must(sennit_comm_barrier(ring.comm));
    for (std::uint64_t i = 0; i < 2; ++i)
      good = arrived(what, inbox, i * room + kGuard, bytes, number_of(ring.before, 2 * number + i)) && good;
    must(sennit_comm_barrier(ring.comm));
  };
  const std::uint64_t replays = std::stoull(arguments.at(1));
  {
    const Graph graph(stream.handle, put_both);
    for (std::uint64_t replay = 0; replay < replays; ++replay)
      once("replayed put", replay, [&] { graph.launch(stream.handle); });
  }

  once("put before", replays, put_both);  // what is set up at first use is not the matter here
  inbox.poison();
  for (std::uint64_t i = 0; i < 2; ++i) source.fill(i * bytes, bytes, number_of(ring.rank, i));
  must(sennit_comm_barrier(ring.comm));
  std::promise<void> begun, sent;
  std::thread captor([&] {
    must(cudaSetDevice(sennit_comm_device(ring.comm)), "cudaSetDevice");
    cudaGraph_t graph = nullptr;
    must(cudaStreamBeginCapture(other.handle, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    begun.set_value();
    sent.get_future().wait();
    must(cudaStreamEndCapture(other.handle, &graph), "cudaStreamEndCapture of the other thread");
    must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  });
  begun.get_future().wait();
  for (int i = 0; i < 3; ++i) put_both();
  sent.set_value();
  captor.join();
  stream.synchronize();
  must(sennit_comm_barrier(ring.comm));
  for (std::uint64_t i = 0; i < 2; ++i)
    good = arrived("put beside a capture", inbox, i * room + kGuard, bytes, number_of(ring.before, i)) && good;
  must(sennit_deregister(window));
  say("{}", good ? "all right" : "wrong");
  return good ? 0 : 1;
}

// KIND ROUNDS: registers, frees and allocates again, most often at the same address; peers must see the new memory.
int reuse(const Arguments& arguments) {
  const Ring ring;
  constexpr std::uint64_t kBytes = 24 << 20;
  Buffer source("malloc", kBytes);
  bool good = true;
  int same = 0;
  const std::byte* last = nullptr;
  for (int round = 0; round < std::stoi(arguments.at(1)); ++round) {
    Buffer inbox(arguments.at(0), kBytes + 2 * kGuard);
    same += inbox.data() == last ? 1 : 0;
    last = inbox.data();
    inbox.poison();
    source.fill(0, kBytes, number_of(ring.rank, std::uint64_t(round)));
    sennit_window* window = nullptr;
    must(sennit_register(ring.comm, inbox.data(), inbox.bytes(), &window));
    must(sennit_put(window, ring.next, kGuard, source.data(), kBytes, nullptr));
    must(sennit_synchronize(ring.comm, nullptr));
    must(sennit_comm_barrier(ring.comm));
    good = arrived("put", inbox, kGuard, kBytes, number_of(ring.before, std::uint64_t(round))) && good;
    must(sennit_deregister(window));
  }
  say("{}; same address {}", good ? "all right" : "wrong", same > 0 ? "seen" : "not seen");
  return good ? 0 : 1;
}

// ROUNDS BYTES: every rank frees GPU memory while its own put is under way and another rank puts to it. cudaFree
// waits for the kernels that run, and holds back those that the other rank's put asks for.
int frees(const Arguments& arguments) {
  const Ring ring;
  const Stream stream;
  const std::uint64_t bytes = std::stoull(arguments.at(1));
  Buffer inbox("malloc", bytes + 2 * kGuard), source("malloc", bytes);
  sennit_window* window = nullptr;
  must(sennit_register(ring.comm, inbox.data(), inbox.bytes(), &window));
  bool good = true;
  for (int round = 0; round < std::stoi(arguments.at(0)); ++round) {
    auto other = std::make_unique<Buffer>("malloc", 8 << 20);
    inbox.poison();
    source.fill(0, bytes, number_of(ring.rank, std::uint64_t(round)));
    must(sennit_comm_barrier(ring.comm));
    must(sennit_put(window, ring.next, kGuard, source.data(), bytes, stream.handle));
    other.reset();
    must(sennit_synchronize(ring.comm, stream.handle));
    must(sennit_comm_barrier(ring.comm));
    good = arrived("put", inbox, kGuard, bytes, number_of(ring.before, std::uint64_t(round))) && good;
    must(sennit_comm_barrier(ring.comm));
  }
  must(sennit_deregister(window));
  say("{}; host path {}", good ? "all right" : "wrong", capi::messages_by_courier() > 0 ? "used" : "not used");
  return good ? 0 : 1;
}

// VICTIM BYTES: is killed in the middle of a stream of puts from every rank to every other.
int killed(const Arguments& arguments) {
  sennit_comm* comm = capi::create();  // never destroyed: that is not what is tested
  must(cudaSetDevice(sennit_comm_device(comm)), "cudaSetDevice");
  const int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm), victim = std::stoi(arguments.at(0));
  const std::uint64_t bytes = std::stoull(arguments.at(1));
  Buffer inbox("malloc", bytes), source("malloc", bytes);
  sennit_window* window = nullptr;
  must(sennit_register(comm, inbox.data(), inbox.bytes(), &window));
  must(sennit_comm_barrier(comm));
  const auto start = Clock::now();
  const auto ms = [&] { return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count(); };
  std::jthread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    if (rank == victim) (void)::kill(::getpid(), SIGKILL);
  });
  sennit_result result = SENNIT_OK;
  for (int messages = 0; result == SENNIT_OK && ms() < 20000; ++messages) {
    result = sennit_put(window, (rank + 1 + messages % (size - 1)) % size, 0, source.data(), bytes, nullptr);
    if (result == SENNIT_OK) result = sennit_synchronize(comm, nullptr);
  }
  say("after {} ms: {}", ms(), outcome(result));
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

std::vector<capi::Scenario> scenarios() {
  return {{"transfers", transfers}, {"graphs", graphs}, {"captures", captures},
          {"reuse", reuse},         {"frees", frees},   {"killed", killed}};
}

}  // namespace sennit::gpu
