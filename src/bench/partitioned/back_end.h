// Names the ways in which a message of partitions is sent, and what each asks of the MPI.
#pragma once

#include <array>
#include <string_view>

#include "base/status.h"

namespace sennit::bench::partitioned {

enum class BackEnd {
  single,      ///< MPI_Send of the whole message once all threads have joined: what all others are measured by
  threads,     ///< MPI_Send of each partition by the thread that has made it ready
  persistent,  ///< MPI_Start of one request (MPI_Send_init) once all threads have joined
  persistent_partitions,  ///< MPI_Start of a request for each partition as soon as it is ready
  mpi,                    ///< MPI_Psend_init, MPI_Pready, MPI_Parrived
  rma_flush,  ///< MPI_Put and MPI_Win_flush of each partition, then of a word that says so, under MPI_Win_lock_all
  rma_pscw,   ///< MPI_Put of each partition between MPI_Win_start and MPI_Win_complete
};

inline constexpr std::array kBackEnds = {
    BackEnd::single, BackEnd::threads,   BackEnd::persistent, BackEnd::persistent_partitions,
    BackEnd::mpi,    BackEnd::rma_flush, BackEnd::rma_pscw};

std::string_view name(BackEnd back_end);
/// Errors: invalid_argument, listing the names.
Result<BackEnd> parse_back_end(std::string_view text);

/// Returns whether one thread sends all at once after the join; else each thread calls the MPI for its own
/// partitions.
constexpr bool is_whole(BackEnd back_end) {
  return back_end == BackEnd::single || back_end == BackEnd::persistent;
}

/// Returns whether it needs no more than the two ranks of a message, so that patterns of several ranks have it: a
/// window is made by all ranks of a communicator.
constexpr bool is_between_two(BackEnd back_end) {
  return back_end != BackEnd::rma_flush && back_end != BackEnd::rma_pscw;
}

}  // namespace sennit::bench::partitioned
