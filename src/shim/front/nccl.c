// The preloaded library's part for NCCL finds the program's libnccl when the program first calls it, and puts the
// drop-in and an observer between. Until then, and in processes that never call NCCL, it does nothing.
#define _GNU_SOURCE
#include "shim/front/nccl.h"
#include "shim/front/absent.h"
#include "shim/front/front.h"
#include "shim/front/layers.h"
#include "shim/front/loading.h"
#include "shim/front/unseen.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nccl_names.inc"

extern __attribute__((visibility("hidden"))) void* sennit_nccl_table[];
static void* nccl_real[SENNIT_NCCL_ENTRIES];
static void *nccl_behind[SENNIT_NCCL_ENTRIES], *nccl_observers[SENNIT_NCCL_ENTRIES];
static sennit_layers nccl_layers = {SENNIT_NCCL_ENTRIES, sennit_nccl_table, nccl_behind, nccl_observers, false};

static void nccl_lead(size_t entry, void* function) {
  sennit_layers_lead(&nccl_layers, entry, function);
}

static void nccl_observe(size_t entry, void* function) {
  sennit_layers_observe(&nccl_layers, entry, function);
}

static sennit_nccl_front nccl_front = {SENNIT_NCCL_ENTRIES, nccl_lead, nccl_real, NULL, NULL};
static sennit_observation nccl_observation = {
    SENNIT_NCCL_ENTRIES, nccl_names, nccl_behind, nccl_observe, nccl_real, NULL, 0};
static _Thread_local const void* nccl_caller;
static _Thread_local void* nccl_looked_up; /* what the program has found itself in a NCCL that it opened */
static _Thread_local bool nccl_binds;      /* whatever this thread calls of NCCL meanwhile is the program's own */

/* Any version has it. */
static const char kSymbol[] = "ncclGetVersion";

static void* nccl_library_of(const void* symbol) {
  Dl_info info;
  if (symbol == NULL || !dladdr(symbol, &info) || info.dli_fname == NULL) return NULL;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* A program that was started without NCCL sees none. */
__attribute__((constructor)) static void begin_without_nccl(void) {
  void* const library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library != NULL)
    dlclose(library);
  else if (dlsym(RTLD_NEXT, kSymbol) == NULL)
    sennit_front_be_absent("nccl");
}

/* Returns the NCCL that the program's own call would have reached: the next definition in the global scope, else what
 * the calling library was loaded with (Python loads PyTorch so), else the only one there is, by that name or, where
 * the program has opened a file of another, any. */
static void* find_nccl(void) {
  void* library = nccl_library_of(dlsym(RTLD_NEXT, kSymbol));
  if (library != NULL) return library;
  Dl_info info;
  void* const from =
      dladdr(nccl_caller, &info) && info.dli_fname != NULL ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (from != NULL) {
    library = nccl_library_of(dlsym(from, kSymbol));
    dlclose(from);
  }
  if (library == NULL) library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return library != NULL ? library : nccl_library_of(nccl_looked_up);
}

/* Returns NCCL's own function where it is NCCL that calls: it calls some by their public names, also in programs
 * whose calls do not come here. */
static void* own_of(const char* name, const void* from) {
  Dl_info calling, defining;
  if (!dladdr(from, &calling) || calling.dli_fname == NULL) return NULL;
  void* const library = dlopen(calling.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return NULL;
  const bool is_nccl = dladdr(dlsym(library, kSymbol), &defining) && defining.dli_fbase == calling.dli_fbase;
  void* const own = is_nccl ? dlsym(library, name) : NULL;
  dlclose(library);
  return own;
}

void* sennit_nccl_drop_in;

static void attach_nccl(void) {
  if (sennit_front_disabled() || sennit_front_is_second()) return;
  sennit_attach_nccl_function* const attach =
      (sennit_attach_nccl_function*)sennit_front_load("libsennit-nccl.so", SENNIT_ATTACH_NCCL, &sennit_nccl_drop_in);
  if (attach != NULL && attach(&nccl_front) != 0) sennit_nccl_drop_in = NULL; /* it has said why */
}

static void attach_nccl_observer(void) {
  sennit_observe_function* const attach = (sennit_observe_function*)sennit_front_observer(SENNIT_OBSERVE_NCCL);
  nccl_observation.library = nccl_front.library;
  if (attach == NULL || attach(&nccl_observation) != 0) return;
  nccl_front.tell_how = (sennit_tell_how_function*)sennit_front_observer(SENNIT_OBSERVE_HOW);
  sennit_front_observed();
}

static void bind_nccl(void) {
  nccl_binds = true;
  nccl_front.library = find_nccl();
  for (size_t i = 0; i < SENNIT_NCCL_ENTRIES; ++i) {
    /* Another tool that stands between, loaded after this library, stays there. */
    nccl_real[i] = dlsym(RTLD_NEXT, nccl_names[i]);
    if (nccl_real[i] == NULL && nccl_front.library != NULL) nccl_real[i] = dlsym(nccl_front.library, nccl_names[i]);
    nccl_behind[i] = nccl_real[i];
  }
  if (nccl_front.library != NULL) {
    attach_nccl();
    attach_nccl_observer();
  }
  /* The layers open last: another thread's call would pass by the drop-in, which has to see every communicator begin.
   */
  sennit_layers_open(&nccl_layers);
  nccl_binds = false;
}

/* Programs that compare call it: from now on calls are NCCL's (1), or as they were (0). It is to be called on all
 * ranks between the same calls, after the first one, and returns 1 if there is a drop-in that does so. */
__attribute__((visibility("default"))) int sennit_leave_to_nccl(int yes) {
  void (*leave)(int) = NULL;
  if (sennit_nccl_drop_in != NULL) *(void**)&leave = dlsym(sennit_nccl_drop_in, "sennit_leave_to_nccl");
  if (leave != NULL) leave(yes);
  return leave != NULL;
}

/* Programs that compare ask it how many calls of NCCL's functions sennit has done in this process. */
__attribute__((visibility("default"))) unsigned long sennit_calls_taken(void) {
  unsigned long (*taken)(void) = NULL;
  if (sennit_nccl_drop_in != NULL) *(void**)&taken = dlsym(sennit_nccl_drop_in, "sennit_calls_taken");
  return taken != NULL ? taken() : 0;
}

/* It stands for what this NCCL lacks: a program cannot call that but through this library. */
static int nccl_lacking(void) {
  enum { kInvalidUsage = 5 };
  return kInvalidUsage;
}

static const char* nccl_lacking_text(void) {
  return "";
}

/* Returns what stands for entry `number`. */
static void* nccl_lacking_for(size_t number) {
  return strcmp(nccl_names[number], "ncclGetLastError") == 0 ? (void*)&nccl_lacking_text : (void*)&nccl_lacking;
}

static atomic_bool nccl_bound;

/* `found`: what the program has looked up there; null where it calls an entry point. */
static void bind_nccl_once(const void* from, void* found) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  nccl_caller = from, nccl_looked_up = found;
  pthread_once(&once, bind_nccl);
  atomic_store_explicit(&nccl_bound, true, memory_order_release);
}

bool sennit_nccl_is_bound(void* found, const char* name, const void* from) {
  size_t number = 0;
  while (number < SENNIT_NCCL_ENTRIES && strcmp(nccl_names[number], name) != 0) ++number;
  if (number == SENNIT_NCCL_ENTRIES || nccl_binds) return false; /* a drop-in's and an observer's own look */
  if (!atomic_load_explicit(&nccl_bound, memory_order_acquire)) bind_nccl_once(from, found);
  if (nccl_real[number] == found) sennit_front_see();
  return nccl_real[number] == found;
}

/* Returns where ncclNAME, entry `number`, leads that is called from `from`. */
__attribute__((visibility("hidden"))) void* sennit_nccl_resolve(size_t number, const void* from) {
  if (!atomic_load_explicit(&nccl_bound, memory_order_acquire)) {
    void* const own = own_of(nccl_names[number], from);
    if (own != NULL) return own;
    if (nccl_binds) return nccl_real[number] != NULL ? nccl_real[number] : nccl_lacking_for(number);
    sennit_front_see();
    bind_nccl_once(from, NULL);
  }
  if (nccl_real[number] != NULL) return sennit_nccl_table[number];
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&said))
    sennit_front_say(nccl_names[number], nccl_front.library != NULL ? "this version of NCCL has no such function"
                                                                    : "it is called, and no NCCL is loaded");
  return nccl_lacking_for(number);
}
