/* Every rank puts a message into the next rank's memory, and looks at what the rank before put into its own.
 *
 *   sennit-launch -n 4 -- ./put_c        (or mpirun -n 4, srun -n 4)
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
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;

  /* Memory of this rank's device, registered with all ranks. */
  void* inbox = NULL;
  must(sennit_memory_allocate(comm, bytes, &inbox));
  sennit_window* window = NULL;
  must(sennit_register(comm, inbox, bytes, &window));

  int* numbers = malloc(bytes);
  if (numbers == NULL) return 1;
  for (int i = 0; i < kNumbers; ++i) numbers[i] = rank * 1000 + i;
  must(sennit_put(window, next, 0, numbers, bytes, NULL));

  must(sennit_synchronize(comm, NULL)); /* what this rank put has arrived */
  must(sennit_comm_barrier(comm));      /* what all ranks put has arrived */

  must(sennit_copy(comm, numbers, inbox, bytes, NULL));
  must(sennit_synchronize(comm, NULL));
  int wrong = 0;
  for (int i = 0; i < kNumbers; ++i) wrong += numbers[i] != before * 1000 + i;
  printf("rank %d of %d: %d numbers from rank %d, %d wrong\n", rank, size, kNumbers, before, wrong);

  free(numbers);
  must(sennit_deregister(window));
  must(sennit_memory_free(comm, inbox));
  must(sennit_comm_destroy(comm));
  return wrong == 0 ? 0 : 1;
}
