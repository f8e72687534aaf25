// Splits one message over every path: says which routes can carry it, and how much of it each should carry so that
// all finish together. All are pure functions of the machine document; nothing here touches a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/machine.h"
#include "path/tuned.h"

namespace sennit::path {

/// A way for bytes to travel. `stops` are device ids: the source, every memory the bytes rest in on the way,
/// and the destination. Two stops: one copy. Three: staged through host memory or relayed by a GPU. Four:
/// relayed by two GPUs in a row.
struct Route {
  std::vector<std::string> stops;
  machine::Method method = machine::Method::engine;  ///< who moves the bytes: copy engines, or kernels (sm)

  bool direct() const { return stops.size() == 2; }
  /// "direct", "host0 (sm)", "gpu2 (engine)", "gpu1 → gpu3 (engine)": the name users see and override.
  std::string name() const;
};

/// A route with what it can do: t(n) = startup + n / rate for the n that it carries, pipelined in chunks of
/// `chunk_bytes`. From candidates() and in Rejected: n is the whole message and nothing else moves. In a Share: n is
/// the share, and the rate is what the route gets beside the others.
struct Candidate {
  Route route;
  double startup_us = 0;          ///< everything but n / rate: launches, filling, chunks
  double rate_gbps = 0;           ///< GB/s
  std::uint64_t chunk_bytes = 0;  ///< 0 for direct routes
  int blocks = 0;                 ///< method sm: thread blocks a side
  std::vector<std::string>
      links;  ///< every directed link and device limit it occupies, "gpu0>nvswitch0", "host0:write"
  machine::Source source = machine::Source::assumed;  ///< least trusted figure it was computed from
};

/// Says what one route carries: bytes [offset, offset + bytes) of the message.
struct Share {
  Candidate candidate;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  double finish_us = 0;  ///< predicted, from the start of the message
};

/// A route that carries nothing, and why, in a sentence.
struct Rejected {
  Candidate candidate;
  std::string reason;
};

/// The whole decision. `shares` is never empty unless bytes is 0, covers the message exactly, starts with
/// the route that carries most, and keeps offsets ascending and aligned to kAlignment except at the end.
struct Split {
  std::uint64_t bytes = 0;
  std::vector<Share> shares;
  std::vector<Rejected> rejected;
  bool tuned = false;  ///< the shares were measured as the fastest, not computed
  double predicted_us = 0;
  double single_us = 0;   ///< predicted for the best single route
  double limit_gbps = 0;  ///< what the links allow all candidates together, no overheads (max-flow)
};

/// Boundaries between shares fall on multiples of this, so that every share keeps the message's alignment.
inline constexpr std::uint64_t kAlignment = 4096;

struct SplitOptions {
  bool both_ways = false;           ///< the same message travels back at the same time
  const PutTable* tuned = nullptr;  ///< measured splits, which go before computed ones; null: none
  bool engines_only = false;        ///< no routes driven by kernels: a message to another process in a captured graph
  /// Devices that no route may lead through, because this process cannot use them.
  std::vector<std::string> absent;
  double margin = 0.01;  ///< default: a route is added only if it makes the message this much faster
  /// Shares by route name that replace the computed ones ("direct" → 0.9, "host0 (sm)" → 0.1); must sum to 1.
  std::vector<std::pair<std::string, double>> forced;
};

/// Returns all routes between two memories of the machine (GPU or host; the same one: its local copy), best alone
/// first. Errors: not_found names the device that is not in the machine; invalid_argument when it holds no memory (a
/// switch, a NIC); unsupported when no links lead from one to the other.
Result<std::vector<Candidate>> candidates(const machine::Machine& machine, const std::string& from,
                                          const std::string& to, std::uint64_t bytes);

/// Computes the split for one message. Deterministic: the same machine and arguments give the same split on every
/// rank. Takes some tens of µs; callers keep it by size. Errors: as candidates(); for forced shares also not_found
/// (names the routes there are), unsupported (a route through an absent device) and invalid_argument (negative,
/// twice, or not summing to 1).
Result<Split> split(const machine::Machine& machine, const std::string& from, const std::string& to,
                    std::uint64_t bytes, const SplitOptions& options = {});

/// ok when forced shares fit the routes between some two memories of the machine: where others lack those routes,
/// their messages go whole. Errors: as split()'s for forced shares.
Status check_forced(const machine::Machine& machine, const std::vector<std::pair<std::string, double>>& forced);

/// Parses SENNIT_SPLIT: "direct=0.9,host0 (sm)=0.1". Errors: invalid_argument names the part that is wrong.
Result<std::vector<std::pair<std::string, double>>> parse_forced(std::string_view text);

}  // namespace sennit::path
