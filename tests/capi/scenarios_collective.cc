// Collectives through the C API: many calls, sizes and communicators; bad input; ranks that do not come.
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "capi_rank.h"
#include "soak.h"

namespace sennit::capi {

namespace {

/// Numbers of the rank's device.
struct Numbers {
  Numbers(sennit_comm* comm, std::uint64_t count) {
    void* data = nullptr;
    must(sennit_memory_allocate(comm, count * sizeof(float), &data));
    at = static_cast<float*>(data);
  }
  float* at = nullptr;
};

float sample(int rank, std::uint64_t i, std::uint64_t call) {
  return float((i * 7 + call * 3 + std::uint64_t(rank) * 5) % 13);
}

/// One allreduce and what it should have given.
bool sum_is_right(sennit_comm* comm, Numbers& in, Numbers& out, std::uint64_t count, std::uint64_t call) {
  const int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm);
  for (std::uint64_t i = 0; i < count; ++i) in.at[i] = sample(rank, i, call);
  must(sennit_allreduce(comm, in.at, out.at, count, SENNIT_FLOAT32, SENNIT_SUM, nullptr, nullptr));
  must(sennit_synchronize(comm, nullptr));
  for (std::uint64_t i = 0; i < count; ++i) {
    float expected = 0;
    for (int peer = 0; peer < size; ++peer) expected += sample(peer, i, call);
    if (out.at[i] == expected) continue;
    say("call {}, element {} of {}: {} instead of {}", call, i, count, out.at[i], expected);
    return false;
  }
  return true;
}

// COUNTS…: in place and out of place.
int allreduces(const Arguments& arguments) {
  sennit_comm* comm = create();
  std::uint64_t most = 1;
  for (const std::string& count : arguments) most = std::max<std::uint64_t>(most, std::stoull(count));
  Numbers in(comm, most), out(comm, most);
  bool good = true;
  std::uint64_t call = 0;
  for (const std::string& count : arguments)
    for (Numbers* to : {&out, &in}) good = sum_is_right(comm, in, *to, std::stoull(count), ++call) && good;
  say("{}", good ? "all right" : "wrong");
  must(sennit_comm_destroy(comm));
  return 0;
}

/// Plain host memory, for the host executor.
class HostSpace {
 public:
  HostSpace(sennit_comm*, std::uint64_t bytes) : all_(bytes) {}
  void* data() { return all_.data(); }
  void put(void* to, const void* from, std::uint64_t bytes) { copy(to, from, bytes); }
  void get(void* to, const void* from, std::uint64_t bytes) { copy(to, from, bytes); }

  static void copy(void* to, const void* from, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }

 private:
  std::vector<std::byte> all_;
};

// COUNTS…: every operation.
int family(const Arguments& arguments) {
  sennit_comm* comm = create();
  bool good = true;
  for (const std::string& count : arguments)
    good = every_collective_is_right<HostSpace>(comm, std::stoull(count), nullptr) && good;
  say("{}", good ? "all right" : "wrong");
  must(sennit_comm_destroy(comm));
  return 0;
}

// ROUNDS SEED: random operations on three communicators.
int soak_collectives(const Arguments& arguments) {
  const std::vector<sennit_comm*> comms{create(), create(), create()};
  SoakOptions options;
  options.rounds = std::stoull(arguments.at(0));
  options.seed = std::stoull(arguments.at(1));
  const bool good = soak<HostSpace>(comms, options);
  say("{}", good ? "all right" : "wrong");
  for (sennit_comm* comm : comms) must(sennit_comm_destroy(comm));
  return good ? 0 : 1;
}

// COUNTS…: allreduces, allgathers and all-to-alls between symmetric windows, and, after these are gone, without.
int between_windows(const Arguments& arguments) {
  sennit_comm* comm = create();
  const auto rank = std::uint64_t(sennit_comm_rank(comm)), size = std::uint64_t(sennit_comm_size(comm));
  std::uint64_t most = 1;
  for (const std::string& count : arguments) most = std::max<std::uint64_t>(most, std::stoull(count));
  Numbers in(comm, most * size + 1), out(comm, most * size + 1);
  sennit_window* windows[2] = {};
  must(sennit_register_symmetric(comm, in.at, (most * size + 1) * sizeof(float), &windows[0]));
  must(sennit_register_symmetric(comm, out.at, (most * size + 1) * sizeof(float), &windows[1]));
  in.at += 1;  // not at the begin of the windows
  out.at += 1;
  bool good = true;
  std::uint64_t call = 0;
  const auto moved = [&](bool to_all, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count * size; ++i) in.at[i] = sample(int(rank), i, ++call) + float(i % 5);
    const std::uint64_t base = call - count * size;
    if (to_all)
      must(sennit_all_to_all(comm, in.at, out.at, count, SENNIT_FLOAT32, nullptr));
    else
      must(sennit_allgather(comm, in.at, out.at, count, SENNIT_FLOAT32, nullptr));
    must(sennit_synchronize(comm, nullptr));
    for (std::uint64_t peer = 0; peer < size; ++peer)
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t at = (to_all ? rank * count : 0) + i;
        good = good && out.at[peer * count + i] == sample(int(peer), at, base + at + 1) + float(at % 5);
      }
  };
  for (const bool registered : {true, false}) {
    for (const std::string& text : arguments) {
      const std::uint64_t count = std::stoull(text);
      for (Numbers* to : {&out, &in}) good = sum_is_right(comm, in, *to, count, ++call) && good;
      moved(false, count);
      moved(true, count);
    }
    if (registered)
      for (sennit_window* window : windows) must(sennit_deregister(window));
  }
  say("{}", good ? "all right" : "wrong");
  must(sennit_comm_destroy(comm));
  return 0;
}

// Ranks that do not register alike.
int bad_windows(const Arguments&) {
  sennit_comm* comm = create();
  const int rank = sennit_comm_rank(comm);
  Numbers data(comm, 1000);
  sennit_window* window = nullptr;
  say("lengths: {}", outcome(sennit_register_symmetric(comm, data.at, rank == 0 ? 4000 : 2000, &window)));
  say("again: {}", outcome(sennit_register_symmetric(comm, data.at, 4000, &window)));
  must(sennit_deregister(window));
  Numbers other(comm, 1000);
  sennit_window* windows[2] = {};
  must(sennit_register_symmetric(comm, data.at, 4000, &windows[0]));
  must(sennit_register_symmetric(comm, other.at, 4000, &windows[1]));
  say("crosswise: {}", outcome(sennit_deregister(windows[rank == 0 ? 0 : 1])));
  say("after: {}", sum_is_right(comm, data, other, 1000, 1) ? "all right" : "wrong");
  say("kinds: {}", outcome(rank == 0 ? sennit_register(comm, data.at, 4000, &window)
                                     : sennit_register_symmetric(comm, data.at, 4000, &window)));
  must(sennit_comm_destroy(comm));
  return 0;
}

// A barrier of streams: what every rank put into rank 0's memory before it is there for rank 0's lane after it.
int stream_barrier(const Arguments&) {
  sennit_comm* comm = create();
  const int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm);
  const Inbox inbox = make_inbox(comm, 64);
  bool good = true;
  for (std::uint8_t round = 1; round < 50; ++round) {
    must(sennit_put(inbox.window, 0, std::uint64_t(rank), &round, 1, nullptr));
    must(sennit_barrier(comm, nullptr));
    std::uint8_t seen[64] = {};
    must(sennit_get(inbox.window, 0, 0, seen, std::uint64_t(size), nullptr));
    must(sennit_barrier(comm, nullptr));
    must(sennit_synchronize(comm, nullptr));
    good = good && std::count(seen, seen + size, round) == size;
  }
  say("{}", good ? "all right" : "wrong");
  must(sennit_deregister(inbox.window));
  must(sennit_comm_destroy(comm));
  return 0;
}

// Two communicators of the same ranks, used by a thread each.
int two_communicators(const Arguments&) {
  sennit_comm* comms[] = {create(), create()};
  bool good[2] = {true, true};
  std::vector<std::thread> threads;
  for (const int which : {0, 1})
    threads.emplace_back([&, which] {
      Numbers in(comms[which], 5000), out(comms[which], 5000);
      for (std::uint64_t call = 0; call < 40; ++call)
        good[which] = sum_is_right(comms[which], in, out, 1 + call * 113 % 5000, call) && good[which];
    });
  for (std::thread& thread : threads) thread.join();
  say("{}", good[0] && good[1] ? "all right" : "wrong");
  must(sennit_comm_destroy(comms[1]));
  must(sennit_comm_destroy(comms[0]));
  return 0;
}

// What cannot work is refused on every rank alike, and what comes next works.
int bad_collectives(const Arguments&) {
  sennit_comm* comm = create();
  Numbers in(comm, 64), out(comm, 64);
  const auto call = [&](const void* from, void* to, std::uint64_t count, int type, int op, const void* scale) {
    return outcome(sennit_allreduce(comm, from, to, count, sennit_type(type), sennit_operator(op), scale, nullptr));
  };
  const float half = 0.5f;
  say("null input: {}", call(nullptr, out.at, 1, SENNIT_FLOAT32, SENNIT_SUM, nullptr));
  say("null output: {}", call(in.at, nullptr, 1, SENNIT_FLOAT32, SENNIT_SUM, nullptr));
  say("overlap: {}", call(in.at, in.at + 1, 8, SENNIT_FLOAT32, SENNIT_SUM, nullptr));
  say("too long: {}", call(in.at, out.at, 1 << 20, SENNIT_FLOAT32, SENNIT_SUM, nullptr));
  say("endless: {}", call(in.at, out.at, ~std::uint64_t{0}, SENNIT_FLOAT32, SENNIT_SUM, nullptr));
  say("no type: {}", call(in.at, out.at, 1, 14, SENNIT_SUM, nullptr));
  say("no operator: {}", call(in.at, out.at, 1, SENNIT_FLOAT32, -1, nullptr));
  say("bits of a float: {}", call(in.at, out.at, 1, SENNIT_FLOAT32, SENNIT_BIT_AND, nullptr));
  say("no scale: {}", call(in.at, out.at, 1, SENNIT_FLOAT32, SENNIT_PREMULTIPLIED_SUM, nullptr));
  say("nothing: {}", call(nullptr, nullptr, 0, SENNIT_FLOAT32, SENNIT_SUM, nullptr));
  const auto broadcast = [&](int root) {
    return outcome(sennit_broadcast(comm, in.at, out.at, 1, SENNIT_FLOAT32, root, nullptr));
  };
  say("root below: {}", broadcast(-1));
  say("root above: {}", broadcast(sennit_comm_size(comm)));
  say("gather too long: {}", outcome(sennit_allgather(comm, in.at, out.at, 1 << 20, SENNIT_FLOAT32, nullptr)));
  say("gather overlaps: {}", outcome(sennit_allgather(comm, in.at, in.at + 1, 8, SENNIT_FLOAT32, nullptr)));
  say("gather into null: {}", outcome(sennit_allgather(comm, in.at, nullptr, 8, SENNIT_FLOAT32, nullptr)));
  const std::uint64_t counts[] = {1, 1, 1, 1}, others[] = {2, 2, 2, 2};
  const auto all_to_all_v = [&](const std::uint64_t* offsets, const std::uint64_t* receive_counts) {
    return outcome(
        sennit_all_to_all_v(comm, in.at, counts, offsets, out.at, receive_counts, counts, SENNIT_FLOAT32, nullptr));
  };
  say("null offsets: {}", all_to_all_v(nullptr, counts));
  say("self differs: {}", all_to_all_v(counts, others));
  const std::uint64_t places[] = {0, 1, 2, 3}, crossed[] = {1, 0, 3, 2};
  const auto in_place = [&](const std::uint64_t* from) {
    return outcome(sennit_all_to_all_v(comm, out.at, counts, from, out.at, counts, places, SENNIT_FLOAT32, nullptr));
  };
  say("messages overlap: {}", in_place(crossed));
  const auto own = static_cast<std::uint64_t>(sennit_comm_rank(comm));
  const std::uint64_t mine[] = {own, own, own, own};
  out.at[own] = float(10 * own);
  say("own message stays: {}", in_place(mine));
  must(sennit_synchronize(comm, nullptr));
  say("gathers: {}", out.at[0] + out.at[sennit_comm_size(comm) - 1]);
  in.at[0] = float(sennit_comm_rank(comm) + 1);
  say("scaled: {}", call(in.at, out.at, 1, SENNIT_FLOAT32, SENNIT_PREMULTIPLIED_SUM, &half));
  must(sennit_synchronize(comm, nullptr));
  say("gives: {}", out.at[0]);
  must(sennit_comm_destroy(comm));
  return 0;
}

// Rank 1 calls another operation third, of which the others need more than it gives: they learn which.
int other_operation(const Arguments&) {
  sennit_comm* comm = create(1.5);
  constexpr std::uint64_t kMany = 1 << 20;
  Numbers in(comm, kMany), out(comm, 3 * kMany);
  for (std::uint64_t call = 0; call < 2; ++call) (void)sum_is_right(comm, in, out, 100, call);
  if (sennit_comm_rank(comm) == 1)
    must(sennit_barrier(comm, nullptr));
  else
    must(sennit_allgather(comm, in.at, out.at, kMany, SENNIT_FLOAT32, nullptr));
  say("waited: {}", outcome(sennit_synchronize(comm, nullptr)));
  (void)sennit_comm_destroy(comm);
  return 0;
}

// Rank 1 does not come to the third call: all others learn that it is rank 1.
int missing_rank(const Arguments&) {
  sennit_comm* comm = create(1.5);
  Numbers in(comm, 100), out(comm, 100);
  for (std::uint64_t call = 0; call < 2; ++call) (void)sum_is_right(comm, in, out, 100, call);
  if (sennit_comm_rank(comm) == 1) {
    std::this_thread::sleep_for(std::chrono::seconds(4));
    say("came late: {}", outcome(sennit_comm_check(comm)));
  } else {
    must(sennit_allreduce(comm, in.at, out.at, 100, SENNIT_FLOAT32, SENNIT_SUM, nullptr, nullptr));
    say("waited: {}", outcome(sennit_synchronize(comm, nullptr)));
  }
  (void)sennit_comm_destroy(comm);
  return 0;
}

}  // namespace

std::vector<Scenario> collective_scenarios() {
  return {{"allreduces", allreduces},
          {"two_communicators", two_communicators},
          {"bad_collectives", bad_collectives},
          {"missing_rank", missing_rank},
          {"family", family},
          {"soak", soak_collectives},
          {"between_windows", between_windows},
          {"bad_windows", bad_windows},
          {"stream_barrier", stream_barrier},
          {"other_operation", other_operation}};
}

}  // namespace sennit::capi
