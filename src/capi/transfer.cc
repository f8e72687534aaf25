// Passes sennit_put, sennit_get, sennit_copy and sennit_synchronize from C to path::OneSided.
#include <fmt/format.h>

#include "base/units.h"
#include "capi/communicator.h"
#include "capi/errors.h"

using namespace sennit;
using namespace sennit::capi;

namespace {

// Does what put and get share: finds the registered window and a lane, and calls `move` with them and with the
// communicator's one-sided messages.
template <class Move>
sennit_result transfer(sennit_window* window, void* stream, const char* verb, std::uint64_t bytes,
                       const char* direction, int peer, Move move) noexcept {
  return guarded([&]() -> Status {
    const auto found = registrations().find(window, "window");
    if (!found) return found.status();
    const Registration& registered = **found;
    auto lane = registered.communicator->lane(stream);
    Status status = lane ? move(registered.communicator->one_sided(), *registered.window, **lane) : lane.status();
    // The text is written only for an error: put is called often.
    if (status.ok()) return status;
    return std::move(status).in(fmt::format("{} {} {} rank {}", verb, format_bytes(bytes), direction, peer));
  });
}

}  // namespace

sennit_result sennit_put(sennit_window* window, int peer, uint64_t offset, const void* src, uint64_t bytes,
                         void* stream) noexcept {
  return transfer(window, stream, "put", bytes, "to", peer,
                  [&](path::OneSided& messages, path::Window& to, device::Lane& lane) {
                    return messages.put(to, peer, offset, src, bytes, lane);
                  });
}

sennit_result sennit_get(sennit_window* window, int peer, uint64_t offset, void* dst, uint64_t bytes,
                         void* stream) noexcept {
  return transfer(window, stream, "get", bytes, "from", peer,
                  [&](path::OneSided& messages, path::Window& from, device::Lane& lane) {
                    return messages.get(from, peer, offset, dst, bytes, lane);
                  });
}

sennit_result sennit_copy(sennit_comm* comm, void* dst, const void* src, uint64_t bytes, void* stream) noexcept {
  return guarded([&]() -> Status {
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    auto lane = (*found)->lane(stream);
    Status status = lane ? (*found)->one_sided().copy(dst, src, bytes, **lane) : lane.status();
    if (status.ok()) return status;
    return std::move(status).in(fmt::format("copy {}", format_bytes(bytes)));
  });
}

sennit_result sennit_synchronize(sennit_comm* comm, void* stream) noexcept {
  return guarded([&]() -> Status {
    const auto found = communicators().find(comm, "comm");
    return found ? (*found)->synchronize(stream).in("synchronize") : found.status();
  });
}
