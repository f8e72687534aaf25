/* How the communicators of the tests' NCCL are made, what they tell, and how they end. */
#define _GNU_SOURCE
#include "fake_nccl.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

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

ncclResult_t await_all(const struct ncclComm* comm) {
  while (!is_whole(comm)) {
    if (atomic_load(&comm->aborted)) return ncclInternalError;
    sched_yield();
  }
  return ncclSuccess;
}

ncclResult_t meet(struct ncclComm* comm) {
  const unsigned long long all = (unsigned long long)comm->size * (unsigned)++comm->rounds;
  atomic_fetch_add(&comm->shared->arrived, 1);
  while (atomic_load(&comm->shared->arrived) < all) {
    if (atomic_load(&comm->aborted)) return ncclInternalError;
    sched_yield();
  }
  return ncclSuccess;
}

static struct ncclComm* make(const char* name, int rank, int size, bool blocking) {
  struct ncclComm* comm = calloc(1, sizeof *comm);
  snprintf(comm->name, sizeof comm->name, "%s", name);
  comm->rank = rank;
  comm->size = size;
  comm->blocking = blocking;
  comm->device = getenv("FAKE_NCCL_DEVICE") ? atoi(getenv("FAKE_NCCL_DEVICE")) : rank;
  profiler_begin(comm);
  return comm;
}

static ncclResult_t begin(struct ncclComm* comm) {
  ncclResult_t result = attach(comm);
  if (result != ncclSuccess) return result;
  if (left_to_group(comm)) return ncclSuccess;
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
  if (count > kRanks) return ncclInvalidArgument;
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
__attribute__((unused)) static ncclResult_t begin_part(struct ncclComm* comm, ncclComm_t* made) {
  if (comm->blocking) return begin(*made);
  const ncclResult_t result = attach(*made);
  comm->part = *made;
  comm->part_at = made;
  *made = NULL;
  return result == ncclSuccess ? ncclInProgress : result;
}

#if FAKE_VERSION >= 21800
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
#endif

#if FAKE_VERSION >= 22700
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* made, ncclConfig_t* config,
                            int flags) {
  note("CommShrink %d %d", count, flags);
  (void)config;
  if (flags & NCCL_SHRINK_ABORT) usleep(50000); /* as of a revoke */
  int rank = 0, size = 0;
  unsigned staying = 0;
  for (int other = 0; other < comm->size; ++other) {
    bool stays = true;
    for (int i = 0; i < count; ++i) stays = stays && excluded[i] != other;
    if (stays && other < comm->rank) ++rank;
    size += stays;
    staying |= (unsigned)stays << other;
  }
  char name[64];
  snprintf(name, sizeof name, "%.40s-s%d-%x", comm->name, comm->shrunk[staying]++, staying);
  if (!comm->blocking) atomic_store(&comm->looks, 3);
  *made = make(name, rank, size, comm->blocking);
  (*made)->device = comm->device;
  return begin_part(comm, made);
}
#endif

#ifndef OLD
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* id) {
  (void)comm;
  return ncclGetUniqueId(id);
}

/* Old ranks keep their numbers. They learn the id from the one that has it. */
ncclResult_t ncclCommGrow(ncclComm_t comm, int size, const ncclUniqueId* id, int rank, ncclComm_t* made,
                          ncclConfig_t* config) {
  note("CommGrow %d", size);
  if (size > kRanks || (comm == NULL ? id == NULL || rank < 0 || rank >= size : size <= comm->size))
    return ncclInvalidArgument;
  char name[64] = "";
  if (id != NULL) name_of(id, name);
  if (comm == NULL) {
    *made = make(name, rank, size, config == NULL || config->blocking != 0);
    return begin(*made);
  }
  memcpy(comm->shared->slot[comm->rank], name, sizeof name);
  if (meet(comm) != ncclSuccess) return ncclInternalError;
  for (int other = 0; other < comm->size; ++other)
    if (comm->shared->slot[other][0] != 0) memcpy(name, comm->shared->slot[other], sizeof name);
  if (meet(comm) != ncclSuccess) return ncclInternalError;
  if (!comm->blocking) atomic_store(&comm->looks, 3);
  *made = make(name, comm->rank, size,
               config != NULL && config->blocking != NCCL_CONFIG_UNDEF_INT ? config->blocking != 0 : comm->blocking);
  (*made)->device = comm->device;
  return begin_part(comm, made);
}
#endif

static void let_go(ncclComm_t comm) {
  profiler_end(comm);
  munmap(comm->shared, sizeof *comm->shared);
  free(comm);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  note("CommFinalize %d", comm->size);
  return atomic_load(&comm->aborted) ? ncclInvalidArgument : ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  note("CommDestroy %d", comm->size);
  let_go(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  note("CommAbort %d", comm->size);
  return atomic_exchange(&comm->aborted, true) ? ncclInvalidArgument : ncclSuccess;
}
#if FAKE_VERSION >= 22800
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  note("CommRevoke %d", flags);
  usleep(50000); /* the communicator is still looked at: who destroys it meanwhile is too early */
  return atomic_exchange(&comm->aborted, true) ? ncclInvalidArgument : ncclSuccess;
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

#if FAKE_VERSION >= 22700
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t size, ncclWindow_t* window, int flags) {
  note("CommWindowRegister %d %zu %d", comm->size, size, flags);
  if (buffer == NULL) return ncclInvalidArgument;
  *window = (ncclWindow_t)buffer;
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  note("CommWindowDeregister %d", comm->size);
  return window == NULL ? ncclInvalidArgument : ncclSuccess;
}
#endif

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
  for (int i = 0; i < comm->scales; ++i) {
    if (comm->scale[i].op != (int)op) continue;
    comm->scale[i].op = -1;
    note("RedOpDestroy");
    return ncclSuccess;
  }
  return ncclInvalidArgument;
}
