// This tells which calls of the profiling interface come from Fortran.
#pragma once

/* Returns 1 if code at `from` belongs to one of MPI's libraries for Fortran. It is thread-safe, and takes some 60 ns.
 */
__attribute__((visibility("hidden"))) int sennit_front_is_fortran(const void* from);
