// Flows of bytes that share what they travel over, in time: each moves at its weighted max-min fair rate, which
// changes whenever another one begins or ends.
//
// 1. Beginnings and ends mark the resources that they touch.
// 2. Before time goes on, rates are found anew, but only where they can have changed: for the flows that are joined
// to
//    a marked resource by resources they share. Where flows only ended, those of them that moved slower than the
//    slowest that ended stay as they are: a flow that is held back at some level is held back by a resource that all
//    its flows leave at that level at most, so no faster flow used it.
// 3. There, progressive filling: all rates rise together, in proportion to their weights; a flow stops where a
// resource
//    it uses is full, or at its own cap.
// 4. The next end is at the top of a heap, in which only flows whose rate has changed move.
//
// With an epsilon, ends that come within it are taken together and rates found once for all of them: each flow still
// ends at its own time, but what it leaves to others is theirs, and what waits for it goes on, up to an epsilon
// later: once for each of a chain of flows. 0 is exact.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "path/flow.h"

namespace sennit::sim {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
/// Bytes/µs in a GB/s.
inline constexpr double kPerGbps = 1000;

class Fluid {
 public:
  using Id = std::uint32_t;

  /// What a flow is told. Times are in µs, so rates and capacities in bytes/µs: GB/s × 1000.
  struct Begin {
    double bytes = 0;
    std::span<const path::Usage> uses;  ///< each resource at most once, weights positive
    double cap = kNever;                ///< its own limit
    double weight = 1;                  ///< its part where a resource is contended, relative to other flows there
  };
  struct End {
    Id flow = 0;
    double time = 0;
    int limit = -1;  ///< the resource that held it back at last; -1: its own cap
  };

  explicit Fluid(std::vector<double> capacity, double epsilon_us = 0);

  double now() const { return now_; }
  std::size_t flows() const { return heap_.size(); }

  /// Begins a flow now. One without uses must have a cap. The id is free again once the flow has ended.
  Id begin(const Begin& flow);
  /// When the next flow ends; kNever where there is none.
  double next();
  /// Lets time go on to `time`, at most next(), and then as long as further flows end within the epsilon; adds those
  /// that end to `ends`, in their order.
  void advance(double time, std::vector<End>& ends);

  /// Bytes that a resource has carried so far, each times its use's weight.
  double carried(int resource) const { return resources_[static_cast<std::size_t>(resource)].carried; }
  /// Of one that has not ended, in bytes/µs.
  double rate(Id flow);
  int limit(Id flow);
  std::uint64_t solved() const { return solved_; }  ///< flows whose rate was worked out, all in all

 private:
  /// A flow's use of a resource; those of a flow lie side by side.
  struct Use {
    double weight;
    Id flow;
    std::uint32_t resource, place;  // in Resource::uses
  };
  struct Resource {
    double capacity = 0, carried = 0;
    double left = 0, wanted = 0;  // while filling: capacity, and what free flows take of it for each unit of level
    std::vector<std::uint32_t> uses;  // indices into uses_
    std::uint32_t free_flows = 0, seen = 0;
    bool marked = false;
  };
  struct Flow {
    double left = 0, rate = 0, level = 0, since = 0;  // left: at `since`
    double cap = 0, weight = 1, bytes = 0;
    std::uint32_t uses = 0, count = 0, place = 0, seen = 0;  // place: in heap_
    int limit = -1;
    bool frozen = false;
  };
  struct Level {
    double level;
    std::int64_t who;  // a resource, or -1 - flow
  };

  void mark(Flow& flow);
  void solve();
  void collect(double threshold);
  void fill();
  void freeze(Id id, double level, int limit);
  void settle(Id id);
  double end_of(const Flow& flow) const;
  void sift(std::uint32_t place);
  void remove(Id id);

  const double epsilon_;
  double now_ = 0;
  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<Use> uses_;
  std::vector<std::vector<Id>> spare_;  // ids of ended flows, by how many uses there is room for
  struct Ending {
    double time;
    Id flow;
  };
  std::vector<Ending> heap_;  // each flow once; the next end first
  std::vector<std::uint32_t> marked_;
  double threshold_ = 0;  // no flow below this level can change; kNever: nothing has
  std::uint32_t round_ = 0;
  std::uint64_t solved_ = 0;
  // Of the part that is solved.
  std::vector<std::uint32_t> found_;  // resources
  std::vector<Id> free_;
  std::vector<double> before_;  // rates of the free flows
  std::vector<Level> levels_;   // heap, lowest first
};

}  // namespace sennit::sim
