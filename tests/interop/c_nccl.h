/* What the programs of NCCL in c_nccl.c and, by their topics, in c_nccl_*.c have in common. */
#pragma once

#include <nccl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

#ifdef OLD
/* Versions before 2.18 have none. */
__attribute__((weak)) ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made,
                                                 ncclConfig_t* config);
#endif

__attribute__((weak)) void* sennit_emulated_allocate(int device, size_t bytes);
__attribute__((weak)) int sennit_leave_to_nccl(int yes);
__attribute__((weak)) unsigned long sennit_calls_taken(void);

enum { kMost = 8 * 70000 };
extern int rank, size;
extern const char* folder;
extern ncclComm_t comm;
extern float* in;
extern float* out;

/* How communicators are made. */
void patient(void);
void patient_beside(void);
void pairs(void);
void all_in_one(void);
void of_threads(void);
void scalable(void);
void begun_in_simulation(void);
/* What is made of them. */
void divided(void);
void shrunk(void);
void shrunk_aside(void);
void grown(void);
void grown_patiently(void);
void patient_parts(void);
/* How they end. */
void ended_late(void);
void mismatched(void);
void mismatched_between(void);
void uneven(void);
void aborted(void);
void revoked(void);
void revoked_in_destroy(void);
void revoked_in_finalize(void);
void shrunk_in_destroy(void);
void freed_input(void);
void freed_output(void);
void lost(void);
void early(void);
void done_first(void);
void ended_in_wait(void);
void ended_in_vain(void);
void ended_too_soon(void);
void aborted_in_the_making(void);
void aborted_in_destroy(void);
void aborted_in_finalize(void);
void finalized_later(void);
/* What other processes get of them. */
void starting(void);
/* What is registered with them. */
void windows(void);
/* What errors say. */
void latest(void);
/* What threads get of them. */
void at_once(void);

static inline void fail(const char* what, long detail) {
  printf("rank %d: %s (%ld)\n", rank, what, detail);
  fflush(stdout);
  _exit(1);
}
static inline void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) {
    printf("rank %d: %s\n", rank, ncclGetLastError(comm));
    fail(what, result);
  }
}

__attribute__((weak)) void sennit_emulated_free(void* data);
static inline void let_go(void* memory) {
  if (sennit_emulated_free != NULL)
    sennit_emulated_free(memory);
  else
    free(memory);
}
static inline void* allocate(size_t bytes) {
  void* memory = NULL;
  if (sennit_emulated_allocate != NULL) memory = sennit_emulated_allocate(rank, bytes);
  return memory != NULL ? memory : calloc(1, bytes);
}

/* An id that comes from the communicator `of`, or from none, on the rank that `makes` it. */
static inline ncclUniqueId meet_by(const char* name, bool makes, ncclComm_t of) {
  ncclUniqueId id;
  char path[512], whole[512];
  snprintf(path, sizeof path, "%s/%s.part", folder, name);
  snprintf(whole, sizeof whole, "%s/%s", folder, name);
  if (makes) {
#ifndef OLD
    check(of != NULL ? ncclCommGetUniqueId(of, &id) : ncclGetUniqueId(&id), "an id");
#else
    (void)of;
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
#endif
    FILE* file = fopen(path, "w");
    if (file == NULL || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0 || rename(path, whole) != 0)
      fail("write the id", 0);
    return id;
  }
  FILE* file = NULL;
  while ((file = fopen(whole, "r")) == NULL) usleep(1000);
  if (fread(&id, sizeof id, 1, file) != 1) fail("read the id", 0);
  fclose(file);
  return id;
}

static inline ncclUniqueId meet(const char* name) {
  return meet_by(name, rank == 0, NULL);
}

static inline void init(void) {
  check(ncclCommInitRank(&comm, size, meet("id"), rank), "ncclCommInitRank");
}
static inline void end(void) {
  check(ncclCommFinalize(comm), "ncclCommFinalize");
  check(ncclCommDestroy(comm), "ncclCommDestroy");
  printf("all right\n");
}

/* What rank `of` gives as its number `i`. */
static inline float value(int of, size_t i) {
  return (float)((of + 1) * 3 + (int)(i % 97));
}
static inline float sum(size_t i) {
  float all = 0;
  for (int of = 0; of < size; ++of) all += value(of, i);
  return all;
}
static inline void fill(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    in[i] = value(rank, i);
    out[i] = -1;
  }
}
static inline void expect(bool right, const char* what, size_t at) {
  if (!right) fail(what, (long)at);
}
static inline void expect_sums(const float* got, size_t count, const char* what) {
  for (size_t i = 0; i < count; ++i) expect(got[i] == sum(i), what, i);
}
static inline void expect_from(const float* got, int of, size_t first, size_t count, const char* what) {
  for (size_t i = 0; i < count; ++i) expect(got[i] == value(of, first + i), what, i);
}
static inline void buffers(void) {
  in = allocate(sizeof(float) * kMost);
  out = allocate(sizeof(float) * kMost);
}
