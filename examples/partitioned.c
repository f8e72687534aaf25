/* Every rank sends a message to the next one in parts: each leaves as soon as it is computed, and the receiver, which
 * cuts the message differently, uses each of its own parts as soon as that is there.
 *
 *   sennit-launch -n 4 -- ./partitioned_c        (or mpirun -n 4, srun -n 4)
 */
#include <stdio.h>
#include <stdlib.h>

#include "sennit/sennit.h"

static void must(sennit_result result) {
  if (result == SENNIT_OK) return;
  fprintf(stderr, "%s\n", sennit_last_error());
  exit(1);
}

int main(void) {
  enum { kNumbers = 18 * 5 * 1024, kSent = 18, kReceived = 5, kSteps = 3 };
  const size_t bytes = kNumbers * sizeof(int);

  sennit_comm* comm = NULL;
  must(sennit_comm_create(NULL, &comm));
  const int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;

  void *from = NULL, *to = NULL;
  must(sennit_memory_allocate(comm, bytes, &from));
  must(sennit_memory_allocate(comm, bytes, &to));
  int* numbers = malloc(bytes);
  if (numbers == NULL) return 1;

  /* Made once, without waiting for the peer. */
  sennit_partitioned* ends[2] = {NULL, NULL};
  must(sennit_send_partitioned(comm, from, kSent, bytes / kSent, next, 0, &ends[0]));
  must(sennit_receive_partitioned(comm, to, kReceived, bytes / kReceived, before, 0, &ends[1]));

  int wrong = 0;
  for (int step = 0; step < kSteps; ++step) {
    must(sennit_partitioned_start(ends, 2));
    for (int part = 0; part < kSent; ++part) {
      const int first = part * (kNumbers / kSent);
      for (int i = 0; i < kNumbers / kSent; ++i) numbers[first + i] = (rank + step) * 1000 + first + i;
      /* On the communicator's own stream, where the part is ready behind the copy that writes it. */
      must(sennit_copy(comm, (int*)from + first, numbers + first, bytes / kSent, NULL));
      must(sennit_partitioned_enqueue_ready(ends[0], (uint32_t)part, (uint32_t)part, NULL));
    }
    must(sennit_synchronize(comm, NULL));
    for (int part = 0; part < kReceived; ++part) {
      const int first = part * (kNumbers / kReceived);
      must(sennit_partitioned_enqueue_await(ends[1], (uint32_t)part, (uint32_t)part, NULL));
      must(sennit_copy(comm, numbers + first, (int*)to + first, bytes / kReceived, NULL));
      must(sennit_synchronize(comm, NULL));
      for (int i = first; i < first + kNumbers / kReceived; ++i) wrong += numbers[i] != (before + step) * 1000 + i;
    }
    must(sennit_partitioned_wait(ends, 2));
  }
  printf("rank %d of %d: %d times %d numbers from rank %d, %d wrong\n", rank, size, kSteps, kNumbers, before, wrong);

  must(sennit_comm_barrier(comm)); /* so that nobody frees an end that its peer still starts */
  must(sennit_partitioned_free(ends[0]));
  must(sennit_partitioned_free(ends[1]));
  free(numbers);
  must(sennit_comm_destroy(comm));
  return wrong == 0 ? 0 : 1;
}
