/* Gives the MPI itself emulated GPU memory, as the argument says: the functions of the profiling interface pass the
 * drop-in by. The guard (guard.py) is to end the program where anything is in that memory. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

static int* memory; /* of a GPU, as long as `here` */
static int here[64];

/* What no MPI looks at, whatever the address. */
static void nothing(void) {
  int* const other = memory + 32; /* MPI wants no buffer twice */
  int counts[64] = {0};
  MPI_Datatype empty, types[64];
  PMPI_Type_contiguous(0, MPI_INT, &empty);
  PMPI_Type_commit(&empty);
  for (int i = 0; i < ranks; ++i) types[i] = empty;
  PMPI_Bcast(memory, 0, MPI_INT, 0, MPI_COMM_WORLD);
  PMPI_Bcast(memory, 1, empty, 0, MPI_COMM_WORLD);
  PMPI_Send(memory, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  PMPI_Gather(here, 1, MPI_INT, rank == 0 ? here + 1 : memory, 1, MPI_INT, 0, MPI_COMM_WORLD);
  PMPI_Allgatherv(memory, 0, MPI_INT, other, counts, counts, MPI_INT, MPI_COMM_WORLD);
  PMPI_Alltoallw(memory, counts, counts, types, other, counts, counts, types, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) counts[i] = 1;
  PMPI_Alltoallw(memory, counts, here, types, other, counts, here, types, MPI_COMM_WORLD);
  PMPI_Allreduce(MPI_IN_PLACE, here, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* The first byte is in host memory, the address is not. */
static void near(void) {
  MPI_Datatype far;
  const MPI_Aint places[] = {(const char*)here - (const char*)memory};
  const int lengths[] = {1};
  PMPI_Type_create_hindexed(1, lengths, places, MPI_INT, &far);
  PMPI_Type_commit(&far);
  PMPI_Bcast(memory, 1, far, 0, MPI_COMM_WORLD);
}

static void give(const char* what) {
  int counts[64] = {0}, places[64] = {0}, position = 0;
  MPI_Datatype types[64];
  MPI_Request request;
  MPI_Win window;
  counts[1] = 1;
  for (int i = 0; i < ranks; ++i) types[i] = MPI_INT;
  if (!strcmp(what, "nothing")) nothing();
  if (!strcmp(what, "near")) near();
  if (!strcmp(what, "MPI_Send 1")) PMPI_Send(memory, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "MPI_Irecv 1")) PMPI_Irecv(memory, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
  if (!strcmp(what, "MPI_Allreduce 2")) PMPI_Allreduce(MPI_IN_PLACE, memory, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!strcmp(what, "MPI_Gather 4")) /* at the root */
    PMPI_Gather(here, 1, MPI_INT, rank == 0 ? memory : here + 1, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!strcmp(what, "MPI_Allgatherv 4"))
    PMPI_Allgatherv(here, rank == 1, MPI_INT, memory, counts, places, MPI_INT, MPI_COMM_WORLD);
  if (!strcmp(what, "MPI_Alltoallw 1"))
    PMPI_Alltoallw(memory, counts, places, types, here, counts, places, types, MPI_COMM_WORLD);
  if (!strcmp(what, "MPI_Pack 4")) PMPI_Pack(here, 1, MPI_INT, memory, sizeof here, &position, MPI_COMM_WORLD);
  if (!strcmp(what, "MPI_Win_create 1"))
    PMPI_Win_create(memory, sizeof here, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (!strcmp(what, "MPI_Win_attach 2")) {
    PMPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    PMPI_Win_attach(window, memory, sizeof here);
  }
  if (!strcmp(what, "MPI_Buffer_attach 1")) PMPI_Buffer_attach(memory, sizeof here);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  memory = on_gpu(sizeof here);
  for (int i = 1; i < argc; ++i) give(argv[i]);
  return end();
}
