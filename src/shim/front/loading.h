/* What the preloaded library's parts for MPI and for NCCL both do when a program first calls one of the two. */
#pragma once

__attribute__((visibility("hidden"))) void sennit_front_say(const char* what, const char* why);

/* Whether this environment variable says yes. */
__attribute__((visibility("hidden"))) int sennit_front_switch(const char* name);

/* SENNIT_DISABLE. */
__attribute__((visibility("hidden"))) int sennit_front_disabled(void);

/* Whether another copy of this library stands before this one, and does what is to be done. */
__attribute__((visibility("hidden"))) int sennit_front_is_second(void);

/* The drop-in of this name beside this library, and its `symbol`; null, and a word to the user, where it cannot be
 * had. */
__attribute__((visibility("hidden"))) void* sennit_front_load(const char* file, const char* symbol, void** library);

/* The drop-in for NCCL, once the program has called NCCL; else null. */
extern __attribute__((visibility("hidden"))) void* sennit_nccl_drop_in;
