/* A sweep over a chain of ranks: in each plane a rank needs a face from the rank before it, computes its own cells,
 * and sends a face to the next one. The numbers of a face do not depend on each other, so that a face can be cut into
 * partitions, each of which is passed on as soon as it is computed. Both ways compute the same bits.
 *
 *   mpicc -O2 -o sweep sweep.c
 *   mpirun -n 2 ./sweep whole [bytes partitions planes depth]         a face at once: MPI_Send and MPI_Recv
 *   mpirun -n 2 ./sweep partitioned [bytes partitions planes depth]   by partitions: MPI_Psend_init and
 * MPI_Precv_init
 *
 * `bytes`: of a face; `depth`: cells behind each number of it, which is how long a rank computes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sweep {
  size_t numbers; /* of a face */
  int partitions; /* of it */
  int planes, depth;
  int rank, ranks;
  double *in, *out; /* faces */
  double sum;       /* of all that this rank has computed */
};

/* Reads one partition of the face that came in, and writes that of the face that leaves. */
static void compute(struct sweep* one, int plane, int partition) {
  const size_t count = one->numbers / (size_t)one->partitions, first = count * (size_t)partition;
  for (size_t at = first; at < first + count; ++at) {
    double value = one->rank > 0 ? one->in[at] : 1.0 + plane + (double)(at % 7);
    for (int cell = 0; cell < one->depth; ++cell) value = 0.5 * value + 0.25 * (double)(cell % 3);
    one->out[at] = value;
  }
  for (size_t at = first; at < first + count; ++at) one->sum += one->out[at];
}

static void whole(struct sweep* one) {
  const int count = (int)one->numbers;
  for (int plane = 0; plane < one->planes; ++plane) {
    if (one->rank > 0) MPI_Recv(one->in, count, MPI_DOUBLE, one->rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int partition = 0; partition < one->partitions; ++partition) compute(one, plane, partition);
    if (one->rank + 1 < one->ranks) MPI_Send(one->out, count, MPI_DOUBLE, one->rank + 1, 0, MPI_COMM_WORLD);
  }
}

static void partitioned(struct sweep* one) {
  const int has_before = one->rank > 0, has_next = one->rank + 1 < one->ranks;
  const MPI_Count count = (MPI_Count)(one->numbers / (size_t)one->partitions);
  MPI_Request before = MPI_REQUEST_NULL, next = MPI_REQUEST_NULL;
  if (has_before)
    MPI_Precv_init(one->in, one->partitions, count, MPI_DOUBLE, one->rank - 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &before);
  if (has_next)
    MPI_Psend_init(one->out, one->partitions, count, MPI_DOUBLE, one->rank + 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &next);
  for (int plane = 0; plane < one->planes; ++plane) {
    /* One by one: MPI_Startall of two is broken in Open MPI 5. */
    if (has_before) MPI_Start(&before);
    if (has_next) MPI_Start(&next);
    for (int partition = 0; partition < one->partitions; ++partition) {
      for (int here = !has_before; !here;) MPI_Parrived(before, partition, &here);
      compute(one, plane, partition);
      if (has_next) MPI_Pready(partition, next);
    }
    if (has_before) MPI_Wait(&before, MPI_STATUS_IGNORE);
    if (has_next) MPI_Wait(&next, MPI_STATUS_IGNORE);
  }
  if (has_before) MPI_Request_free(&before);
  if (has_next) MPI_Request_free(&next);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long bytes = argc > 2 ? atol(argv[2]) : 1 << 20;
  struct sweep one = {.numbers = (size_t)bytes / sizeof(double),
                      .partitions = argc > 3 ? atoi(argv[3]) : 16,
                      .planes = argc > 4 ? atoi(argv[4]) : 100,
                      .depth = argc > 5 ? atoi(argv[5]) : 16};
  const int by_partitions = argc > 1 && strcmp(argv[1], "partitioned") == 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &one.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &one.ranks);
  if (argc < 2 || (!by_partitions && strcmp(argv[1], "whole") != 0) || one.partitions < 1 || one.planes < 1 ||
      one.depth < 1 || one.numbers == 0 || one.numbers % (size_t)one.partitions != 0) {
    if (one.rank == 0)
      fprintf(stderr,
              "sweep whole|partitioned [bytes partitions planes depth]: partitions of equal size, of doubles\n");
    MPI_Finalize();
    return 2;
  }
  one.in = calloc(one.numbers, sizeof(double));
  one.out = calloc(one.numbers, sizeof(double));
  if (one.in == NULL || one.out == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  (by_partitions ? partitioned : whole)(&one);
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - began;
  double sum = 0;
  MPI_Reduce(&one.sum, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (one.rank == 0) printf("%s: %.6f s, sum %.17g\n", argv[1], seconds, sum);
  free(one.in);
  free(one.out);
  MPI_Finalize();
  return 0;
}
