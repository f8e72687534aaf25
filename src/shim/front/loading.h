/* What the preloaded library's parts for MPI and for NCCL both do when a program first calls one of the two. */
#pragma once

__attribute__((visibility("hidden"))) void sennit_front_say(const char* what, const char* why);

/* SENNIT_DISABLE. */
__attribute__((visibility("hidden"))) int sennit_front_disabled(void);

/* The drop-in of this name beside this library, and its `symbol`; null, and a word to the user, where it cannot be
 * had. */
__attribute__((visibility("hidden"))) void* sennit_front_load(const char* file, const char* symbol, void** library);

/* The drop-in for NCCL, once the program has called NCCL; else null. */
extern __attribute__((visibility("hidden"))) void* sennit_nccl_drop_in;
