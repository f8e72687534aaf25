// Declares what benchmarks call of NCCL, from whatever libnccl.so.2 is here: it is opened at run time, by NCCL 2's
// stable C ABI.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

struct CUstream_st;

namespace sennit::bench {

struct NcclId {
  char bytes[128];
};
using NcclCommunicator = void*;

struct NcclLibrary {
  using Stream = CUstream_st*;

  int (*version)(int*) = nullptr;
  int (*unique_id)(NcclId*) = nullptr;
  int (*init)(NcclCommunicator*, int, NcclId, int) = nullptr;
  int (*abort)(NcclCommunicator) = nullptr;
  int (*send)(const void*, std::size_t, int, int, NcclCommunicator, Stream) = nullptr;
  int (*receive)(void*, std::size_t, int, int, NcclCommunicator, Stream) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, NcclCommunicator, Stream) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclCommunicator, Stream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, NcclCommunicator, Stream) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int, int, int, NcclCommunicator, Stream) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, NcclCommunicator, Stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*text)(int) = nullptr;
  // The three came with NCCL 2.28; null before.
  int (*all_to_all)(const void*, void*, std::size_t, int, NcclCommunicator, Stream) = nullptr;
  int (*gather)(const void*, void*, std::size_t, int, int, NcclCommunicator, Stream) = nullptr;
  int (*scatter)(const void*, void*, std::size_t, int, int, NcclCommunicator, Stream) = nullptr;
  // The three came with NCCL 2.27; all null before.
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*free)(void*) = nullptr;
  int (*open_window)(NcclCommunicator, void*, std::size_t, void**, int) = nullptr;
};

/// `given`: the library's file or the folder that holds it; empty: what the loader finds, else $NCCL_HOME/lib. Stays
/// open for the rest of the process: NCCL leaves threads behind. Errors: not_found.
Result<NcclLibrary> open_nccl_library(const std::string& given);

/// Returns the functions as a program reaches them that is linked with NCCL: those of a library that is preloaded,
/// which goes on to `own`; where none is, they are `own`.
NcclLibrary as_programs_reach(const NcclLibrary& own);

}  // namespace sennit::bench
