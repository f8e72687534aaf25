// Passes sennit_send_partitioned, sennit_receive_partitioned and sennit_partitioned_* from C to path::PartitionedEnd.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "capi/communicator.h"
#include "capi/errors.h"

namespace sennit::capi {

namespace {

using Message = std::shared_ptr<const PartitionedMessage>;

/// Partitions `first` to `last`, both included; of numbers that no message has, one that none has either.
path::PartitionRange range_of(std::uint32_t first, std::uint32_t last) {
  return {first, last < std::numeric_limits<std::uint32_t>::max() ? last + 1 : last};
}

Result<std::vector<Message>> find_all(sennit_partitioned* const* all, int count) {
  if (count < 0) return Status(Code::invalid_argument, fmt::format("{} messages", count), {}, "Use 0 or more");
  if (count > 0 && all == nullptr) return null_argument("all");
  std::vector<Message> found;
  for (int i = 0; i < count; ++i) {
    auto one = partitioned_messages().find(all[i], fmt::format("all[{}]", i));
    if (!one) return one.status();
    found.push_back(std::move(*one));
  }
  return found;
}

Status wrong_end(bool sends) {
  return Status(Code::invalid_argument,
                sends ? "one sends, and its partitions arrive at the peer" : "one receives, and makes nothing ready",
                {}, sends ? "Ask the end that receives" : "Make partitions ready at the end that sends");
}

/// Runs `body` with the end that sends.
template <class Body>
sennit_result with_send(sennit_partitioned* one, Body body) noexcept {
  return guarded([&]() -> Status {
    const auto found = partitioned_messages().find(one, "one");
    if (!found) return found.status();
    return (*found)->send != nullptr ? body(*(*found)->communicator, *(*found)->send) : wrong_end(false);
  });
}

/// Runs `body` with the end that receives.
template <class Body>
sennit_result with_receive(sennit_partitioned* one, Body body) noexcept {
  return guarded([&]() -> Status {
    const auto found = partitioned_messages().find(one, "one");
    if (!found) return found.status();
    return (*found)->receive != nullptr ? body(*(*found)->communicator, *(*found)->receive) : wrong_end(true);
  });
}

/// Makes an end by `make`, and a handle of it.
template <class Make>
sennit_result make_end(sennit_comm* comm, sennit_partitioned** one, const char* verb, Make make) noexcept {
  return guarded([&]() -> Status {
    if (one == nullptr) return null_argument("one");
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    const device::SetUp set_up((*found)->executor().get());  // another thread may be capturing
    PartitionedMessage message{*found, nullptr, nullptr};
    auto service = (*found)->partitioned();
    Status status = service.status();
    if (status.ok()) status = make(**service, message);
    if (!status.ok()) return std::move(status).in(verb);
    *one = partitioned_messages().add(std::make_shared<const PartitionedMessage>(std::move(message)));
    return {};
  });
}

}  // namespace

}  // namespace sennit::capi

using namespace sennit;
using namespace sennit::capi;

sennit_result sennit_send_partitioned(sennit_comm* comm, const void* data, uint32_t partitions, uint64_t bytes_each,
                                      int peer, int tag, sennit_partitioned** one) noexcept {
  return make_end(comm, one, "partitioned send", [&](path::PartitionedService& service, PartitionedMessage& message) {
    auto made = service.send(data, {partitions, bytes_each}, peer, tag);
    if (made.ok()) message.send = *made;
    return made.status();
  });
}

sennit_result sennit_receive_partitioned(sennit_comm* comm, void* data, uint32_t partitions, uint64_t bytes_each,
                                         int peer, int tag, sennit_partitioned** one) noexcept {
  return make_end(comm, one, "partitioned receive",
                  [&](path::PartitionedService& service, PartitionedMessage& message) {
                    auto made = service.receive(data, {partitions, bytes_each}, peer, tag);
                    if (made.ok()) message.receive = *made;
                    return made.status();
                  });
}

sennit_result sennit_partitioned_start(sennit_partitioned* const* all, int count) noexcept {
  return guarded([&]() -> Status {
    const auto found = find_all(all, count);
    if (!found) return found.status();
    for (const Message& message : *found)
      if (auto status = message->end().start(); !status) return status;
    return {};
  });
}

sennit_result sennit_partitioned_ready(sennit_partitioned* one, uint32_t first, uint32_t last) noexcept {
  return with_send(one, [&](Communicator&, path::PartitionedSend& send) {
    const path::PartitionRange range = range_of(first, last);
    return send.ready({&range, 1}, nullptr);
  });
}

sennit_result sennit_partitioned_ready_list(sennit_partitioned* one, const uint32_t* which, uint32_t count) noexcept {
  return with_send(one, [&](Communicator&, path::PartitionedSend& send) {
    if (count > 0 && which == nullptr) return null_argument("which");
    return send.ready(path::runs_of({which, count}), nullptr);
  });
}

sennit_result sennit_partitioned_enqueue_ready(sennit_partitioned* one, uint32_t first, uint32_t last,
                                               void* stream) noexcept {
  return with_send(one, [&](Communicator& communicator, path::PartitionedSend& send) {
    auto lane = communicator.lane(stream);
    if (!lane) return lane.status();
    const path::PartitionRange range = range_of(first, last);
    return send.ready({&range, 1}, *lane);
  });
}

sennit_result sennit_partitioned_arrived(sennit_partitioned* one, uint32_t first, uint32_t last,
                                         int* arrived) noexcept {
  return with_receive(one, [&](Communicator&, path::PartitionedReceive& receive) {
    if (arrived == nullptr) return null_argument("arrived");
    const auto have = receive.arrived(range_of(first, last));
    if (have.ok()) *arrived = *have ? 1 : 0;
    return have.status();
  });
}

sennit_result sennit_partitioned_enqueue_await(sennit_partitioned* one, uint32_t first, uint32_t last,
                                               void* stream) noexcept {
  return with_receive(one, [&](Communicator& communicator, path::PartitionedReceive& receive) {
    auto lane = communicator.lane(stream);
    return lane ? receive.enqueue_await(range_of(first, last), **lane) : lane.status();
  });
}

sennit_result sennit_partitioned_test(sennit_partitioned* const* all, int count, int* done) noexcept {
  return guarded([&]() -> Status {
    if (done == nullptr) return null_argument("done");
    const auto found = find_all(all, count);
    if (!found) return found.status();
    bool all_are = true;
    for (const Message& message : *found) {
      const auto is_done = message->end().test();
      if (!is_done) return is_done.status();
      all_are = all_are && *is_done;
    }
    *done = all_are ? 1 : 0;
    return {};
  });
}

sennit_result sennit_partitioned_wait(sennit_partitioned* const* all, int count) noexcept {
  return guarded([&]() -> Status {
    const auto found = find_all(all, count);
    if (!found) return found.status();
    Status first;
    for (const Message& message : *found)
      if (auto status = message->end().wait(); first.ok()) first = std::move(status);
    return first;
  });
}

sennit_result sennit_partitioned_free(sennit_partitioned* one) noexcept {
  return guarded([&]() -> Status {
    if (one == nullptr) return {};
    const auto found = partitioned_messages().find(one, "one");
    if (!found) return found.status();
    if (auto status = (*found)->end().may_close(); !status) return status;
    const auto taken = partitioned_messages().take(one, "one");
    if (!taken) return taken.status();
    const PartitionedMessage& message = **taken;
    const device::SetUp set_up(message.communicator->executor().get());  // another thread may be capturing
    // Streams may still wait for its partitions. A transfer that failed is no longer in progress either.
    (void)message.communicator->settle();
    auto service = message.communicator->partitioned();
    if (!service) return service.status();
    if (message.send != nullptr) (*service)->close(message.send);
    if (message.receive != nullptr) (*service)->close(message.receive);
    return {};
  });
}
