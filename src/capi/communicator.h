// Holds what stands behind a communicator's handle: a node, and what C programs need around it: lanes by stream,
// memory by address, collective calls that notice when ranks call different ones.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "capi/handles.h"
#include "comm/division.h"
#include "comm/exchange.h"
#include "device/executor.h"
#include "path/partitioned_service.h"
#include "plan/communicator.h"

namespace sennit::capi {

class Communicator {
 public:
  struct Options {
    node::Node::Options node;
    bool messages = false;     ///< blocks are kept for them
    unsigned most_blocks = 0;  ///< of a plan; 0: any number
  };

  /// Collective. Errors: the same on every rank; mismatch where only some want messages.
  static Result<std::shared_ptr<Communicator>> create(std::unique_ptr<comm::Exchange> exchange, Options options);

  /// Collective. Of the ranks that give this rank's color, ordered by key; null where that is negative. Its options
  /// are this communicator's, which goes on beside it. Errors, the same on every rank: unsupported (a color on
  /// several nodes), those of the meeting.
  Result<std::shared_ptr<Communicator>> split(int color, int key);

  node::Node& node() { return inner_->node(); }
  const node::Node& node() const { return inner_->node(); }
  path::OneSided& one_sided() { return inner_->one_sided(); }
  coll::Collectives& collectives() { return inner_->collectives(); }
  const std::shared_ptr<device::Executor>& executor() const { return executor_; }

  /// Returns what makes partitioned messages, which is made with the first one: until then it costs nothing. Errors:
  /// those of PartitionedService::create.
  Result<path::PartitionedService*> partitioned();

  /// Returns the lane of the caller's stream (null: the communicator's own), which is in use from now on.
  Result<device::Lane*> lane(void* stream);
  /// Waits for one lane, or for all in use: a stream that was waited for since its last use may be gone, and is left
  /// alone.
  Status synchronize(void* stream);
  Status settle();
  /// ok, or what ended the communicator.
  Status check();

  Result<void*> allocate(std::uint64_t bytes);
  Result<void*> allocate_pinned(std::uint64_t bytes);
  Status free(void* data);

  Status barrier();
  /// `symmetric`: collectives may use it too; see coll::Windows.
  Result<std::shared_ptr<path::Window>> open(void* data, std::uint64_t bytes, bool symmetric = false);
  Status close(const std::shared_ptr<path::Window>& window);
  /// Waits for all ranks; no rank may make another call.
  Status leave();
  /// True once: for who is to leave().
  bool begins_to_leave() { return !leaving_.exchange(true); }

 private:
  enum class Call : std::uint64_t { open = 1, close, barrier, leave, split, open_symmetric };
  static std::string_view name(Call call);

  struct Adopted {
    std::unique_ptr<device::Lane> own;  // null for the node's
    device::Lane* lane = nullptr;
    std::atomic<bool> used{false};
  };

  Communicator() = default;
  Result<Adopted*> adopt(void* stream);
  Status wait(Adopted& adopted);
  Status meet(Call call, std::uint64_t number);
  Status compare(const std::vector<comm::Bytes>& cards, Call call, std::uint64_t number) const;
  Result<void*> keep(Result<device::Memory> memory);
  Result<comm::Part> divide(int color, int key);

  Options options_;  // as created, with the device that was found and what the ranks agreed on
  std::shared_ptr<device::Executor> executor_;
  std::mutex collective_;  // held during a collective call
  std::atomic<bool> leaving_{false};
  std::mutex memory_mutex_;
  std::map<void*, device::Memory> memory_;
  std::vector<const path::Window*> windows_;  // guarded by memory_mutex_
  std::optional<plan::Communicator> inner_;
  std::mutex partitioned_mutex_;
  std::unique_ptr<path::PartitionedService> partitioned_;  // guarded by it; null: there were no such messages
  std::shared_mutex lanes_mutex_;
  std::map<void*, Adopted> lanes_;  // last: lanes end before what they work on
};

/// A registered window together with its communicator; both live while any call uses them.
struct Registration {
  std::shared_ptr<Communicator> communicator;
  std::shared_ptr<path::Window> window;  // ends first
};

/// An end of a partitioned message; both live while any call uses them.
struct PartitionedMessage {
  std::shared_ptr<Communicator> communicator;
  // Ends first. One of them is null.
  std::shared_ptr<path::PartitionedSend> send;
  std::shared_ptr<path::PartitionedReceive> receive;

  path::PartitionedEnd& end() const { return send != nullptr ? static_cast<path::PartitionedEnd&>(*send) : *receive; }
};

using Communicators = Handles<sennit_comm, Communicator, 0x5E02>;
using Registrations = Handles<sennit_window, const Registration, 0x5E03>;
using PartitionedMessages = Handles<sennit_partitioned, const PartitionedMessage, 0x5E04>;
/// Returns a registry that is never destroyed, as machines().
Communicators& communicators();
Registrations& registrations();
PartitionedMessages& partitioned_messages();

}  // namespace sennit::capi
