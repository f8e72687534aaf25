/* A program whose communicators have few CTAs by their configuration: c_nccl_few_blocks RANK SIZE FOLDER WHICH. It
 * calls an allreduce of 256 KiB of the communicator that WHICH names, and of no other one. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <string.h>

int rank, size;
const char* folder;
ncclComm_t comm;
float* in;
float* out;

enum { kCtas = 4 };

static ncclConfig_t configured(int ctas) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.maxCTAs = ctas;
  return config;
}

static ncclComm_t of_all(int ranks, int ctas, const char* id) {
  ncclConfig_t config = configured(ctas);
  ncclComm_t made = NULL;
  check(ncclCommInitRankConfig(&made, ranks, meet(id), rank, &config), "begin");
  return made;
}

static ncclComm_t part_of(ncclComm_t of, ncclConfig_t* config) {
  ncclComm_t made = NULL;
  check(ncclCommSplit(of, 0, rank, &made, config), "split");
  return made;
}

/* By one rank's configuration, with no CTAs at all. */
static ncclComm_t of_zero(void) {
  ncclConfig_t config = configured(NCCL_CONFIG_UNDEF_INT);
#if NCCL_VERSION_CODE >= 22800
  if (rank == 1) config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
#endif
  ncclComm_t made = NULL;
  check(ncclCommInitRankConfig(&made, size, meet("id"), rank, &config), "begin");
  return made;
}

/* Without the last rank, which is not there to call anything any more. */
static ncclComm_t smaller(void) {
  ncclComm_t made = NULL;
#if NCCL_VERSION_CODE >= 22700
  comm = of_all(size, kCtas, "id");
  int without[] = {size - 1};
  if (rank < size - 1) check(ncclCommShrink(comm, without, 1, &made, NULL, NCCL_SHRINK_DEFAULT), "shrink");
  --size;
#endif
  return made;
}

/* The last rank comes in, and has no configuration: the others have theirs from the communicator that there was. */
static ncclComm_t larger(void) {
  const bool old = rank < size - 1, bridge = rank == 0;
  if (old) comm = of_all(size - 1, kCtas, "id");
  ncclUniqueId id;
  if (bridge || !old) id = meet_by("more", bridge, comm);
  ncclComm_t made = NULL;
  check(ncclCommGrow(comm, size, bridge || !old ? &id : NULL, old ? -1 : rank, &made, NULL), "grow");
  return made;
}

static ncclComm_t named(const char* which) {
  if (!strcmp(which, "unlimited")) return of_all(size, NCCL_CONFIG_UNDEF_INT, "id");
  if (!strcmp(which, "own")) return of_all(size, kCtas, "id");
  if (!strcmp(which, "of_one_rank")) return of_all(size, rank == 1 ? kCtas : NCCL_CONFIG_UNDEF_INT, "id");
  if (!strcmp(which, "zero")) return of_zero();
  if (!strcmp(which, "shrunk")) return smaller();
  if (!strcmp(which, "grown")) return larger();
  ncclConfig_t its = configured(kCtas), none = configured(NCCL_CONFIG_UNDEF_INT);
  comm = of_all(size, strcmp(which, "limited_part") ? kCtas : NCCL_CONFIG_UNDEF_INT, "id");
  if (!strcmp(which, "limited_part")) return part_of(comm, &its);
  if (!strcmp(which, "part")) return part_of(comm, NULL);
  if (!strcmp(which, "part_of_part")) return part_of(part_of(comm, NULL), NULL);
  if (!strcmp(which, "unlimited_part")) return part_of(comm, &none);
  fail("there is no such communicator", 0);
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  rank = atoi(arguments[1]);
  size = atoi(arguments[2]);
  folder = arguments[3];
  const ncclComm_t of = named(arguments[4]);
  if (of != NULL) {
    const size_t n = 65536;
    buffers();
    fill(n);
    check(ncclAllReduce(in, out, n, ncclFloat, ncclSum, of, NULL), "allreduce");
    expect_sums(out, n, "allreduce");
    check(ncclCommDestroy(of), "destroy");
  }
  if (comm != NULL && comm != of) check(ncclCommDestroy(comm), "destroy what it was made of");
  printf("all right\n");
  return 0;
}
