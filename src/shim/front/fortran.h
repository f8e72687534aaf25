// Which calls of the profiling interface come from Fortran.
#pragma once

/* Whether code at `from` belongs to one of MPI's libraries for Fortran. Thread-safe; takes some 60 ns. */
__attribute__((visibility("hidden"))) int sennit_front_is_fortran(const void* from);
