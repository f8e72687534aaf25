// Calls of tools that stand before this library. In MPI's profiling way a tool defines MPI_NAME, and goes on by
// PMPI_NAME. Where it is linked into the program, or preloaded in front, the program's call does not come here; the
// tool's does. It is then to be treated as MPI_NAME. But PMPI_NAME is also called by tools that stand behind, and by
// the MPI itself in the middle of a call, and those calls have been here already. So
//
// 1. It counts where code lies: its object comes before this library in the order in which the loader looks for
//    symbols. So do the program, and what is preloaded in front. Neither goes away.
// 2. A tool that stands behind may end in a jump to PMPI_NAME, which then seems to be called by whoever called the
//    tool. So MPI_NAME has to be somebody's before this library, too (front.c).
#define _GNU_SOURCE
#include "shim/front/before.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>

enum { kMostBefore = 64 }; /* a limit: objects beyond are taken to come behind */
static struct {
  struct {
    uintptr_t begin, end;
  } objects[kMostBefore];
  size_t count;
} before;

static int add_before(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  uintptr_t begins = UINTPTR_MAX, ends = 0;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD) continue;
    const uintptr_t at = info->dlpi_addr + part->p_vaddr;
    if (at < begins) begins = at;
    if (at + part->p_memsz > ends) ends = at + part->p_memsz;
  }
  const uintptr_t here = (uintptr_t)&add_before;
  if ((here >= begins && here < ends) || before.count == kMostBefore) return 1;
  before.objects[before.count].begin = begins;
  before.objects[before.count++].end = ends;
  return 0;
}

static void find_before(void) {
  dl_iterate_phdr(add_before, NULL);
}

int sennit_front_comes_before(const void* at) {
  static pthread_once_t found = PTHREAD_ONCE_INIT;
  pthread_once(&found, find_before);
  for (size_t i = 0; i < before.count; ++i)
    if ((uintptr_t)at >= before.objects[i].begin && (uintptr_t)at < before.objects[i].end) return 1;
  return 0;
}
