/* Messages of types made of predefined ones that have no names, and that nobody may free: those of kinds of numbers
 * of Fortran's, and those of a value and an index, where the MPI has them. test_c_programs.py compiles it for each
 * MPI. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kCount = 3000, kTimes = 3 };

/* Some elements of the type, in messages around the ring; the type is still there afterwards. */
static void send_some_of(MPI_Datatype type, const char* what) {
  MPI_Aint lower = 0, extent = 0;
  int size = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  if (size != extent) return; /* what lies in gaps is nobody's */
  const size_t bytes = (size_t)(2 * kCount) * (size_t)extent;
  char *const mine = on_gpu(bytes), *const theirs = on_gpu(bytes);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Datatype pairs;
    MPI_Request request;
    MPI_Type_contiguous(2, type, &pairs);
    MPI_Type_commit(&pairs);
    memset(mine, 10 * i + rank + 1, bytes);
    memset(theirs, 0, bytes);
    MPI_Irecv(theirs, kCount, pairs, left, 1, MPI_COMM_WORLD, &request);
    MPI_Send(mine, kCount, pairs, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&pairs);
    check(theirs[0] == 10 * i + left + 1 && theirs[bytes - 1] == theirs[0], what, theirs[0]);
  }
  free_on_gpu(mine);
  free_on_gpu(theirs);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  send_some_of(MPI_INT, "one that has a name");
  MPI_Datatype type = MPI_DATATYPE_NULL;
  /* An MPI that was built without Fortran's has none. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int real = MPI_Type_create_f90_real(6, 30, &type);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  if (real == MPI_SUCCESS && type != MPI_DATATYPE_NULL) send_some_of(type, "Fortran's");
  int (*pair_of)(MPI_Datatype, MPI_Datatype, MPI_Datatype*) = NULL; /* since MPI 4.1 */
  *(void**)&pair_of = dlsym(RTLD_DEFAULT, "MPI_Type_get_value_index");
  if (pair_of != NULL && pair_of(MPI_INT, MPI_INT, &type) == MPI_SUCCESS && type != MPI_DATATYPE_NULL)
    send_some_of(type, "named otherwise");
  if (pair_of != NULL && pair_of(MPI_FLOAT, MPI_UINT32_T, &type) == MPI_SUCCESS && type != MPI_DATATYPE_NULL)
    send_some_of(type, "a value and an index");
  return end();
}
