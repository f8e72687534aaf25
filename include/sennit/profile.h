/* Phases and pauses of a program, for sennit profile: it needs no library, and does nothing where nobody profiles. */
#ifndef SENNIT_PROFILE_H
#define SENNIT_PROFILE_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls of MPI and NCCL that any thread of this process begins from now on belong to the phase of this name, of at
 * most 63 bytes; null or "": to none. Returns 1 if the process is profiled. A link with -ldl is needed before
 * glibc 2.34. */
static inline int sennit_profile_phase(const char* name) {
  int (*phase)(const char*) = NULL;
  void* const found = dlsym(NULL /* RTLD_DEFAULT */, "sennit_profile_phase");
  *(void**)&phase = found;
  return phase != NULL ? phase(name) : 0;
}

/* Calls of MPI and NCCL that any thread of this process begins from now on are passed on and not recorded (1), or
 * recorded again (0); to be called outside of groups of NCCL. Pauses are no part of the profile's run time. A request
 * that ends in one counts as unseen. Returns 1 if the process is profiled. */
static inline int sennit_profile_pause(int paused) {
  int (*pause)(int) = NULL;
  void* const found = dlsym(NULL /* RTLD_DEFAULT */, "sennit_profile_pause");
  *(void**)&pause = found;
  return pause != NULL ? pause(paused) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
