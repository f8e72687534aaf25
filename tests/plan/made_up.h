// Tables, machines and teams that nobody measured.
#pragma once

#include <string>

#include "base/units.h"
#include "coll/teams.h"
#include "path/machines.h"
#include "plan/table.h"

namespace sennit::plan {

using coll::team_of;

inline constexpr std::uint64_t kScratch = 64 * MiB;  // as team_of() has it

inline machine::Machine measured_machine() {
  machine::Machine machine = path::hgx_h200_4();
  machine.fingerprint = "0123456789abcdef";
  machine.driver = "580.1";
  machine.cuda = "13.0";
  return machine;
}

inline coll::CallKey allreduce_of(std::uint64_t bytes) {
  return {coll::Operation::allreduce, coll::Arithmetic::fast, bytes};
}

inline coll::CallKey between_windows(coll::CallKey which) {
  which.windows = true;
  return which;
}

inline Entry entry_of(const Layout& layout, const coll::CallKey& which, std::vector<Timed> plans) {
  return {layout, which, std::move(plans), 30, 40, "2.28.9", 9};
}

inline const coll::Plan kTwoShot{coll::Algorithm::two_shot, 64, 256};
inline const coll::Plan kRing{coll::Algorithm::segmented_ring, 64, 256};
inline const coll::Plan kStraight{coll::Algorithm::two_shot_windows, 32, 512};
inline const coll::Plan kPackets{coll::Algorithm::one_shot_packets, 4, 256};

inline Table empty_table() {
  const machine::Machine machine = measured_machine();
  Table table;
  table.fingerprint = machine.fingerprint;
  table.date = "2026-11-22";
  table.versions = versions_of(machine);
  table.scratch_bytes = kScratch;
  return table;
}

/// Of two ranks: 1 KiB, 1 MiB and 4 MiB.
inline Table small_table() {
  Table table = empty_table();
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(4 * MiB), {{kTwoShot, 24, 0.2}, {kRing, 25, 0.1}}));
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(KiB), {{kPackets, 3, 0.1}}));
  insert(table, entry_of({"gpu0", "gpu1"}, allreduce_of(MiB), {{kRing, 14, 0.1}, {kTwoShot, 14.5, 0.1}}));
  return table;
}

/// And of 4 MiB between windows, where NCCL takes longer and sennit a shorter time.
inline Table table_with_windows() {
  Table table = small_table();
  Entry straight = entry_of({"gpu0", "gpu1"}, between_windows(allreduce_of(4 * MiB)), {{kStraight, 22, 0.2}});
  straight.nccl_us = 45;
  insert(table, straight);
  return table;
}

}  // namespace sennit::plan
