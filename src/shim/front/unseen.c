// A program that uses CUDA, and ends without a call of MPI or NCCL that reached this library, may have called them
// past it. With SENNIT_REPORT the user hears of that: there is no drop-in then that could report.
#define _GNU_SOURCE
#include "shim/front/unseen.h"

#include "shim/front/loading.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_bool seen;
static pid_t process;

void sennit_front_see(void) {
  atomic_store_explicit(&seen, true, memory_order_relaxed);
}

static const char* file_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

struct loaded {
  const char *driver, *nccl;
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  struct loaded* const loaded = data;
  const char* const file = file_of(info->dlpi_name);
  (void)size;
  if (!strncmp(file, "libcuda.so", strlen("libcuda.so"))) loaded->driver = info->dlpi_name;
  if (!strncmp(file, "libnccl.so", strlen("libnccl.so"))) loaded->nccl = info->dlpi_name;
  return 0;
}

/* The first of the ranks that a launcher has numbered reports. A process without a number that waited
 * for others may be such a launcher itself, which asks CUDA for GPUs. */
static bool is_for_others_to_say(void) {
  static const char* const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char* const number = getenv(names[i]);
    if (number != NULL) return strcmp(number, "0") != 0;
  }
  struct rusage of_children;
  return getrusage(RUSAGE_CHILDREN, &of_children) == 0 && of_children.ru_maxrss > 0;
}

__attribute__((constructor)) static void begin(void) {
  process = getpid();
}

__attribute__((destructor)) static void end(void) {
  if (atomic_load_explicit(&seen, memory_order_relaxed) || !sennit_front_switch("SENNIT_REPORT") ||
      sennit_front_disabled())
    return;
  struct loaded loaded = {NULL, NULL};
  dl_iterate_phdr(look, &loaded);
  const bool is_forked = getpid() != process; /* its parent says it */
  if (loaded.driver == NULL || is_forked || is_for_others_to_say() || sennit_front_is_second()) return;
  fprintf(stderr,
          "sennit: no call of NCCL or MPI was seen in %s, which uses CUDA. Not seen are calls of a library that is "
          "linked into the program (statically), or that it opens itself beside one which is loaded (dlopen and "
          "dlsym)%s%s\n",
          program_invocation_short_name, loaded.nccl != NULL ? "; it has loaded " : "",
          loaded.nccl != NULL ? loaded.nccl : "");
}
