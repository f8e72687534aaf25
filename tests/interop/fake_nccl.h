/* What fake_nccl.c and fake_nccl_communicators.c know of each other. */
#pragma once

#include <nccl.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION NCCL_VERSION_CODE
#endif

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 0)
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* id);
ncclResult_t ncclCommGrow(ncclComm_t comm, int size, const ncclUniqueId* id, int rank, ncclComm_t* made,
                          ncclConfig_t* config);
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 31, 0)
typedef struct ncclCollConfig ncclCollConfig_t;
ncclResult_t ncclAllReduceConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
#endif

enum { kRanks = 8, kChunk = 1 << 16 };

/* A message from one rank to another on its way. */
struct Box {
  atomic_int full;
  size_t bytes;
  char data[kChunk];
};

struct Shared {
  atomic_int attached;
  atomic_ullong arrived;
  char slot[kRanks][kChunk];
  struct Box box[kRanks][kRanks];
};

struct Scale {
  int op;
  float value;
};

struct ncclComm {
  atomic_int looks;      /* so often it still says that it is at work, where it does not block */
  struct ncclComm* part; /* which the program gets then, at part_at */
  struct ncclComm** part_at;
  char name[64];
  int rank, size, device, children, rounds;
  int shrunk[1 << kRanks]; /* by who stayed: the others do not know of it */
  bool blocking;
  atomic_bool aborted;
  struct Shared* shared;
  struct Scale scale[8];
  int scales;
  void* profiler; /* a plug-in's context */
  int profiler_mask;
};

/* Only the functions of NCCL's are for others. */
#pragma GCC visibility push(hidden)
/* To $FAKE_NCCL_LOG.PID. */
void note(const char* format, ...);
/* Until all ranks are there, or have come to this call. */
ncclResult_t await_all(const struct ncclComm* comm);
ncclResult_t meet(struct ncclComm* comm);
/* Whether a group is open, whose end then awaits the communicator's ranks. */
bool left_to_group(struct ncclComm* comm);
/* A plug-in is told of these. */
void profiler_begin(struct ncclComm* comm);
/* `mask`: of the time of the call, which is one of so many `together`. */
void profiler_tell(struct ncclComm* comm, int mask, const char* func, const void* in, void* out, size_t count,
                   int type, int root, int together);
void profiler_end(struct ncclComm* comm);
#pragma GCC visibility pop
