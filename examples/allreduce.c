/* Every rank has numbers of its own; afterwards every rank has the sums of all ranks' numbers.
 *
 *   sennit-launch -n 4 -- ./allreduce_c        (or mpirun -n 4, srun -n 4)
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
  enum { kNumbers = 1 << 20 };
  const size_t bytes = kNumbers * sizeof(int);

  sennit_comm* comm = NULL;
  must(sennit_comm_create(NULL, &comm));
  const int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm);

  /* Any memory of this rank's device will do; nothing needs to be registered. */
  void* data = NULL;
  must(sennit_memory_allocate(comm, bytes, &data));
  int* numbers = malloc(bytes);
  if (numbers == NULL) return 1;
  for (int i = 0; i < kNumbers; ++i) numbers[i] = rank + i;
  must(sennit_copy(comm, data, numbers, bytes, NULL));

  must(sennit_allreduce(comm, data, data, kNumbers, SENNIT_INT32, SENNIT_SUM, NULL, NULL));

  must(sennit_copy(comm, numbers, data, bytes, NULL));
  must(sennit_synchronize(comm, NULL));
  int wrong = 0;
  for (int i = 0; i < kNumbers; ++i) wrong += numbers[i] != size * (size - 1) / 2 + size * i;
  printf("rank %d of %d: %d sums, %d wrong\n", rank, size, kNumbers, wrong);

  free(numbers);
  must(sennit_memory_free(comm, data));
  must(sennit_comm_destroy(comm));
  return wrong == 0 ? 0 : 1;
}
