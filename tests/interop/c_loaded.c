/* A library in C that begins MPI, for c_dlopen.c, and ends it where nothing else is to come. */
#include <mpi.h>
#include <stdio.h>

void go(void) {
  int rank = 0, sum = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD); /* as a tool calls it, before any library for Fortran is there */
  if (rank == 0) printf("sum %d\n", sum);
  fflush(stdout);
#ifndef GOES_ON
  MPI_Finalize();
#endif
}
