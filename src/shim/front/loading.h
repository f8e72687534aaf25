/* The preloaded library's parts for MPI and for NCCL both do this when a program first calls one of the two. */
#pragma once

__attribute__((visibility("hidden"))) void sennit_front_say(const char* what, const char* why);

/* Returns 1 if this environment variable says yes. */
__attribute__((visibility("hidden"))) int sennit_front_switch(const char* name);

/* Returns 1 if SENNIT_DISABLE says so. */
__attribute__((visibility("hidden"))) int sennit_front_disabled(void);

/* Returns 1 if calls are to pass by this library: SENNIT_DISABLE says so, and no observer is named. */
__attribute__((visibility("hidden"))) int sennit_front_idle(void);

/* Returns 1 if another copy of this library stands before this one, and does what is to be done. */
__attribute__((visibility("hidden"))) int sennit_front_is_second(void);

/* Loads the drop-in of this name beside this library, and returns its `symbol`; null, and says so to the user, where
 * it cannot be had. */
__attribute__((visibility("hidden"))) void* sennit_front_load(const char* file, const char* symbol, void** library);

/* Returns the `symbol` of the observer; null where none is named, or lacks it. It says to the user what cannot be
 * loaded. */
__attribute__((visibility("hidden"))) void* sennit_front_observer(const char* symbol);

/* To be called once an observer has begun. */
__attribute__((visibility("hidden"))) void sennit_front_observed(void);

/* This is the drop-in for NCCL, once the program has called NCCL; else null. */
extern __attribute__((visibility("hidden"))) void* sennit_nccl_drop_in;
