// Bad input, dead and disagreeing ranks.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>

#include "capi_rank.h"

namespace sennit::capi {

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t ms_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

// Rank 0 tries what cannot work; afterwards everything still does.
int bad_arguments(const Arguments&) {
  sennit_comm* comm = create();
  constexpr std::uint64_t kBytes = 1 << 16;
  Inbox inbox = make_inbox(comm, kBytes);
  void* memory = nullptr;
  must(sennit_memory_allocate(comm, kBytes, &memory));
  auto* const local = static_cast<std::byte*>(memory);
  if (sennit_comm_rank(comm) == 0) {
    // Mapped first: the peer's window must not come to lie where the freed memory was.
    must(sennit_put(inbox.window, 1, 0, local, kBytes, nullptr));
    void* freed = nullptr;
    must(sennit_memory_allocate(comm, kBytes, &freed));
    must(sennit_memory_free(comm, freed));
    const auto put = [&](int peer, std::uint64_t offset, const void* src, std::uint64_t bytes) {
      return outcome(sennit_put(inbox.window, peer, offset, src, bytes, nullptr));
    };
    say("null source: {}", put(1, 0, nullptr, 1));
    say("freed source: {}", put(1, 0, freed, 1));
    say("foreign source: {}", put(1, 0, reinterpret_cast<void*>(0x10000), 1));
    say("beyond the source: {}", put(1, 0, local + 1, kBytes));
    say("beyond the window: {}", put(1, 1, local, kBytes));
    say("offset beyond all: {}", put(1, ~std::uint64_t{0}, local, 1));
    say("no such rank: {}", put(2, 0, local, 1));
    say("negative rank: {}", put(-1, 0, local, 1));
    say("a stream: {}", outcome(sennit_put(inbox.window, 1, 0, local, 1, local)));
    void* const per_thread = reinterpret_cast<void*>(std::uintptr_t{2});  // cudaStreamPerThread
    say("a thread's stream: {}", outcome(sennit_put(inbox.window, 1, 0, local, 1, per_thread)));
    say("null destination: {}", outcome(sennit_get(inbox.window, 1, 0, nullptr, 1, nullptr)));
    say("overlap: {}", outcome(sennit_copy(comm, local + 8, local, 16, nullptr)));
    say("overlap with own window: {}", put(0, 0, inbox.data + 1, 16));
    say("no end: {}", outcome(sennit_copy(comm, local, inbox.data, ~std::uint64_t{0}, nullptr)));
    const auto page = std::uint64_t(::sysconf(_SC_PAGESIZE));
    auto* pages = static_cast<std::byte*>(
        ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    (void)::mprotect(pages + page, page, PROT_READ);
    say("read-only destination: {}", outcome(sennit_copy(comm, pages, local, page + 1, nullptr)));
    say("read-only destination of a get: {}", outcome(sennit_get(inbox.window, 1, 0, pages + page, 1, nullptr)));
    say("read-only source: {}", put(1, 0, pages + page, 8));
    must(sennit_synchronize(comm, nullptr));
    (void)::mprotect(pages + page, page, PROT_NONE);
    say("hole: {}", outcome(sennit_copy(comm, local, pages, 3 * page, nullptr)));
    say("hole in the source of a put: {}", put(1, 0, pages, 3 * page));
    say("unmapped end: {}", outcome(sennit_copy(comm, local, pages, page + 1, nullptr)));
    say("nothing from nowhere: {}", put(1, kBytes, nullptr, 0));
    say("free in use: {}", outcome(sennit_memory_free(comm, inbox.data)));
    say("free twice: {}", outcome(sennit_memory_free(comm, freed)));
    say("free inside: {}", outcome(sennit_memory_free(comm, local + 1)));
    must(sennit_synchronize(comm, nullptr));
    fill(local, kBytes, 3);
    must(sennit_put(inbox.window, 1, 0, local, kBytes, nullptr));
    must(sennit_synchronize(comm, nullptr));
  }
  must(sennit_comm_barrier(comm));
  if (sennit_comm_rank(comm) == 1) say("{}", first_wrong(inbox.data, kBytes, 3) == kBytes ? "still works" : "broken");
  must(sennit_comm_barrier(comm));
  must(sennit_comm_destroy(comm));
  return 0;
}

// Registrations of which rank 1's cannot work, one after the other; then one that works.
int bad_registrations(const Arguments&) {
  sennit_comm* comm = create();
  constexpr std::uint64_t kBytes = 4096;
  const bool bad = sennit_comm_rank(comm) == 1;
  void *memory = nullptr, *freed = nullptr;
  must(sennit_memory_allocate(comm, kBytes, &memory));
  must(sennit_memory_allocate(comm, kBytes, &freed));
  must(sennit_memory_free(comm, freed));
  auto pageable = std::make_unique<std::byte[]>(kBytes);
  const auto attempt = [&](const char* what, void* data, std::uint64_t bytes) {
    sennit_window* window = nullptr;
    say("{}: {}", what, outcome(sennit_register(comm, bad ? data : memory, bad ? bytes : kBytes, &window)));
  };
  attempt("null", nullptr, kBytes);
  attempt("freed", freed, kBytes);
  attempt("pageable", pageable.get(), kBytes);
  attempt("too long", memory, kBytes + 1);
  attempt("far too long", static_cast<std::byte*>(memory) + 1, ~std::uint64_t{0});
  attempt("nothing", nullptr, 0);
  must(sennit_comm_destroy(comm));
  return 0;
}

// Ranks make different collective calls; then the same again.
int mismatch(const Arguments&) {
  sennit_comm* comm = create();
  const bool other = sennit_comm_rank(comm) == 1;
  sennit_window *first = nullptr, *second = nullptr;
  must(sennit_register(comm, nullptr, 0, &first));
  must(sennit_register(comm, nullptr, 0, &second));
  sennit_window* third = nullptr;
  say("calls: {}", outcome(other ? sennit_comm_barrier(comm) : sennit_register(comm, nullptr, 0, &third)));
  say("windows: {}", outcome(sennit_deregister(other ? second : first)));
  say("barrier: {}", outcome(sennit_comm_barrier(comm)));
  must(sennit_comm_destroy(comm));
  return 0;
}

// Everybody puts to everybody in an endless stream; VICTIM dies in the middle of it.
int killed(const Arguments& arguments) {
  sennit_comm* comm = create();
  const int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm), victim = std::stoi(arguments.at(0));
  constexpr std::uint64_t kBytes = 4 << 20;
  Inbox inbox = make_inbox(comm, kBytes * std::uint64_t(size));  // a place for each sender
  std::vector<std::byte> source(kBytes);
  must(sennit_comm_barrier(comm));
  const auto start = Clock::now();
  std::jthread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    if (rank == victim) (void)::kill(::getpid(), SIGKILL);
  });
  sennit_result result = SENNIT_OK;
  int messages = 0;
  while (result == SENNIT_OK && ms_since(start) < 20000) {
    const int peer = (rank + 1 + messages % (size - 1)) % size;
    result = sennit_put(inbox.window, peer, kBytes * std::uint64_t(rank), source.data(), kBytes, nullptr);
    if (result == SENNIT_OK && ++messages % 4 == 0) result = sennit_synchronize(comm, nullptr);
  }
  say("after {} ms: {}", ms_since(start), outcome(result));
  const auto ending = Clock::now();
  say("check: {}", outcome(sennit_comm_check(comm)));
  say("barrier: {}", outcome(sennit_comm_barrier(comm)));
  say("destroy: {}", outcome(sennit_comm_destroy(comm)));
  say("ended within {}", ms_since(ending) < 3000 ? "3 s" : "more than 3 s");
  return 0;
}

// HOW: rank 1 is killed, gives up or stands still in an endless stream of allreduces, small ones and large ones.
int gone_from_allreduces(const Arguments& arguments) {
  sennit_comm* comm = create();
  const std::string& how = arguments.at(0);
  constexpr std::uint64_t kMost = 1 << 18;
  std::vector<float> numbers(kMost, 0);
  const auto call = [&](std::uint64_t count) {
    const sennit_result result =
        sennit_allreduce(comm, numbers.data(), numbers.data(), count, SENNIT_FLOAT32, SENNIT_SUM, nullptr, nullptr);
    return result == SENNIT_OK ? sennit_synchronize(comm, nullptr) : result;
  };
  must(call(1));
  const auto start = Clock::now();
  std::jthread end([&] {
    if (sennit_comm_rank(comm) != 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (how == "killed") (void)::kill(::getpid(), SIGKILL);
    if (how == "aborted") (void)sennit_comm_abort(comm, "the answer is not 42");
    if (how != "stopped") return;
    if (::fork() == 0) {  // who lets it go on later
      std::this_thread::sleep_for(std::chrono::seconds(6));
      (void)::kill(::getppid(), SIGCONT);
      ::_exit(0);
    }
    (void)::kill(::getpid(), SIGSTOP);
  });
  sennit_result result = SENNIT_OK;
  for (std::uint64_t i = 0; result == SENNIT_OK && ms_since(start) < 20000; ++i)
    result = call(i % 2 == 0 ? 100 : kMost);
  say("{} 9 s: {}", ms_since(start) < 9000 ? "within" : "after", outcome(result));
  say("again: {}", outcome(call(100)));
  end.join();
  (void)sennit_comm_destroy(comm);
  return 0;
}

// Rank 1 gives up; the others hear why, also those that wait.
int aborted(const Arguments&) {
  sennit_comm* comm = create();
  if (sennit_comm_rank(comm) == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    must(sennit_comm_abort(comm, "the answer is not 42"));
  }
  const auto start = Clock::now();
  while (sennit_comm_check(comm) == SENNIT_OK && ms_since(start) < 10000)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  say("{}", outcome(sennit_comm_check(comm)));
  say("{}", outcome(sennit_comm_barrier(comm)));
  char from = 0, to = 0;
  say("{}", outcome(sennit_copy(comm, &to, &from, 1, nullptr)));
  void* memory = nullptr;
  say("{}", outcome(sennit_memory_allocate(comm, 1, &memory)));
  (void)sennit_comm_destroy(comm);
  return 0;
}

// HOW: rank 1 gives up, or is killed, while rank 2 waits in a barrier and rank 0 computes.
int gone_from_barrier(const Arguments& arguments) {
  sennit_comm* comm = create();
  if (sennit_comm_rank(comm) == 0) std::this_thread::sleep_for(std::chrono::seconds(6));
  if (sennit_comm_rank(comm) == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (arguments.at(0) == "killed") (void)::kill(::getpid(), SIGKILL);
    must(sennit_comm_abort(comm, "the answer is not 42"));
  }
  const auto start = Clock::now();
  const std::string text = outcome(sennit_comm_barrier(comm));
  say("{} 5 s: {}", ms_since(start) < 5000 ? "within" : "after", text);
  (void)sennit_comm_destroy(comm);
  return 0;
}

// Rank 1 comes too late for the limit that the communicator was given.
int late(const Arguments&) {
  sennit_comm* comm = create(0.3);
  if (sennit_comm_rank(comm) == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
  const auto start = Clock::now();
  const std::string text = outcome(sennit_comm_barrier(comm));
  say("{} 2.5 s: {}", ms_since(start) < 2500 ? "within" : "after", text);
  (void)sennit_comm_destroy(comm);
  return 0;
}

// Only rank 1 has options or variables that cannot work: all learn of it at once.
int bad_variable(const Arguments&) {
  sennit_comm* comm = nullptr;
  const auto start = Clock::now();
  const std::string text = outcome(sennit_comm_create(nullptr, &comm));
  say("{} 5 s: {}", ms_since(start) < 5000 ? "within" : "after", text);
  if (comm != nullptr) (void)sennit_comm_destroy(comm);
  return 0;
}

}  // namespace

std::vector<Scenario> fault_scenarios() {
  return {{"bad_arguments", bad_arguments},
          {"bad_registrations", bad_registrations},
          {"mismatch", mismatch},
          {"killed", killed},
          {"gone_from_allreduces", gone_from_allreduces},
          {"aborted", aborted},
          {"gone_from_barrier", gone_from_barrier},
          {"late", late},
          {"bad_variable", bad_variable}};
}

}  // namespace sennit::capi
