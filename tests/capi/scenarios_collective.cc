// Collectives through the C API: many calls, sizes and communicators; bad input; ranks that do not come.
#include <cmath>
#include <thread>
#include <vector>

#include "capi_rank.h"

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
  in.at[0] = float(sennit_comm_rank(comm) + 1);
  say("scaled: {}", call(in.at, out.at, 1, SENNIT_FLOAT32, SENNIT_PREMULTIPLIED_SUM, &half));
  must(sennit_synchronize(comm, nullptr));
  say("gives: {}", out.at[0]);
  must(sennit_comm_destroy(comm));
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
          {"missing_rank", missing_rank}};
}

}  // namespace sennit::capi
