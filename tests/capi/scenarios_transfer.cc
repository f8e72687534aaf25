// Messages between ranks, byte for byte.
#include <cstring>
#include <memory>
#include <thread>

#include "capi_rank.h"

namespace sennit::capi {

namespace {

constexpr std::uint64_t kGuard = 64;
constexpr std::byte kPoison{0xEE};

/// A ring of ranks: what each sends to the next, and receives from the one before.
struct Ring {
  sennit_comm* comm;
  int rank, size, next, before;
  explicit Ring(sennit_comm* made) : comm(made), rank(sennit_comm_rank(made)), size(sennit_comm_size(made)) {
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
  }
};

std::uint64_t number_of(int rank, std::uint64_t round) {
  return round * 8 + std::uint64_t(rank);
}

/// No byte of [begin, end) was touched.
bool untouched(const std::byte* data, std::uint64_t begin, std::uint64_t end) {
  if (begin == end) return true;
  return data[begin] == kPoison && std::memcmp(data + begin, data + begin + 1, end - begin - 1) == 0;
}

/// Every byte of the message is the pattern's, and none around it was touched.
bool arrived(const char* what, const std::byte* data, std::uint64_t room, std::uint64_t offset, std::uint64_t bytes,
             std::uint64_t number) {
  if (const auto wrong = first_wrong(data + offset, bytes, number); wrong != bytes) {
    say("{} of {} bytes at offset {}: byte {} is wrong", what, bytes, offset, wrong);
    return false;
  }
  if (untouched(data, 0, offset) && untouched(data, offset + bytes, room)) return true;
  say("{} of {} bytes at offset {}: a byte outside of it was written", what, bytes, offset);
  return false;
}

/// One message each of put, get and copy. `local` has room for twice what the inbox holds.
bool one_round(const Ring& ring, Inbox& inbox, std::byte* local, std::uint64_t room, std::uint64_t bytes,
               std::uint64_t offset, std::uint64_t round) {
  std::byte* const source = local + offset / 2;
  std::byte* const landing = local + room;
  std::memset(inbox.data, int(kPoison), room);
  std::memset(landing, int(kPoison), room);
  fill(source, bytes, number_of(ring.rank, round));
  must(sennit_comm_barrier(ring.comm));

  must(sennit_put(inbox.window, ring.next, offset, source, bytes, nullptr));
  must(sennit_synchronize(ring.comm, nullptr));
  must(sennit_comm_barrier(ring.comm));
  bool good = arrived("put", inbox.data, room, offset, bytes, number_of(ring.before, round));

  // What the next rank received is what this one sent.
  must(sennit_get(inbox.window, ring.next, offset, landing + offset, bytes, nullptr));
  must(sennit_synchronize(ring.comm, nullptr));
  good = arrived("get", landing, room, offset, bytes, number_of(ring.rank, round)) && good;

  std::memset(landing, int(kPoison), room);
  must(sennit_copy(ring.comm, landing + offset, inbox.data + offset, bytes, nullptr));
  must(sennit_synchronize(ring.comm, nullptr));
  good = arrived("copy", landing, room, offset, bytes, number_of(ring.before, round)) && good;
  must(sennit_comm_barrier(ring.comm));
  return good;
}

// MEMORY (device, pinned or pageable) BYTES…: rounds until the host path has carried some messages where it can.
int transfers(const Arguments& arguments) {
  const Ring ring(create());
  std::uint64_t most = 0;
  for (std::size_t i = 1; i < arguments.size(); ++i) most = std::max<std::uint64_t>(most, std::stoull(arguments[i]));
  const std::uint64_t room = most + 2 * kGuard;
  Inbox inbox = make_inbox(ring.comm, room);
  void* local = nullptr;
  std::unique_ptr<std::byte[]> pageable;
  if (arguments[0] == "device") must(sennit_memory_allocate(ring.comm, 2 * room, &local));
  if (arguments[0] == "pinned") must(sennit_memory_allocate_pinned(ring.comm, 2 * room, &local));
  if (arguments[0] == "pageable") {
    pageable = std::make_unique<std::byte[]>(2 * room);
    local = pageable.get();
  }
  bool good = true;
  std::uint64_t round = 0;
  for (int repeat = 0; repeat < 4; ++repeat)
    for (std::size_t i = 1; i < arguments.size(); ++i)
      for (const std::uint64_t offset : {0, 13})
        good = one_round(ring, inbox, static_cast<std::byte*>(local), room, std::stoull(arguments[i]), offset,
                         ++round) &&
               good;
  say("{}; host path {}", good ? "all right" : "wrong", messages_by_courier() > 0 ? "used" : "not used");
  must(sennit_comm_barrier(ring.comm));
  must(sennit_deregister(inbox.window));
  must(sennit_comm_destroy(ring.comm));
  return good ? 0 : 1;
}

// BYTES ROUNDS: what a put has brought is what a get behind it on the same lane fetches, however busy the lane is.
int echo(const Arguments& arguments) {
  const Ring ring(create());
  const std::uint64_t bytes = std::stoull(arguments.at(0));
  Inbox inbox = make_inbox(ring.comm, bytes);
  std::vector<std::byte> source(bytes), landing(bytes);
  int wrong = 0;
  for (int round = 1; round <= std::stoi(arguments.at(1)); ++round) {
    fill(source.data(), bytes, number_of(ring.rank, std::uint64_t(round)));
    must(sennit_put(inbox.window, ring.next, 0, source.data(), bytes, nullptr));
    must(sennit_get(inbox.window, ring.next, 0, landing.data(), bytes, nullptr));
    must(sennit_synchronize(ring.comm, nullptr));
    wrong += first_wrong(landing.data(), bytes, number_of(ring.rank, std::uint64_t(round))) == bytes ? 0 : 1;
  }
  must(sennit_comm_barrier(ring.comm));
  must(sennit_comm_destroy(ring.comm));
  say("{} of {} echoes wrong", wrong, arguments.at(1));
  return wrong;
}

// Many messages from two threads at once, of device and of pinned memory, to different halves of one window.
int threads(const Arguments& arguments) {
  const Ring ring(create());
  const std::uint64_t bytes = std::stoull(arguments.at(0));
  const int messages = std::stoi(arguments.at(1));
  Inbox inbox = make_inbox(ring.comm, 2 * bytes);
  void* sources[2] = {};
  must(sennit_memory_allocate(ring.comm, bytes, &sources[0]));
  must(sennit_memory_allocate_pinned(ring.comm, bytes, &sources[1]));
  for (const int half : {0, 1}) fill(static_cast<std::byte*>(sources[half]), bytes, number_of(ring.rank, half));
  must(sennit_comm_barrier(ring.comm));
  std::vector<std::jthread> both;
  for (const int half : {0, 1})
    both.emplace_back([&, half] {
      for (int i = 0; i < messages; ++i) {
        must(sennit_put(inbox.window, ring.next, half * bytes, sources[half], bytes, nullptr));
        if (i % 8 == 7) must(sennit_synchronize(ring.comm, nullptr));
      }
    });
  both.clear();
  must(sennit_synchronize(ring.comm, nullptr));
  must(sennit_comm_barrier(ring.comm));
  bool good = true;
  for (const int half : {0, 1})
    good = first_wrong(inbox.data + half * bytes, bytes, number_of(ring.before, half)) == bytes && good;
  say("{}; host path {}", good ? "all right" : "wrong", messages_by_courier() > 0 ? "used" : "not used");
  must(sennit_comm_barrier(ring.comm));
  must(sennit_comm_destroy(ring.comm));
  return 0;
}

// Puts in a row without waiting in between: they arrive in order.
int order(const Arguments&) {
  const Ring ring(create());
  constexpr std::uint64_t kBytes = 1 << 20;
  Inbox inbox = make_inbox(ring.comm, kBytes);
  constexpr int kMessages = 24;
  std::vector<std::vector<std::byte>> sources(kMessages, std::vector<std::byte>(kBytes));
  for (int i = 0; i < kMessages; ++i) fill(sources[i].data(), kBytes, number_of(ring.rank, i));
  for (const auto& source : sources) must(sennit_put(inbox.window, ring.next, 0, source.data(), kBytes, nullptr));
  must(sennit_synchronize(ring.comm, nullptr));
  must(sennit_comm_barrier(ring.comm));
  say("{}", first_wrong(inbox.data, kBytes, number_of(ring.before, kMessages - 1)) == kBytes ? "the last one" : "?");
  must(sennit_comm_barrier(ring.comm));
  must(sennit_comm_destroy(ring.comm));
  return 0;
}

// Two communicators at once, with messages of both in flight.
int two(const Arguments&) {
  const Ring first(create()), second(create());
  constexpr std::uint64_t kBytes = 3 << 20;
  Inbox inboxes[2] = {make_inbox(first.comm, kBytes), make_inbox(second.comm, kBytes)};
  std::vector<std::byte> sources[2] = {std::vector<std::byte>(kBytes), std::vector<std::byte>(kBytes)};
  for (const int i : {0, 1}) fill(sources[i].data(), kBytes, number_of(first.rank, i));
  for (const int i : {0, 1}) must(sennit_put(inboxes[i].window, first.next, 0, sources[i].data(), kBytes, nullptr));
  must(sennit_synchronize(second.comm, nullptr));
  must(sennit_synchronize(first.comm, nullptr));
  must(sennit_comm_barrier(first.comm));
  bool good = true;
  for (const int i : {0, 1})
    good = first_wrong(inboxes[i].data, kBytes, number_of(first.before, i)) == kBytes && good;
  // The end of one leaves the other alone.
  must(sennit_comm_barrier(second.comm));
  must(sennit_comm_destroy(first.comm));
  must(sennit_put(inboxes[1].window, second.next, 0, sources[0].data(), kBytes, nullptr));
  must(sennit_synchronize(second.comm, nullptr));
  must(sennit_comm_barrier(second.comm));
  good = first_wrong(inboxes[1].data, kBytes, number_of(second.before, 0)) == kBytes && good;
  must(sennit_comm_barrier(second.comm));
  must(sennit_comm_destroy(second.comm));
  say("{}", good ? "all right" : "wrong");
  return 0;
}

}  // namespace

std::vector<Scenario> transfer_scenarios() {
  return {{"transfers", transfers}, {"threads", threads}, {"order", order}, {"echo", echo}, {"two", two}};
}

}  // namespace sennit::capi
