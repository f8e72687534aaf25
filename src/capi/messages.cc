// Passes sennit_send_receive from C to coll::Collectives.
#include <vector>

#include <fmt/format.h>

#include "capi/communicator.h"
#include "capi/errors.h"

namespace sennit::capi {

namespace {

Status send_receive(Communicator& communicator, const sennit_message* messages, int count, void* stream) {
  if (count < 0) return Status(Code::invalid_argument, fmt::format("{} messages", count), {}, "Use 0 or more");
  if (count > 0 && messages == nullptr) return null_argument("messages");
  if (!communicator.collectives().keeps_blocks_for_messages())
    return Status(Code::unsupported, "the communicator was made without messages", {},
                  "Set options.messages to 1 on every rank");
  std::vector<coll::Message> taken;
  for (int i = 0; i < count; ++i) {
    const sennit_message& given = messages[i];
    if (given.sends != 0 && given.sends != 1)
      return Status(Code::invalid_argument, fmt::format("messages[{}].sends is {}", i, given.sends), {},
                    "Use 1 for what this rank sends, 0 for what it receives");
    coll::Message& message = taken.emplace_back();
    message.peer = given.peer;
    message.sends = given.sends == 1;
    message.at = static_cast<std::byte*>(given.data);
    message.bytes = given.bytes;
  }
  auto lane = communicator.lane(stream);
  return lane ? communicator.collectives().send_receive(taken, **lane) : lane.status();
}

}  // namespace

}  // namespace sennit::capi

sennit_result sennit_send_receive(sennit_comm* comm, const sennit_message* messages, int count,
                                  void* stream) noexcept {
  using namespace sennit;
  return capi::guarded([&]() -> Status {
    const auto found = capi::communicators().find(comm, "comm");
    if (!found) return found.status();
    return capi::send_receive(**found, messages, count, stream).in("send and receive");
  });
}
