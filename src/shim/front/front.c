// The preloaded library finds the program's MPI when the program first calls it, and puts the drop-in and an observer
// between. Until then, and in processes that never call MPI, it does nothing.
#define _GNU_SOURCE
#include "shim/front/front.h"

#include "shim/front/absent.h"
#include "shim/front/before.h"
#include "shim/front/fortran.h"
#include "shim/front/layers.h"
#include "shim/front/loading.h"
#include "shim/front/nccl.h"
#include "shim/front/unseen.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_names.inc"

extern __attribute__((visibility("hidden"))) void* sennit_front_table[];
static void* real[SENNIT_FRONT_ENTRIES];
static void* profiling[SENNIT_FRONT_ENTRIES]; /* the real functions of the profiling interface */
static void *behind[SENNIT_FRONT_ENTRIES], *observers[SENNIT_FRONT_ENTRIES];
static sennit_layers layers = {SENNIT_FRONT_ENTRIES, sennit_front_table, behind, observers, false};

static void lead(size_t entry, void* function) {
  sennit_layers_lead(&layers, entry, function);
}

static void observe(size_t entry, void* function) {
  sennit_layers_observe(&layers, entry, function);
}

static sennit_front front = {SENNIT_FRONT_ENTRIES, behind, lead, real, NULL, SENNIT_FRONT_STANDARD, 0, NULL};
static sennit_observation observation = {SENNIT_FRONT_ENTRIES, names, behind, observe, real, NULL,
                                         SENNIT_FRONT_STANDARD};
static bool observed;
static const void* caller;

static const char* profiling_name(size_t number, char* space) {
  space[0] = 'P';
  strcpy(space + 1, names[number]);
  return space;
}

/* Returns true if a drop-in or an observer stands before the library's own function. */
static bool is_led(size_t number) {
  return sennit_front_table[number] != real[number];
}

/* These are the MPIs whose ABI is known. */
static const struct {
  const char* soname;
  int flavour;
} known[] = {{"libmpi_abi.so.1", SENNIT_FRONT_STANDARD},
             {"libmpi_abi.so.0", SENNIT_FRONT_STANDARD},
             {"libmpi.so.40", SENNIT_FRONT_OPENMPI},
             {"libmpi.so.12", SENNIT_FRONT_MPICH},
             {"libmpich.so.12", SENNIT_FRONT_MPICH}};

/* Returns the ABI of a file, or -1 where it is not known. */
static int flavour_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  const char* const file = slash != NULL ? slash + 1 : path;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    const size_t length = strlen(known[i].soname);
    if (!strncmp(file, known[i].soname, length) && (file[length] == 0 || file[length] == '.'))
      return known[i].flavour;
  }
  return -1;
}

/* Returns the ABI of the library where `symbol` lies, which `info` then tells of. */
static int flavour_at(const void* symbol, Dl_info* info) {
  char path[PATH_MAX];
  if (symbol == NULL || !dladdr(symbol, info) || info->dli_fname == NULL) return -1;
  const int flavour = realpath(info->dli_fname, path) != NULL ? flavour_of(path) : -1;
  return flavour >= 0 ? flavour : flavour_of(info->dli_fname);
}

/* Returns the library where `symbol` lies, if that is an MPI which is known. */
static void* library_of(const void* symbol, int* flavour) {
  Dl_info info;
  *flavour = flavour_at(symbol, &info);
  return *flavour < 0 ? NULL : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* A program that was started without an MPI sees none. */
__attribute__((constructor)) static void begin_without_mpi(void) {
  bool any = dlsym(RTLD_NEXT, "PMPI_Init") != NULL || dlsym(RTLD_NEXT, "MPI_Init") != NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known && !any; ++i) {
    void* const library = dlopen(known[i].soname, RTLD_LAZY | RTLD_NOLOAD);
    any = library != NULL;
    if (library != NULL) dlclose(library);
  }
  if (any) return;
  sennit_front_be_absent("MPI_");
  sennit_front_be_absent("PMPI_");
}

/* The calling library, where its MPI is one that is not known: calls are passed on to that MPI. */
static void* unknown;

static bool is_own(const void* symbol) {
  Dl_info there, here;
  return symbol != NULL && dladdr(symbol, &there) && dladdr((const void*)&unknown, &here) &&
         there.dli_fbase == here.dli_fbase;
}

/* The program has looked up this function itself, first of all in an MPI. */
static _Atomic(void*) looked_up;

/* Returns the MPI that the program's own call would have reached: the next definition in the global scope, else what
 * the calling library was loaded with (Python loads MPI so), else the only one there is. */
static void* find_library(int* flavour) {
  void* library = library_of(dlsym(RTLD_NEXT, "PMPI_Init"), flavour);
  if (library == NULL) library = library_of(looked_up, flavour);
  if (library != NULL) return library;
  Dl_info info;
  if (dladdr(caller, &info) && info.dli_fname != NULL) {
    void* const from = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (from != NULL) {
      void* const begins = dlsym(from, "PMPI_Init");
      library = library_of(begins, flavour);
      if (library == NULL && begins != NULL && !is_own(begins)) unknown = from;
      if (unknown == NULL) dlclose(from);
      if (library != NULL) return library;
    }
  }
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    library = dlopen(known[i].soname, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
      *flavour = known[i].flavour;
      return library;
    }
  }
  return NULL;
}

static void* drop_in;

static void attach_mpi(void) {
  sennit_attach_function* const attach =
      (sennit_attach_function*)sennit_front_load("libsennit-mpi.so", SENNIT_ATTACH_MPI, &drop_in);
  if (attach != NULL) (void)attach(&front); /* it has said why not */
}

static void attach_observer(void) {
  sennit_observe_function* const attach = (sennit_observe_function*)sennit_front_observer(SENNIT_OBSERVE_MPI);
  observation.library = front.library;
  observation.flavour = front.flavour;
  observed = attach != NULL && attach(&observation) == 0;
  if (!observed) return;
  front.tell_how = (sennit_tell_how_function*)sennit_front_observer(SENNIT_OBSERVE_HOW);
  sennit_front_observed();
}

/* Returns the program's own definition. */
static void* find_real(const char* name) {
  /* Another tool that stands between, loaded after this library, stays there. */
  void* found = dlsym(RTLD_NEXT, name);
  void* const library = front.library != NULL ? front.library : unknown;
  if (found == NULL && library != NULL) found = dlsym(library, name);
  return found;
}

static void bind_mpi(void) {
  front.library = find_library(&front.flavour);
  char name[SENNIT_FRONT_LONGEST + 2];
  for (size_t i = 0; i < SENNIT_FRONT_ENTRIES; ++i) {
    behind[i] = real[i] = find_real(names[i]);
    profiling[i] = find_real(profiling_name(i, name));
  }
  /* This comes before the drop-in is loaded, so that what it calls of MPI meanwhile is the program's. */
  sennit_layers_open(&layers);
  front.disabled = sennit_front_disabled();
  if (front.library == NULL) return;
  if (!front.disabled) attach_mpi();
  attach_observer();
}

static void bind_once(const void* from) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static atomic_bool bound;
  if (atomic_load_explicit(&bound, memory_order_acquire)) return;
  caller = from;
  pthread_once(&once, bind_mpi);
  atomic_store_explicit(&bound, true, memory_order_release);
}

/* ---- functions that the MPI lacks ---- */

/* It stands for a function where no drop-in does, and says what an MPI says that has the function and cannot do it.
 */
static int unsupported(void) {
  static const int codes[] = {55, 44, 52}; /* MPI_ERR_UNSUPPORTED_OPERATION by flavour; see mpi/abi.h */
  void* const handler = dlsym(front.library, "PMPI_Comm_call_errhandler");
  const int code = codes[front.flavour];
  if (handler == NULL) return code;
  if (front.flavour == SENNIT_FRONT_MPICH) {
    ((int (*)(int, int))handler)(0x44000000, code);
  } else {
    void* world = (void*)0x101;
    if (front.flavour == SENNIT_FRONT_OPENMPI) {
      world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"); /* a program in C has a copy of it */
      if (world == NULL) world = dlsym(front.library, "ompi_mpi_comm_world");
    }
    ((int (*)(void*, int))handler)(world, code);
  }
  return code;
}

/* It stands for any function where there is no MPI, and returns what is MPI_ERR_OTHER for most. */
static int without_mpi(void) {
  return 16;
}

static void* lacking(size_t number) {
  if (front.library != NULL) return (void*)&unsupported;
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&said))
    sennit_front_say(names[number], "it is called, and no MPI is loaded: it fails, as others will");
  return (void*)&without_mpi;
}

/* ---- functions that the program looks for itself ---- */

__attribute__((visibility("hidden"))) void* (*sennit_front_dlsym)(void*, const char*); /* the loader's */

__attribute__((visibility("hidden"))) void* sennit_front_find_dlsym(void) {
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (found == NULL) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  *(void**)&sennit_front_dlsym = found;
  return found;
}

/* Returns this library's entry point that is called `name`; null where it has none. */
static void* entry_called(const char* name) {
  Dl_info here;
  void* const own = dladdr((const void*)&unknown, &here) ? dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  void* const entry = own != NULL ? sennit_front_dlsym(own, name) : NULL;
  return is_own(entry) ? entry : NULL;
}

/* Returns true if the object with code at `from` has a function of that name itself, as a tool that wants the next.
 */
static bool has_one_itself(const void* from, const char* name) {
  Dl_info calling, defining;
  if (!dladdr(from, &calling) || calling.dli_fname == NULL) return false;
  void* const library = dlopen(calling.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return false;
  void* const found = sennit_front_dlsym(library, name);
  const bool has_it = dladdr(found, &defining) && defining.dli_fbase == calling.dli_fbase;
  dlclose(library);
  return has_it;
}

/* Returns what code at `from` finds of MPI's and NCCL's functions in a library that it has opened itself (Julia and
 * ctypes do so, vLLM and JAX): where it is an MPI's or NCCL's own, the entry point, behind which that lies. */
__attribute__((visibility("hidden"))) void* sennit_front_look_up(void* handle, const char* name, const void* from) {
  Dl_info info;
  if (sennit_front_dlsym == NULL && sennit_front_find_dlsym() == NULL) return NULL;
  void* const found = sennit_front_dlsym(handle, name);
  const bool of_mpi = flavour_at(found, &info) >= 0;
  if (found == NULL || !(of_mpi || name[0] == 'n') || is_own(from) || is_own(found) || sennit_front_idle() ||
      has_one_itself(from, name))
    return found;
  if (!of_mpi) return sennit_nccl_is_bound(found, name, from) ? entry_called(name) : found;
  if (front.library != NULL && sennit_front_dlsym(front.library, name) != found) return found; /* another MPI's */
  void* const entry = entry_called(name);
  if (entry == NULL) return found;
  void* first_found = NULL;
  atomic_compare_exchange_strong(&looked_up, &first_found, found);
  return entry;
}

/* Returns true if code at `from` is that of a tool before this library which has wrapped the function (before.c), and
 * now calls its PMPI_NAME. */
static bool is_of_tool_before(size_t number, const void* from) {
  enum { kUnknown, kNo, kYes };
  static _Atomic unsigned char wrapped[SENNIT_FRONT_ENTRIES]; /* whether MPI_NAME is somebody's before this library */
  if (!sennit_front_comes_before(from)) return false;
  unsigned char known_so = atomic_load_explicit(&wrapped[number], memory_order_relaxed);
  if (known_so == kUnknown) {
    known_so = sennit_front_comes_before(dlsym(RTLD_DEFAULT, names[number])) ? kYes : kNo;
    atomic_store_explicit(&wrapped[number], known_so, memory_order_relaxed);
  }
  return known_so == kYes;
}

/* ---- entry points ---- */

/* Returns the drop-in that the program uses. A program that has called neither library is taken to be about to call
 * MPI. */
static void* emulating(const void* from) {
  if (sennit_nccl_drop_in == NULL) bind_once(from);
  return sennit_nccl_drop_in != NULL ? sennit_nccl_drop_in : drop_in;
}

__attribute__((visibility("default"))) void* sennit_emulated_allocate(int device, size_t bytes) {
  void* const library = emulating(__builtin_return_address(0));
  void* (*allocate)(int, size_t) = NULL;
  if (library != NULL) *(void**)&allocate = dlsym(library, "sennit_emulated_allocate");
  return allocate != NULL ? allocate(device, bytes) : NULL;
}

__attribute__((visibility("default"))) void sennit_emulated_free(void* data) {
  void* const library = emulating(__builtin_return_address(0));
  void (*release)(void*) = NULL;
  if (library != NULL) *(void**)&release = dlsym(library, "sennit_emulated_free");
  if (release != NULL) release(data);
}

__attribute__((visibility("default"))) int sennit_emulated_holder(const void* pointer) {
  void* const libraries[] = {drop_in, sennit_nccl_drop_in};
  int found = -1;
  for (size_t i = 0; i < 2 && found < 0; ++i) {
    int (*holder)(const void*) = NULL;
    if (libraries[i] != NULL) *(void**)&holder = dlsym(libraries[i], "sennit_emulated_holder");
    if (holder != NULL) found = holder(pointer);
  }
  return found;
}

/* Returns where MPI_NAME, entry `number`, leads that is called from `from`. */
__attribute__((visibility("hidden"))) void* sennit_front_resolve(size_t number, const void* from) {
  sennit_front_see();
  bind_once(from);
  if (real[number] != NULL) return sennit_front_table[number];
  /* A program may ask whether its MPI has a function by looking for the symbol (mpi4py does), and this library has
   * them all: so the drop-in stands in for what is missing. */
  static pthread_once_t without = PTHREAD_ONCE_INIT;
  if (front.library != NULL && front.disabled) pthread_once(&without, attach_mpi);
  return behind[number] != NULL ? sennit_front_table[number] : lacking(number);
}

/* The same for PMPI_NAME, from where it has not been called before, or not by a library for Fortran. Where neither a
 * drop-in nor an observer has anything to do with it, it is the MPI's own: a tool that stands behind would be called
 * in a circle. */
__attribute__((visibility("hidden"))) void* sennit_front_resolve_profiling(size_t number, const void* from) {
  sennit_front_see();
  bind_once(from);
  if (profiling[number] == NULL) return sennit_front_resolve(number, from);
  if (drop_in == NULL && !observed) return profiling[number];
  if (is_of_tool_before(number, from)) return is_led(number) ? sennit_front_table[number] : profiling[number];
  return sennit_front_is_fortran(from) ? sennit_front_table[number] : profiling[number];
}
