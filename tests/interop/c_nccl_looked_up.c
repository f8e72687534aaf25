/* NCCL's functions for a program that opens NCCL itself, as XLA does for JAX, and vLLM by ctypes: each leads to what
 * dlsym() finds in the file that NCCL_FILE names. The names come from a file that is generated for the tests. */
#include <dlfcn.h>
#include <stdlib.h>

#define NAME(name)                                 \
  __attribute__((used)) static void* found_##name; \
  __attribute__((naked)) void name(void) {         \
    __asm__("jmp *found_" #name "(%rip)");         \
  }
#include "looked_up_names.inc"
#undef NAME

__attribute__((constructor)) static void look_up(void) {
  const char* const file = getenv("NCCL_FILE");
  void* const library = dlopen(file != NULL ? file : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) abort();
#define NAME(name) found_##name = dlsym(library, #name);
#include "looked_up_names.inc"
}
