// Moves messages between the ranks of a node in which one side takes part: put, get and copy, and the windows they go
// to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "device/mapped.h"
#include "node/node.h"
#include "path/registry.h"
#include "path/transport.h"

namespace sennit::path {

/// Paths and their service are made with the first window, or the first copy: until then there is no proxy thread.
class OneSided {
 public:
  /// `node` outlives it.
  explicit OneSided(node::Node& node) : node_(node), registry_(node) {}
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;

  /// Collective registration; see Window::create. close() is collective too, and waits until no rank uses it. The
  /// first one also has the errors of Transport::create.
  Result<std::shared_ptr<Window>> open(void* data, std::uint64_t bytes);
  Status close(const std::shared_ptr<Window>& window) { return registry_.close(window); }

  /// Moves `bytes` between this rank's memory and `peer`'s part of the window, in the order of `lane`. One-sided: the
  /// peer takes no part, and learns of arrival by whatever the program does next (a barrier, a message).
  /// Errors: invalid_argument (null, freed, out of range, overlapping), peer_lost, aborted, those of
  /// TransferEngine::copy.
  Status put(Window& window, int peer, std::uint64_t offset, const void* src, std::uint64_t bytes,
             device::Lane& lane);
  Status get(Window& window, int peer, std::uint64_t offset, void* dst, std::uint64_t bytes, device::Lane& lane);
  /// Moves `bytes` between any two memories of this process: of its GPUs, pinned, or pageable.
  Status copy(void* dst, const void* src, std::uint64_t bytes, device::Lane& lane);

  /// Makes the paths and their service, without the other ranks. Errors: those of Transport::create.
  Status prepare();
  /// Returns the engine; after prepare(), open() or copy().
  TransferEngine& transfer_engine() { return transport_.load(std::memory_order_acquire)->transfer_engine(); }

 private:
  Status make_transport(Result<std::shared_ptr<const PutTable>> tuned);
  /// `data` as an end of a message. Errors: invalid_argument where any of its bytes cannot be used so.
  Result<End> local_end(const void* data, std::uint64_t bytes, device::Access access);
  /// Returns true if the direct path alone carries such a message between `there` and `data` of this process. It
  /// looks at `data` as little as it can, since a full look is half the cost of a small message.
  bool single(const End& there, const void* data, std::uint64_t bytes, bool put);
  bool single(const void* dst, const void* src, std::uint64_t bytes);
  /// Resolves both ends for a plain copy. Errors name the end that is at fault: `ours` says which ends are of this
  /// process.
  struct Ours {
    bool dst, src;
  };
  Status copy_single(void* dst, const void* src, std::uint64_t bytes, Ours ours, device::Lane& lane);
  Status move(const End& dst, const End& src, std::uint64_t bytes, device::Lane& lane) {
    return transport_.load(std::memory_order_acquire)->move(dst, src, bytes, lane);
  }

  node::Node& node_;
  Registry registry_;
  bool has_met_ = false;                         // open() was called before; it is one call at a time
  std::mutex mutex_;                             // held while the transport is made
  std::atomic<Transport*> transport_ = nullptr;  // owned_'s, once it is there
  std::unique_ptr<Transport> owned_;             // last: the proxy thread uses all the others for it
};

}  // namespace sennit::path
