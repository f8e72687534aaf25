// This sums how much of the time in which GPUs communicated they also computed; pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace sennit::profile {

/// Sums of intervals on several devices. Intervals come in any order, and may overlap.
class Overlap {
 public:
  enum class Kind : std::uint8_t { communication, computation };
  struct Totals {
    std::uint64_t communication = 0, computation = 0;  ///< in which at least one interval of this kind was open
    std::uint64_t both = 0;
  };

  void add(std::uint32_t device, Kind kind, std::uint64_t begin, std::uint64_t end);
  /// Sums what lies before `time`. What is added later counts from there on.
  void fold(std::uint64_t time);
  /// Returns the sums of what was folded, of all devices together.
  const Totals& totals() const { return totals_; }

 private:
  struct Interval {
    std::uint64_t begin, end;
  };
  struct Device {
    std::array<std::vector<Interval>, 2> of;  ///< by kind
    std::uint64_t folded = 0;
  };
  /// Takes away what lies before `time`: disjoint, in order.
  static std::vector<Interval> cut(std::vector<Interval>& all, std::uint64_t time);

  std::map<std::uint32_t, Device> devices_;
  Totals totals_;
};

}  // namespace sennit::profile
