/* Calls functions of MPI 4 that an MPI of version 3 lacks, where they look as if they were there: test_loading.py. */
#include <mpi.h>
#include <stdio.h>

extern int MPI_Allreduce_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*)
    __attribute__((weak));
extern int PMPI_Allreduce_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*)
    __attribute__((weak));
extern int MPI_Sendrecv_c(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int, int,
                          MPI_Comm, MPI_Status*) __attribute__((weak));

static const char* unsupported(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class == MPI_ERR_UNSUPPORTED_OPERATION ? "unsupported" : "something else";
}

int main(int argc, char** argv) {
  int one = 1, two = 0, rank = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const char* said[3] = {"not there", "not there", "not there"};
  if (MPI_Allreduce_init != NULL)
    said[0] =
        unsupported(MPI_Allreduce_init(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  if (PMPI_Allreduce_init != NULL)
    said[1] =
        unsupported(PMPI_Allreduce_init(&one, &two, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  if (MPI_Sendrecv_c != NULL) {
    const int code =
        MPI_Sendrecv_c(&one, 1, MPI_INT, rank, 0, &two, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    said[2] = code == MPI_SUCCESS && two == 1 ? "done" : unsupported(code);
  }
  if (rank == 0) printf("%s, %s, %s\n", said[0], said[1], said[2]);
  MPI_Finalize();
}
