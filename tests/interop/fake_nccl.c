/* A libnccl.so.2 of the tests' own, with the ABI of the real header: collectives in shared host memory, done when
 * they return, or when their group ends. It notes in $FAKE_NCCL_LOG.PID what is called. As the real one, it calls
 * some of its functions by their public names. FAKE_VERSION: functions that came later are missing. */
#define _GNU_SOURCE
#include "fake_nccl.h"

#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void note(const char* format, ...) {
  const char* prefix = getenv("FAKE_NCCL_LOG");
  if (prefix == NULL) return;
  char path[512];
  snprintf(path, sizeof path, "%s.%d", prefix, (int)getpid());
  FILE* file = fopen(path, "a");
  if (file == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fputc('\n', file);
  fclose(file);
}

/* A program's, to be called where its NCCL is asked for the version. */
__attribute__((weak)) void asked_for_version(void);
ncclResult_t ncclGetVersion(int* version) {
  if (asked_for_version != NULL) asked_for_version();
  *version = FAKE_VERSION;
  return ncclSuccess;
}

struct Call {
  const char* name;
  const void* in;
  void* out;
  size_t count;
  int type, op, root;
  struct ncclComm* comm;
  float scale; /* of an operator that the program made */
  int mask;    /* of events that a profiler wanted when it was called, as NCCL keeps it */
};
static _Thread_local struct {
  int depth, calls, made;
  struct Call call[64];
  struct ncclComm* comm[16];
} group;

bool left_to_group(struct ncclComm* comm) {
  if (group.depth == 0) return false;
  group.comm[group.made++] = comm;
  return true;
}

/* ---- what calls do ---- */

static size_t width_of(int type) {
  static const size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? widths[type] : 0;
}

static double number(const char* at, int type) {
  switch (type) {
    case ncclInt8: return *(const int8_t*)at;
    case ncclUint8: return *(const uint8_t*)at;
    case ncclInt32: return *(const int32_t*)at;
    case ncclUint32: return *(const uint32_t*)at;
    case ncclInt64: return (double)*(const int64_t*)at;
    case ncclUint64: return (double)*(const uint64_t*)at;
    case ncclFloat32: return *(const float*)at;
    default: return *(const double*)at;
  }
}
static void store(char* at, int type, double value) {
  switch (type) {
    case ncclInt8: *(int8_t*)at = (int8_t)value; break;
    case ncclUint8: *(uint8_t*)at = (uint8_t)value; break;
    case ncclInt32: *(int32_t*)at = (int32_t)value; break;
    case ncclUint32: *(uint32_t*)at = (uint32_t)value; break;
    case ncclInt64: *(int64_t*)at = (int64_t)value; break;
    case ncclUint64: *(uint64_t*)at = (uint64_t)value; break;
    case ncclFloat32: *(float*)at = (float)value; break;
    default: *(double*)at = value;
  }
}

static void reduce_slots(const struct Call* call, char* out, size_t bytes) {
  const struct ncclComm* comm = call->comm;
  const size_t width = width_of(call->type);
  for (size_t at = 0; at < bytes; at += width) {
    double sum = number(comm->shared->slot[0] + at, call->type);
    for (int rank = 1; rank < comm->size; ++rank) {
      const double next = number(comm->shared->slot[rank] + at, call->type);
      switch (call->op) {
        case ncclProd: sum *= next; break;
        case ncclMax: sum = next > sum ? next : sum; break;
        case ncclMin: sum = next < sum ? next : sum; break;
        default: sum += next;
      }
    }
    store(out + at, call->type, call->op == ncclAvg ? sum / comm->size : sum);
  }
}

/* Of an operator that the program made, each rank has a factor of its own. */
static void scale_own(const struct Call* call, size_t bytes) {
  const struct ncclComm* comm = call->comm;
  const size_t width = width_of(call->type);
  for (size_t at = 0; at < bytes; at += width) {
    char* const one = (char*)comm->shared->slot[comm->rank] + at;
    store(one, call->type, number(one, call->type) * call->scale);
  }
}

/* Every rank gives bytes of its own at `in`; `take` is called on those that take them, with each piece. */
static ncclResult_t share(const struct Call* call, const char* in, size_t bytes, bool takes,
                          void (*take)(const struct Call*, size_t at, size_t bytes)) {
  struct ncclComm* comm = call->comm;
  for (size_t at = 0; at < bytes; at += kChunk) {
    const size_t piece = bytes - at < kChunk ? bytes - at : kChunk;
    if (in != NULL) memcpy(comm->shared->slot[comm->rank], in + at, piece);
    if (call->op >= ncclNumOps) scale_own(call, piece);
    if (meet(comm) != ncclSuccess) return ncclInternalError;
    if (takes) take(call, at, piece);
    if (meet(comm) != ncclSuccess) return ncclInternalError;
  }
  return ncclSuccess;
}

static void take_sum(const struct Call* call, size_t at, size_t bytes) {
  reduce_slots(call, (char*)call->out + at, bytes);
}
static void take_all(const struct Call* call, size_t at, size_t bytes) {
  for (int rank = 0; rank < call->comm->size; ++rank)
    memcpy((char*)call->out + (size_t)rank * call->count * width_of(call->type) + at, call->comm->shared->slot[rank],
           bytes);
}
static void take_roots(const struct Call* call, size_t at, size_t bytes) {
  memcpy((char*)call->out + at, call->comm->shared->slot[call->root], bytes);
}

static ncclResult_t perform(const struct Call* call) {
  const struct ncclComm* comm = call->comm;
  const size_t bytes = call->count * width_of(call->type);
  const bool is_root = comm->rank == call->root;
  const char* in = call->in;
  char kept[8 * kChunk];
  ncclResult_t result = ncclSuccess;
  if (!strcmp(call->name, "AllReduce")) return share(call, in, bytes, true, take_sum);
  if (!strcmp(call->name, "Reduce")) return share(call, in, bytes, is_root, take_sum);
  if (!strcmp(call->name, "AllGather")) return share(call, in, bytes, true, take_all);
  if (!strcmp(call->name, "Gather")) return share(call, in, bytes, is_root, take_all);
  if (!strcmp(call->name, "Broadcast")) return share(call, is_root ? in : NULL, bytes, true, take_roots);
  /* The rest has a part for each rank; in place it lies where results go. */
  if (bytes * (size_t)comm->size > sizeof kept) return ncclInvalidUsage;
  if (strcmp(call->name, "Scatter") || is_root) memcpy(kept, in, bytes * (size_t)comm->size);
  for (int rank = 0; rank < comm->size && result == ncclSuccess; ++rank) {
    const bool own = rank == comm->rank;
    const char* part = kept + (size_t)rank * bytes;
    if (!strcmp(call->name, "ReduceScatter")) result = share(call, part, bytes, own, take_sum);
    if (!strcmp(call->name, "AlltoAll")) result = share(call, part, bytes, own, take_all);
    if (!strcmp(call->name, "Scatter")) result = share(call, is_root ? part : NULL, bytes, own, take_roots);
  }
  return result;
}

/* As far as it goes now; true once it is done. `at`: bytes that have gone. */
static bool proceed(const struct Call* call, size_t* at) {
  struct ncclComm* comm = call->comm;
  const size_t bytes = call->count * width_of(call->type);
  const bool sends = !strcmp(call->name, "Send");
  struct Box* box = sends ? &comm->shared->box[comm->rank][call->root] : &comm->shared->box[call->root][comm->rank];
  while (*at < bytes) {
    if (atomic_load(&box->full) != !sends) return false;
    if (sends) {
      box->bytes = bytes - *at < kChunk ? bytes - *at : kChunk;
      memcpy(box->data, (const char*)call->in + *at, box->bytes);
    } else {
      memcpy((char*)call->out + *at, box->data, box->bytes);
    }
    *at += box->bytes;
    atomic_store(&box->full, sends);
  }
  return true;
}

static bool is_message(const struct Call* call) {
  return !strcmp(call->name, "Send") || !strcmp(call->name, "Recv");
}

static ncclResult_t run(const struct Call* calls, int count) {
  ncclResult_t first = ncclSuccess;
  for (int i = count; i-- > 0;) /* NCCL has an order of its own */
    profiler_tell(calls[i].comm, calls[i].mask, calls[i].name, calls[i].in, calls[i].out, calls[i].count,
                  calls[i].type, calls[i].root, count);
  for (int i = 0; i < count; ++i) {
    if (is_message(&calls[i])) continue;
    const ncclResult_t result = perform(&calls[i]);
    if (first == ncclSuccess) first = result;
  }
  size_t at[64] = {0};
  for (bool done = false; !done;) {
    done = true;
    for (int i = 0; i < count; ++i) {
      if (!is_message(&calls[i])) continue;
      /* Of messages the same way between two ranks, one after the other. */
      bool waits = false;
      for (int j = 0; j < i; ++j)
        waits = waits || (is_message(&calls[j]) && calls[j].comm == calls[i].comm && calls[j].root == calls[i].root &&
                          !strcmp(calls[j].name, calls[i].name) && at[j] < calls[j].count * width_of(calls[j].type));
      if (atomic_load(&calls[i].comm->aborted)) return ncclInternalError;
      if (waits || !proceed(&calls[i], &at[i])) done = false;
    }
    if (!done) sched_yield();
  }
  return first;
}

static ncclResult_t call(const char* name, const void* in, void* out, size_t count, int type, int op, int root,
                         ncclComm_t comm) {
  note("%s %zu %d %d %d depth %d", name, count, type, op, root, group.depth);
  if (comm == NULL || width_of(type) == 0 || root < 0 || root >= comm->size) return ncclInvalidArgument;
  struct Call one = {name, in, out, count, type, op, root, comm, 1, comm->profiler_mask};
  if (op >= ncclNumOps) { /* copied now: the program may destroy it before the group ends */
    const struct Scale* scale = NULL;
    for (int i = 0; i < comm->scales; ++i)
      if (comm->scale[i].op == op) scale = &comm->scale[i];
    if (scale == NULL) return ncclInvalidArgument;
    one.scale = scale->value;
  }
  if (group.depth == 0) return run(&one, 1);
  if (group.calls == 64) return ncclInternalError;
  group.call[group.calls++] = one;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  (void)stream;
  return call("AllReduce", in, out, count, type, op, 0, comm);
}
#ifndef OLD
ncclResult_t ncclAllReduceConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  (void)stream, (void)config;
  note("AllReduceConfig");
  return call("AllReduce", in, out, count, type, op, 0, comm);
}
#endif
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  (void)stream;
  return call("ReduceScatter", in, out, count, type, op, 0, comm);
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  (void)stream;
  return call("AllGather", in, out, count, type, 0, 0, comm);
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  (void)stream;
  return call("Broadcast", in, out, count, type, 0, root, comm);
}
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  (void)stream;
  return call("Reduce", in, out, count, type, op, root, comm);
}
#if FAKE_VERSION >= 22800
ncclResult_t ncclAlltoAll(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  (void)stream;
  return call("AlltoAll", in, out, count, type, 0, 0, comm);
}
ncclResult_t ncclGather(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  (void)stream;
  return call("Gather", in, out, count, type, 0, root, comm);
}
ncclResult_t ncclScatter(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream) {
  (void)stream;
  return call("Scatter", in, out, count, type, 0, root, comm);
}
#endif
ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  (void)stream;
  return call("Send", in, NULL, count, type, 0, peer, comm);
}
ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  (void)stream;
  return call("Recv", NULL, out, count, type, 0, peer, comm);
}

ncclResult_t ncclGroupStart(void) {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd(void) {
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  ncclResult_t first = ncclSuccess;
  for (int i = 0; i < group.made && first == ncclSuccess; ++i) {
    if (!group.comm[i]->blocking)
      first = ncclInProgress;
    else
      first = await_all(group.comm[i]);
  }
  ncclResult_t result = run(group.call, group.calls);
  for (int i = 0; i < group.calls; ++i)
    if (!group.call[i].comm->blocking && result == ncclSuccess) {
      atomic_store(&group.call[i].comm->looks, 3);
      result = ncclInProgress;
    }
  group.made = group.calls = 0;
  return first != ncclSuccess ? first : result;
}
#if FAKE_VERSION >= 22200
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  note("GroupSimulateEnd %d calls", group.calls);
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  ncclResult_t first = ncclSuccess;
  for (int i = 0; i < group.made && first == ncclSuccess; ++i) first = await_all(group.comm[i]);
  group.made = group.calls = 0;
  info->estimatedTime = 1;
  return first;
}
#endif
