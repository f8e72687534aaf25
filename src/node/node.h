// A node::Node is a rank among those of its communicator: it holds the rank's group, the device it uses, and the
// machine that all ranks plan from. What moves bytes stands above: collectives (coll/), and puts and gets
// (path/one_sided.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/group.h"
#include "device/executor.h"
#include "machine/machine.h"

namespace sennit::node {

/// Returns `given`, or what SENNIT_MACHINE names, or this machine as measured before, else as discovered. Errors:
/// those of machine::known_machine.
Result<machine::Machine> find_machine(const device::Executor& executor, const std::optional<machine::Machine>& given);

class Node {
 public:
  struct Options {
    int device = -1;  ///< index of this rank's device; -1: its number among the ranks of the node, modulo the devices
    /// The machine to plan from. Absent: SENNIT_MACHINE, else this machine as measured before, else as discovered.
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
  const std::shared_ptr<device::Executor>& shared_executor() const { return executor_; }
  comm::Group& group() { return *group_; }
  /// Returns the lane that calls without one of their own use.
  device::Lane& lane() { return *lane_; }
  /// Returns the leader's document, so that all ranks decide from the same one.
  const machine::Machine& machine() const { return machine_; }
  /// True where Options named that machine.
  bool machine_is_given() const { return machine_is_given_; }
  /// Returns the name of this rank's device in that machine; empty where the machine does not have it.
  const std::string& device_id() const { return device_id_; }

  /// ok; or what ended the communicator: a lost peer, an abort, a transfer that gave up.
  Status check() const;
  /// Says what a new call of this rank would fail with: check(), but where kernels outlast a failure of the group,
  /// such a failure is no error of a call. The call is enqueued and waits, as those before it do.
  Status admits() const;
  /// Waits for the lane. Errors: those of check().
  Status synchronize(device::Lane& lane);

 private:
  Node() = default;

  std::shared_ptr<device::Executor> executor_;
  int device_ = 0;
  std::string device_id_;
  bool machine_is_given_ = false, outlasts_failure_ = false;
  machine::Machine machine_;
  std::unique_ptr<comm::Group> group_;
  std::unique_ptr<device::Lane> lane_;
};

}  // namespace sennit::node
