// This notes that the program has called what this library stands before, for the report.
#pragma once

/* The program has called MPI or NCCL by way of this library. */
__attribute__((visibility("hidden"))) void sennit_front_see(void);
