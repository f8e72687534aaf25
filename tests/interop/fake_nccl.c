/* A libnccl.so.2 of the tests' own, with the ABI of the real header: collectives in shared host memory, done when
 * they return, or when their group ends. It notes in $FAKE_NCCL_LOG.PID what is called. As the real one, it calls
 * some of its functions by their public names. FAKE_VERSION: functions that came later are missing. */
#define _GNU_SOURCE
#include <nccl.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION NCCL_VERSION_CODE
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
  bool blocking;
  atomic_bool aborted;
  struct Shared* shared;
  struct Scale scale[8];
  int scales;
};

static void note(const char* format, ...) {
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

/* ---- communicators ---- */

static ncclResult_t attach(struct ncclComm* comm) {
  char path[80];
  snprintf(path, sizeof path, "/%s", comm->name);
  const int fd = shm_open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct Shared)) != 0) return ncclSystemError;
  comm->shared = mmap(NULL, sizeof(struct Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (comm->shared == MAP_FAILED) return ncclSystemError;
  if (atomic_fetch_add(&comm->shared->attached, 1) + 1 == comm->size) shm_unlink(path);
  return ncclSuccess;
}

static bool is_whole(const struct ncclComm* comm) {
  return atomic_load(&comm->shared->attached) == comm->size;
}

static ncclResult_t await_all(const struct ncclComm* comm) {
  while (!is_whole(comm)) {
    if (atomic_load(&comm->aborted)) return ncclInternalError;
    sched_yield();
  }
  return ncclSuccess;
}

static ncclResult_t meet(struct ncclComm* comm) {
  const unsigned long long all = (unsigned long long)comm->size * (unsigned)++comm->rounds;
  atomic_fetch_add(&comm->shared->arrived, 1);
  while (atomic_load(&comm->shared->arrived) < all) {
    if (atomic_load(&comm->aborted)) return ncclInternalError;
    sched_yield();
  }
  return ncclSuccess;
}

/* ---- groups ---- */

struct Call {
  const char* name;
  const void* in;
  void* out;
  size_t count;
  int type, op, root;
  struct ncclComm* comm;
};
static _Thread_local struct {
  int depth, calls, made;
  struct Call call[64];
  struct ncclComm* comm[16];
} group;

static struct ncclComm* make(const char* name, int rank, int size, bool blocking) {
  struct ncclComm* comm = calloc(1, sizeof *comm);
  snprintf(comm->name, sizeof comm->name, "%s", name);
  comm->rank = rank;
  comm->size = size;
  comm->blocking = blocking;
  comm->device = getenv("FAKE_NCCL_DEVICE") ? atoi(getenv("FAKE_NCCL_DEVICE")) : rank;
  return comm;
}

static ncclResult_t begin(struct ncclComm* comm) {
  ncclResult_t result = attach(comm);
  if (result != ncclSuccess) return result;
  if (group.depth > 0) {
    group.comm[group.made++] = comm;
    return ncclSuccess;
  }
  if (!comm->blocking) return ncclInProgress;
  return await_all(comm);
}

/* As of the real one: a number, an address where it listens, and nothing. */
struct Id {
  unsigned char random[8];
  struct sockaddr_in address;
};

static void name_of(const ncclUniqueId* id, char name[64]) {
  struct Id read;
  memcpy(&read, id, sizeof read);
  int at = snprintf(name, 64, "fake-nccl-");
  for (int i = 0; i < 8; ++i) at += snprintf(name + at, 64 - (size_t)at, "%02x", read.random[i]);
}

ncclResult_t ncclGetVersion(int* version) {
  *version = FAKE_VERSION;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  struct Id made = {{0}, {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
  if (getrandom(made.random, sizeof made.random, 0) != sizeof made.random) return ncclSystemError;
  memset(id, 0, sizeof *id);
  memcpy(id, &made, sizeof made);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  note("CommInitRankConfig %d", size);
  char name[64];
  name_of(&id, name);
  if (rank < 0 || rank >= size || size > kRanks) return ncclInvalidArgument;
  *made = make(name, rank, size, config == NULL || config->blocking != 0);
  return begin(*made);
}

ncclResult_t ncclCommInitRank(ncclComm_t* made, int size, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(made, size, id, rank, NULL);
}

ncclResult_t ncclCommInitAll(ncclComm_t* made, int count, const int* devices) {
  note("CommInitAll %d", count);
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclGroupStart();
  for (int i = 0; i < count; ++i) {
    ncclCommInitRank(&made[i], count, id, i);
    if (devices != NULL) made[i]->device = devices[i];
  }
  return ncclGroupEnd();
}

#if FAKE_VERSION >= 22300
ncclResult_t ncclCommInitRankScalable(ncclComm_t* made, int size, int rank, int id_count, ncclUniqueId* ids,
                                      ncclConfig_t* config) {
  (void)id_count;
  return ncclCommInitRankConfig(made, size, ids[0], rank, config);
}
#endif

/* Of one that does not block, the part comes to the program later. */
static ncclResult_t begin_part(struct ncclComm* comm, ncclComm_t* made) {
  if (comm->blocking) return begin(*made);
  const ncclResult_t result = attach(*made);
  comm->part = *made;
  comm->part_at = made;
  *made = NULL;
  return result == ncclSuccess ? ncclInProgress : result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  note("CommSplit %d", color);
  const int mine[2] = {color, key};
  memcpy(comm->shared->slot[comm->rank], mine, sizeof mine);
  if (meet(comm) != ncclSuccess) return ncclInternalError;
  int rank = 0, size = 0;
  for (int other = 0; other < comm->size; ++other) {
    int theirs[2];
    memcpy(theirs, comm->shared->slot[other], sizeof theirs);
    if (theirs[0] != color) continue;
    ++size;
    if (theirs[1] < key || (theirs[1] == key && other < comm->rank)) ++rank;
  }
  if (meet(comm) != ncclSuccess) return ncclInternalError;
  char name[64];
  snprintf(name, sizeof name, "%.40s-%d-%d", comm->name, comm->children++, color & 0xFFFF);
  *made = NULL;
  if (!comm->blocking) atomic_store(&comm->looks, 3);
  if (color == NCCL_SPLIT_NOCOLOR) return comm->blocking ? ncclSuccess : ncclInProgress;
  *made = make(name, rank, size,
               config != NULL && config->blocking != NCCL_CONFIG_UNDEF_INT ? config->blocking != 0 : comm->blocking);
  (*made)->device = comm->device;
  return begin_part(comm, made);
}

#if FAKE_VERSION >= 22700
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* made, ncclConfig_t* config,
                            int flags) {
  note("CommShrink %d %d", count, flags);
  (void)config;
  int rank = 0, size = 0;
  for (int other = 0; other < comm->size; ++other) {
    bool stays = true;
    for (int i = 0; i < count; ++i) stays = stays && excluded[i] != other;
    if (stays && other < comm->rank) ++rank;
    size += stays;
  }
  char name[64];
  snprintf(name, sizeof name, "%.40s-%d-s", comm->name, comm->children++);
  if (!comm->blocking) atomic_store(&comm->looks, 3);
  *made = make(name, rank, size, comm->blocking);
  (*made)->device = comm->device;
  return begin_part(comm, made);
}
#endif

static void let_go(ncclComm_t comm) {
  munmap(comm->shared, sizeof *comm->shared);
  free(comm);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  note("CommFinalize %d", comm->size);
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  note("CommDestroy %d", comm->size);
  let_go(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  note("CommAbort %d", comm->size);
  atomic_store(&comm->aborted, true);
  return ncclSuccess;
}
#if FAKE_VERSION >= 22800
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  note("CommRevoke %d", flags);
  atomic_store(&comm->aborted, true);
  return ncclSuccess;
}
#endif

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "an error";
}
const char* ncclGetLastError(ncclComm_t comm) {
  (void)comm;
  return "NCCL's own word";
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (atomic_load(&comm->looks) > 0) {
    if (atomic_fetch_sub(&comm->looks, 1) == 1 && comm->part != NULL) {
      *comm->part_at = comm->part;
      comm->part = NULL;
    }
    /* Some versions say that all is well before the part is there. */
    *error = getenv("FAKE_NCCL_IS_WELL") != NULL ? ncclSuccess : ncclInProgress;
    return ncclSuccess;
  }
  *error = atomic_load(&comm->aborted) ? ncclInternalError : is_whole(comm) ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  *count = comm->size;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  *device = comm->device;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t size, void** handle) {
  note("CommRegister %d %zu", comm->size, size);
  *handle = buffer;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  (void)comm, (void)handle;
  return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type, ncclScalarResidence_t where,
                                      ncclComm_t comm) {
  (void)where;
  if (type != ncclFloat32 || comm->scales == 8) return ncclInvalidArgument;
  struct Scale* scale = &comm->scale[comm->scales];
  scale->op = ncclNumOps + comm->scales++;
  memcpy(&scale->value, scalar, sizeof scale->value);
  *op = (ncclRedOp_t)scale->op;
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  (void)op, (void)comm;
  return ncclSuccess;
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
  for (int i = 0; i < comm->scales; ++i)
    for (size_t at = 0; comm->scale[i].op == call->op && at < bytes; at += width) {
      char* const one = (char*)comm->shared->slot[comm->rank] + at;
      store(one, call->type, number(one, call->type) * comm->scale[i].value);
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
  const struct Call one = {name, in, out, count, type, op, root, comm};
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
  group.depth = group.made = group.calls = 0;
  info->estimatedTime = 1;
  return ncclSuccess;
}
#endif
