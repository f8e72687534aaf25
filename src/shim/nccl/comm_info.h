// The ranks of a communicator exchange a CommInfo each before sennit makes its own: some of it must be the same on
// all of them, and of some all go by the least.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/wire.h"
#include "device/executor.h"
#include "plan/lookup.h"
#include "shim/nccl/abi/config.h"
#include "shim/switches.h"

namespace sennit::shim::nccl {

/// Returns how many blocks calls may have on a GPU. `concurrent_blocks`: as its executor has it, one an SM.
/// `allowed`: how many the user allows collectives, as allowed_blocks() has it; 0: no limit.
///
/// Programs have several communicators on streams of their own, which one GPU may come to in another order than the
/// next; a kernel that filled one GPU would wait there for a peer that finds no room on another. So a call has a
/// quarter at most of the blocks that a GPU runs at a time, two an SM: a limit.
///
/// And programs compute beside it, on the SMs that are left: an allgather of 6 MiB by 64 blocks, 5 % faster alone
/// than NCCL's, made a step of FSDP 2 % slower (4 × H200). So a collective has as many as NCCL's own kernels at most,
/// and no more than the user allows those: a default. Messages, which come after them, may have all that a quarter
/// is.
plan::Room room_on(unsigned concurrent_blocks, unsigned allowed);

/// Returns the switches that have to be the same on all ranks, as text to compare.
std::string text_of(const Switches& switches);

/// What one rank tells the others.
struct CommInfo {
  plan::Room room;
  std::uint64_t process = 0;  ///< device::this_process()
  std::string switches;       ///< as text_of() has it
  std::string nccl;           ///< as Switches has it
  std::uint64_t scratch_bytes = 0;
  bool no_blocks = false;      ///< as wants_no_blocks() has it
  bool blocking = true;        ///< as Config has it
  bool has_table = false;      ///< of some machine; a look at it tells if it is this one
  std::string asked{}, gpu{};  ///< UUIDs: of a map's GPU for this process, and of the GPU that it has; empty: no map

  static CommInfo of(const Switches& switches, const Config& config, const plan::Room& room,
                     std::uint64_t scratch_bytes);
  /// Errors: corrupt.
  static Result<CommInfo> read(std::span<const std::byte> bytes);
  comm::Bytes write() const;
  /// Notes which GPU this process has, and which one a map gives it, where there is a map.
  void look_at_map(const device::Executor& executor, int device);

  bool operator==(const CommInfo&) const = default;
};

/// The result of all ranks' infos together.
struct Agreed {
  bool siblings = false;            ///< another rank is of this one's process
  bool any_siblings = false;        ///< some two ranks are of one process
  plan::Room room;                  ///< the least
  std::uint64_t scratch_bytes = 0;  ///< rank 0's, as coll::Collectives has it
  bool no_blocks = false;           ///< some rank wants none
  bool blocking = true;             ///< on every rank
  bool any_table = false;           ///< some rank has one

  bool operator==(const Agreed&) const = default;
};

/// Says on stderr, once in a process and on rank 0 alone, whether each rank has the GPU that a map gives it: of the
/// first communicator with as many ranks as the map has here, each in a process of its own.
void tell_of_map(const std::vector<comm::Bytes>& infos, int rank);

/// Compares the infos of all ranks, in their order, for rank `rank`. Errors, the same on every rank: mismatch, naming
/// the first rank that differs and in what; those of CommInfo::read().
Result<Agreed> compare(const std::vector<comm::Bytes>& infos, int rank);

}  // namespace sennit::shim::nccl
