// The ranks of a communicator as this one sees them, and the messages between them: put, get and copy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/group.h"
#include "device/executor.h"
#include "device/mapped.h"
#include "machine/machine.h"
#include "path/transport.h"
#include "path/window.h"

namespace sennit::path {

class Node {
 public:
  struct Options {
    int device = -1;  ///< index of this rank's device; -1: its number among the ranks of the node, modulo the devices
    /// The machine to plan from. Absent: SENNIT_MACHINE, else this machine as measured before, else as discovered; a
    /// machine never tuned gets the direct path alone, since nothing says that another one pays.
    std::optional<machine::Machine> machine;
    std::optional<comm::Clock::duration> timeout;  ///< of every wait, instead of SENNIT_TIMEOUT
    /// Kernels that wait for a rank are left waiting when the group fails, until this rank's own executor is aborted:
    /// what follows on their streams must not begin as if they had ended well.
    bool outlast_failure = false;
  };

  /// Collective. Errors: the same on every rank.
  static Result<std::unique_ptr<Node>> create(std::unique_ptr<comm::Exchange> exchange,
                                              std::shared_ptr<device::Executor> executor, Options options);
  ~Node();

  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
  int device() const { return device_; }
  device::Executor& executor() { return *executor_; }
  comm::Group& group() { return *group_; }
  Mover& mover() { return transport_->mover(); }
  /// The lane that calls without one of their own use.
  device::Lane& lane() { return *lane_; }

  /// Collective registration; see Window::create. close() is collective too, and waits until no rank uses it.
  Result<std::shared_ptr<Window>> open(void* data, std::uint64_t bytes);
  Status close(const std::shared_ptr<Window>& window);
  /// Instead of close(), without the other ranks: of a window that outlives_owners(), once no message of this rank
  /// uses it, nor any of a peer's that goes by way of this rank's service.
  void forget(const std::shared_ptr<Window>& window);

  /// Moves `bytes` between this rank's memory and `peer`'s part of the window, in the order of `lane`. One-sided: the
  /// peer takes no part, and learns of arrival by whatever the program does next (a barrier, a message).
  /// Errors: invalid_argument (null, freed, out of range, overlapping), peer_lost, aborted, those of Mover::copy.
  Status put(Window& window, int peer, std::uint64_t offset, const void* src, std::uint64_t bytes,
             device::Lane& lane);
  Status get(Window& window, int peer, std::uint64_t offset, void* dst, std::uint64_t bytes, device::Lane& lane);
  /// Moves `bytes` between any two memories of this process: of its GPUs, pinned, or pageable.
  Status copy(void* dst, const void* src, std::uint64_t bytes, device::Lane& lane);

  /// ok; or what ended the communicator: a lost peer, an abort, a transfer that gave up.
  Status check() const;
  /// Says what a new call of this rank would fail with: check(), but where kernels outlast a failure of the group,
  /// such a failure is no error of a call. The call is enqueued and waits, as those before it do.
  Status admits() const;
  /// Waits for the lane. Errors: those of check().
  Status synchronize(device::Lane& lane);

 private:
  Node() = default;
  /// `data` as an end of a message. Errors: invalid_argument where any of its bytes cannot be used so.
  Result<End> local_end(const void* data, std::uint64_t bytes, device::Access access);
  /// Whether the direct path alone carries such a message between `there` and `data` of this process: known with a
  /// glance at most, since a full look at our own end is half the cost of a small message.
  bool single(const End& there, const void* data, std::uint64_t bytes, bool put);
  bool single(const void* dst, const void* src, std::uint64_t bytes);
  /// As moved by a plain copy. Errors name the end that is at fault: `ours` says which ends are of this process.
  struct Ours {
    bool dst, src;
  };
  Status copy_single(void* dst, const void* src, std::uint64_t bytes, Ours ours, device::Lane& lane);
  /// Where a peer's message goes, in a window that is open here.
  Result<std::byte*> resolve(std::uint32_t window, std::uint64_t offset, std::uint64_t bytes);

  std::shared_ptr<device::Executor> executor_;
  int device_ = 0;
  bool outlasts_failure_ = false;
  std::unique_ptr<comm::Group> group_;
  std::unique_ptr<device::Lane> lane_;
  std::mutex windows_mutex_;  // held for moments: the service needs it to help a peer, whatever is being set up here
  std::uint32_t next_window_ = 1;
  std::unique_ptr<Mappings> mappings_;
  std::map<std::uint32_t, std::shared_ptr<Window>> windows_;
  std::unique_ptr<Transport> transport_;  // last: its thread uses all the others
};

}  // namespace sennit::path
