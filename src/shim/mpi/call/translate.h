// Translates a collective call of MPI into sennit's words. Pure: the call alone decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "coll/collectives.h"
#include "shim/mpi/call/call.h"

namespace sennit::shim::mpi {

/// Holds what sennit is to do for a call.
struct Work {
  Family family{};         ///< of the call
  device::Type reduced{};  ///< what a reduction's numbers are by the type's name: the MPI may take them for others
  coll::Request request;
  /// All-to-all-v: what the request's arrays refer to.
  std::vector<std::uint64_t> sent, sent_from, received, received_to;
  /// A reduce-scatter of unequal parts, which the request reduces whole for every rank: bytes of each rank's.
  std::vector<std::uint64_t> parts;
  /// So many bytes of scratch take sennit's output where it cannot be the program's, and a part of it goes to
  /// `result` afterwards. 0: not needed.
  std::uint64_t scratch_bytes = 0, result_from = 0, result_bytes = 0;
  void* result = nullptr;

  /// A scan: what the ranks up to and without number `end` give is reduced into `result`. The request gathers it.
  struct Scan {
    int end = 0;
    device::Reduction reduction;
  };
  std::optional<Scan> scan;

  std::uint64_t bytes = 0;  ///< of the message, for the report

  /// Lets the request refer to this object's arrays; to be called where it has come to stay.
  void settle();
};

/// Says why a call is left to the real function: static text.
using WhyNot = std::string_view;

/// Returns whether all ranks of such a call name a root.
constexpr bool has_root(Family family) {
  return family == Family::Reduce || family == Family::Bcast || family == Family::Gather ||
         family == Family::Gatherv || family == Family::Scatter || family == Family::Scatterv;
}

/// Errors are no errors here: whatever is wrong with a call, the real function says.
std::variant<Work, WhyNot> translate(const Call& call);

}  // namespace sennit::shim::mpi
