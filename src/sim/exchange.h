// An exchange: all ranks send to their neighbours at once, as a stencil code does between two steps.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "place/traffic.h"
#include "sim/play.h"

namespace sennit::sim {

/// What its messages take beside their bytes. Each number is a default.
struct ExchangeCosts {
  double message_us = 3.5;  ///< of a message within a node, in the sender's queue: MessageCosts has the same
  double network_us = 14;   ///< of one to another node
  double short_bytes = 0;   ///< up to so many bytes a message is sent through host memory, whatever the links
  double short_us = 0;      ///< of such a message, instead of message_us
  double staged_us = 0;     ///< more for a message between GPUs that do not reach each other,
  double alike_bytes = 0;   ///< if it has more than so many bytes
  int chunks = 4;           ///< that a message through host memory is cut into
  /// The most GB/s of one message between two places of a node, whatever their links allow; empty: nothing more.
  std::function<double(int from, int to)> most_gbps{};
  int streams = 0;  ///< of a rank, each a message after the other, in the order of the talks; 0: all at once
};

struct NamedExchangeCost {
  std::string_view name;
  double ExchangeCosts::*cost;
};
inline constexpr NamedExchangeCost kExchangeCosts[] = {
    {"message_us", &ExchangeCosts::message_us},   {"network_us", &ExchangeCosts::network_us},
    {"short_bytes", &ExchangeCosts::short_bytes}, {"short_us", &ExchangeCosts::short_us},
    {"staged_us", &ExchangeCosts::staged_us},     {"alike_bytes", &ExchangeCosts::alike_bytes},
};

/// µs until everything has arrived, and what its links carried. `places`: of each rank, as Fabric::place. A rank
/// calls for one message after the other, and the bytes follow each call; each talk is `talk.messages` messages in
/// one. Errors: as play().
Result<Played> exchange(const Fabric& fabric, std::span<const place::Talk> talks, std::span<const int> places,
                        const ExchangeCosts& costs = {});

}  // namespace sennit::sim
