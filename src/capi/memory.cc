// Passes sennit_memory_*, sennit_register, sennit_deregister and sennit_window_* from C to capi::Communicator.
#include <fmt/format.h>

#include "base/units.h"
#include "capi/communicator.h"
#include "capi/errors.h"

using namespace sennit;
using namespace sennit::capi;

namespace {

template <class Allocate>
sennit_result allocate(sennit_comm* comm, std::uint64_t bytes, void** data, Allocate from) noexcept {
  return guarded([&]() -> Status {
    if (data == nullptr) return null_argument("data");
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    auto made = from(**found);
    if (!made) return std::move(made).status().in(fmt::format("allocate {}", format_bytes(bytes)));
    *data = *made;
    return {};
  });
}

sennit_result open(sennit_comm* comm, void* data, std::uint64_t bytes, bool symmetric,
                   sennit_window** window) noexcept {
  return guarded([&]() -> Status {
    if (window == nullptr) return null_argument("window");
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    auto opened = (*found)->open(data, bytes, symmetric);
    if (!opened) return std::move(opened).status().in("register");
    *window = registrations().add(std::make_shared<const Registration>(Registration{*found, *opened}));
    return {};
  });
}

}  // namespace

sennit_result sennit_memory_allocate(sennit_comm* comm, uint64_t bytes, void** data) noexcept {
  return allocate(comm, bytes, data, [bytes](Communicator& found) { return found.allocate(bytes); });
}

sennit_result sennit_memory_allocate_pinned(sennit_comm* comm, uint64_t bytes, void** data) noexcept {
  return allocate(comm, bytes, data, [bytes](Communicator& found) { return found.allocate_pinned(bytes); });
}

sennit_result sennit_memory_free(sennit_comm* comm, void* data) noexcept {
  return guarded([&]() -> Status {
    if (data == nullptr) return {};
    const auto found = communicators().find(comm, "comm");
    return found ? (*found)->free(data).in("free memory") : found.status();
  });
}

sennit_result sennit_register(sennit_comm* comm, void* data, uint64_t bytes, sennit_window** window) noexcept {
  return open(comm, data, bytes, false, window);
}

sennit_result sennit_register_symmetric(sennit_comm* comm, void* data, uint64_t bytes,
                                        sennit_window** window) noexcept {
  return open(comm, data, bytes, true, window);
}

sennit_result sennit_deregister(sennit_window* window) noexcept {
  return guarded([&]() -> Status {
    if (window == nullptr) return {};
    const auto taken = registrations().take(window, "window");
    if (!taken) return taken.status();
    return (*taken)->communicator->close((*taken)->window).in("deregister");
  });
}

sennit_result sennit_window_bytes(const sennit_window* window, int rank, uint64_t* bytes) noexcept {
  return guarded([&]() -> Status {
    if (bytes == nullptr) return null_argument("bytes");
    const auto found = registrations().find(window, "window");
    if (!found) return found.status();
    const int size = (*found)->communicator->node().size();
    if (rank < 0 || rank >= size)
      return Status(Code::invalid_argument, fmt::format("there is no rank {}", rank), {},
                    fmt::format("Ranks are 0 to {}", size - 1));
    *bytes = (*found)->window->bytes(rank);
    return {};
  });
}
