// Lists what the steps of a program take on a GPU beside the bytes they move.
#pragma once

#include <string_view>

namespace sennit::sim {

/// Each number is a default, fitted to what collectives took on 2 and 4 × H200 (results/). A time is in µs, a rate in
/// GB/s.
struct Costs {
  double launch_us = 3.8;           ///< from the end of what was before a kernel to its first step
  double early_us = 1.8;            ///< the same of one whose blocks are there by then: device::Program::early
  double move_us = 0.55;            ///< from the begin of a movement to its first byte's arrival
  double signal_us = 1.7;           ///< from a signal to its sight by who waits for it: fence, way, poll
  double packet_us = 0.88;          ///< of a packet, whose way is all there is
  double block_gbps = 38;           ///< that one block copies
  double block_reduce_gbps = 70;    ///< that one block reads where it reduces
  double link_efficiency = 0.9085;  ///< of links, where blocks move the bytes: what they carry of what engines carry
  double load_efficiency = 0.79;    ///< the same where they load from another GPU instead of storing there
  double packet_efficiency = 0.65;  ///< the same of packets, tags counted as bytes
  double packet_gbps = 10;          ///< of packets that one block sends, or takes; tags not counted
  double memory_gbps = 2400;        ///< a GPU's own memory, written and read by blocks: bytes of results
  double engine_us = 3.5;           ///< of a copy by an engine, beside its bytes
  double engine_signal_us = 2.0;    ///< of a word behind it
  double event_us = 1.0;            ///< from a lane's event to a lane that waits for it
  double in_step = 4.5;             ///< movements that blocks of a launch go through before they have drifted apart
  double skew_us = 2;  ///< over which ranks begin the first of many calls with a root: who need not wait stays apart
  double blocks_per_sm = 2;  ///< more of a launch share what these can do
};

/// Each by its name, for options and documents.
struct NamedCost {
  std::string_view name;
  double Costs::*cost;
};
inline constexpr NamedCost kCosts[] = {
    {"launch_us", &Costs::launch_us},
    {"early_us", &Costs::early_us},
    {"move_us", &Costs::move_us},
    {"signal_us", &Costs::signal_us},
    {"packet_us", &Costs::packet_us},
    {"block_gbps", &Costs::block_gbps},
    {"block_reduce_gbps", &Costs::block_reduce_gbps},
    {"link_efficiency", &Costs::link_efficiency},
    {"load_efficiency", &Costs::load_efficiency},
    {"packet_efficiency", &Costs::packet_efficiency},
    {"packet_gbps", &Costs::packet_gbps},
    {"memory_gbps", &Costs::memory_gbps},
    {"engine_us", &Costs::engine_us},
    {"engine_signal_us", &Costs::engine_signal_us},
    {"event_us", &Costs::event_us},
    {"in_step", &Costs::in_step},
    {"skew_us", &Costs::skew_us},
    {"blocks_per_sm", &Costs::blocks_per_sm},
};

}  // namespace sennit::sim
