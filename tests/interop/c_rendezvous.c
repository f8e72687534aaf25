/* A rank that waits for the others of a collective call of GPU memory lets its messages of host memory go on, as in
 * any call of MPI: a long one may need its sender. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include "c_ranks.h"

enum { kLong = 4 << 20, kNumbers = 1000, kTimes = 3 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char* const message = malloc(kLong);
  float* const numbers = on_gpu(kNumbers * sizeof(float));
  float* const sums = on_gpu(kNumbers * sizeof(float));
  if (message == NULL) give_up("no memory");
  for (int time = 0; time < kTimes; ++time) {
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < kNumbers; ++i) numbers[i] = (float)(rank + i);
    for (int i = 0; i < kLong; ++i) message[i] = (char)(rank == 0 ? time + i : 0);
    if (rank == 0)
      MPI_Isend(message, kLong, MPI_BYTE, 1, time, MPI_COMM_WORLD, &request);
    else if (rank == 1)
      MPI_Recv(message, kLong, MPI_BYTE, 0, time, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(numbers, sums, kNumbers, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < kLong && rank < 2; ++i) check(message[i] == (char)(time + i), "the message", i);
    for (int i = 0; i < kNumbers; ++i) check(sums[i] == (float)(ranks * (ranks - 1) / 2 + ranks * i), "a sum", i);
  }
  return end();
}
