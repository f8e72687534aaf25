// An MPI's libraries for Fortran call its C functions, once they have made handles, constants,
// statuses and descriptors those of C: so the drop-in stands behind them, not before, and knows nothing of Fortran.
// But they call MPI_NAME (MPICH's, in part) or PMPI_NAME (the rest of it; Open MPI's), and PMPI_NAME is called by
// others too: by tools that stand between, which have seen the call already, and by the MPI itself, in the middle of
// a call. So
//
// 1. PMPI_NAME is an entry point too. Where it leads depends on its caller's address, by which alone the two differ.
// 2. A caller in the library for Fortran that has called before: as MPI_NAME (entries.S, some 1 ns).
// 3. Any other is looked for among the libraries for Fortran that are loaded. They may be loaded late: their list is
//    made anew when the number of libraries ever loaded has changed (some 60 ns in all).
// 4. Found: as MPI_NAME. Not found: the real PMPI_NAME.
#define _GNU_SOURCE
#include "shim/front/fortran.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

typedef struct span {
  uintptr_t begin, bytes;
} span;

/* The library lies here that has called. entries.S reads it, and so it is written only once, its end last. */
__attribute__((visibility("hidden"))) struct { _Atomic uintptr_t begin, bytes; } sennit_front_fortran;

static struct {
  pthread_mutex_t mutex;
  unsigned long long loaded; /* libraries, when the list was made */
  size_t count;
  span spans[8];
} fortran = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The kinds are Open MPI's; MPICH's, with Intel's and Cray's; Debian's MPICH's. Their names go on with a compiler's,
 * or a version. */
static int is_for_fortran(const char* path) {
  static const char* const kinds[] = {"libmpi_mpifh", "libmpi_usempi", "libmpifort", "libmpichfort"};
  const char* const slash = strrchr(path, '/');
  const char* const file = slash != NULL ? slash + 1 : path;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (!strncmp(file, kinds[i], strlen(kinds[i]))) return 1;
  return 0;
}

static int add_library(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  fortran.loaded = info->dlpi_adds;
  if (!is_for_fortran(info->dlpi_name) || fortran.count == sizeof fortran.spans / sizeof *fortran.spans) return 0;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD) continue;
    const uintptr_t at = info->dlpi_addr + part->p_vaddr;
    if (at < begin) begin = at;
    if (at + part->p_memsz > end) end = at + part->p_memsz;
  }
  if (begin < end) fortran.spans[fortran.count++] = (span){begin, end - begin};
  return 0;
}

static int see_loaded(struct dl_phdr_info* info, size_t size, void* loaded) {
  (void)size;
  *(unsigned long long*)loaded = info->dlpi_adds;
  return 1;
}

__attribute__((visibility("hidden"))) int sennit_front_is_fortran(const void* from) {
  unsigned long long loaded = 0;
  dl_iterate_phdr(see_loaded, &loaded);
  int found = 0;
  pthread_mutex_lock(&fortran.mutex);
  if (loaded != fortran.loaded) {
    fortran.count = 0;
    dl_iterate_phdr(add_library, NULL);
  }
  for (size_t i = 0; i < fortran.count && !found; ++i) {
    const span* const one = &fortran.spans[i];
    found = (uintptr_t)from - one->begin < one->bytes;
    if (!found || atomic_load(&sennit_front_fortran.bytes) != 0) continue;
    atomic_store(&sennit_front_fortran.begin, one->begin);
    atomic_store(&sennit_front_fortran.bytes, one->bytes);
  }
  pthread_mutex_unlock(&fortran.mutex);
  return found;
}
