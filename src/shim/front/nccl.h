/* The preloaded library's part for MPI asks its part for NCCL about what a program has looked up. */
#pragma once

#include <stdbool.h>

/* Binds, if nothing has yet, to the NCCL that a call from `from` would reach: where none other is loaded, the one
 * that the program found function `name` in, at `found`. Returns true if that function lies behind this library's
 * entry point. False: it is no function that NCCL's entry points stand for, or of another NCCL, which the program has
 * beside the one that is bound; calls of that pass by. */
__attribute__((visibility("hidden"))) bool sennit_nccl_is_bound(void* found, const char* name, const void* from);
