// Describes what must happen before what: movements, reductions and pauses between the places of a fabric. For jobs
// that are no programs of device/: messages over several nodes, other libraries' algorithms, the papers' designs.
//
// A graph is built in an order in which everything comes behind what it needs, so it has no cycle.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/machine.h"

namespace sennit::sim {

class Graph {
 public:
  using Id = std::uint32_t;
  /// No task: among what another one needs it counts for nothing.
  static constexpr Id kNone = ~Id{0};
  static constexpr double kUncapped = std::numeric_limits<double>::infinity();

  /// First `us` pass, then the bytes move. Within one place they move as fast as `gbps` says: a reduction, a copy by
  /// a processor.
  struct Task {
    int from = -1, to = -1;  ///< places of the fabric; -1: nothing moves
    double bytes = 0;
    double us = 0;                ///< of a launch, a message's way, a call
    double gbps = kUncapped;      ///< no faster than this, whatever the links allow
    std::uint32_t queue = kNone;  ///< tasks of a queue come one after the other, in the order in which they can
    machine::Method method = machine::Method::engine;
    std::uint32_t what = 0;       ///< what `us`, and a limit of its own, are called in words: an index into names
    std::int32_t multicast = -1;  ///< `to` is one of several: an index into groups
  };

  Id add(const Task& task, std::span<const Id> needs);
  Id add(const Task& task, std::initializer_list<Id> needs = {}) { return add(task, std::span(needs)); }
  /// Done when all of these are.
  Id all(std::span<const Id> needs);
  /// From one place to several on other nodes, copied by the network.
  Id add_multicast(Task task, std::vector<int> to, std::span<const Id> needs);
  Id add_multicast(const Task& task, std::vector<int> to, std::initializer_list<Id> needs = {}) {
    return add_multicast(task, std::move(to), std::span(needs));
  }
  std::uint32_t add_queue() { return queues_++; }
  /// For Task::what.
  std::uint32_t name(std::string_view what);

  std::size_t size() const { return tasks_.size(); }
  const Task& task(Id id) const { return tasks_[id]; }
  std::span<const Id> needs(Id id) const {
    return std::span(needs_).subspan(first_need_[id], first_need_[id + 1] - first_need_[id]);
  }
  std::uint32_t queues() const { return queues_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<int>& group(int index) const { return groups_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> first_need_{0};
  std::vector<Id> needs_;
  std::vector<std::string> names_{"steps"};
  std::vector<std::vector<int>> groups_;
  std::uint32_t queues_ = 0;
};

}  // namespace sennit::sim
