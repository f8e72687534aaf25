/* Calls of all ranks of a communicator while a message into GPU memory is open: rank 0 receives, and waits in the
 * call for rank 1, which waits for its message to be received. Of three ranks the last one has a message of its own
 * to rank 0, and no part in the call. Arguments: a file, then which calls. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kNumbers = 1 << 20, kTag = 3, kBuffered = 1 << 20 };

static const char* file;
static int take_part; /* ranks that do */
static MPI_Win shared_window = MPI_WIN_NULL;
static MPI_File shared_file = MPI_FILE_NULL;

static void free_if_made(MPI_Comm made) {
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
}

/* Two ranks in a ring. */
static MPI_Comm ring(MPI_Comm comm) {
  const int size = 2, periodic = 1;
  MPI_Comm made;
  MPI_Cart_create(comm, 1, &size, &periodic, 0, &made);
  return made;
}

static MPI_Comm two_groups(MPI_Comm comm, MPI_Comm half) {
  MPI_Comm made;
  MPI_Intercomm_create(half, 0, comm, 1 - rank, kTag, &made);
  return made;
}

/* What is called with `comm`, which is a communicator that prepare() made. */
static void call(const char* what, MPI_Comm comm, MPI_Comm half, const int* numbers, MPI_Group group) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  MPI_File opened = MPI_FILE_NULL;
  const int one = 1;
  int two[2] = {0, 0};
  void* base;
  if (!strcmp(what, "Barrier") || !strcmp(what, "Inter_barrier")) {
    MPI_Barrier(comm);
  } else if (!strcmp(what, "Comm_dup") || !strcmp(what, "Inter_dup")) {
    MPI_Comm_dup(comm, &made);
  } else if (!strcmp(what, "Comm_split")) {
    MPI_Comm_split(comm, 0, 0, &made);
  } else if (!strcmp(what, "Comm_create")) {
    MPI_Comm_create(comm, group, &made);
  } else if (!strcmp(what, "Comm_create_group")) {
    MPI_Comm_create_group(comm, group, kTag, &made);
  } else if (!strcmp(what, "Cart_create")) {
    made = ring(comm);
  } else if (!strcmp(what, "Dist_graph_create_adjacent")) {
    const int other = 1 - rank;
    MPI_Dist_graph_create_adjacent(comm, 1, &other, &one, 1, &other, &one, MPI_INFO_NULL, 0, &made);
  } else if (!strcmp(what, "Intercomm_create")) {
    made = two_groups(comm, half);
  } else if (!strcmp(what, "Intercomm_merge")) {
    MPI_Intercomm_merge(comm, rank, &made);
  } else if (!strcmp(what, "Neighbor_allgather")) {
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, two, 1, MPI_INT, comm);
    check(two[0] == 1 - rank && two[1] == 1 - rank, what, two[0]);
  } else if (!strcmp(what, "Neighbor_alltoall")) {
    int* const on = on_gpu(2 * sizeof(int));
    MPI_Neighbor_alltoall(numbers, 1, MPI_INT, on, 1, MPI_INT, comm);
  } else if (!strcmp(what, "Inter_allgather")) {
    MPI_Allgather(&rank, 1, MPI_INT, two, 1, MPI_INT, comm);
    check(two[0] == 1 - rank, what, two[0]);
  } else if (!strcmp(what, "Inter_allreduce")) {
    int* const on = on_gpu(sizeof(int));
    MPI_Allreduce(numbers, on, 1, MPI_INT, MPI_SUM, comm);
  } else if (!strcmp(what, "Win_create")) {
    MPI_Win_create(two, sizeof two, 1, MPI_INFO_NULL, comm, &window);
  } else if (!strcmp(what, "Win_create of a GPU's")) {
    MPI_Win_create(on_gpu(100), 100, 1, MPI_INFO_NULL, comm, &window);
  } else if (!strcmp(what, "Win_allocate")) {
    MPI_Win_allocate(100, 1, MPI_INFO_NULL, comm, &base, &window);
  } else if (!strcmp(what, "File_open")) {
    MPI_File_open(comm, file, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &opened);
  } else if (!strcmp(what, "Win_fence")) {
    MPI_Win_fence(0, shared_window);
  } else if (!strcmp(what, "Win_free")) {
    MPI_Win_free(&shared_window);
  } else if (!strcmp(what, "File_set_size")) {
    MPI_File_set_size(shared_file, 100);
  } else if (!strcmp(what, "File_write_all")) {
    MPI_File_write_all(shared_file, two, 2, MPI_INT, MPI_STATUS_IGNORE);
  } else if (!strcmp(what, "File_close")) {
    MPI_File_close(&shared_file);
  } else if (!strcmp(what, "Buffer_detach")) {
    /* Rank 1 receives after it has sent. */
    static char buffer[kBuffered + MPI_BSEND_OVERHEAD], received[kBuffered];
    int length = 0;
    if (rank == 0) {
      MPI_Buffer_attach(buffer, sizeof buffer);
      MPI_Bsend(received, kBuffered, MPI_CHAR, 1, kTag, comm);
      MPI_Buffer_detach(&base, &length);
    } else {
      MPI_Recv(received, kBuffered, MPI_CHAR, 0, kTag, comm, MPI_STATUS_IGNORE);
    }
  } else {
    give_up("no such call: %s", what);
  }
  free_if_made(made);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  if (opened != MPI_FILE_NULL) MPI_File_close(&opened);
}

/* The communicator that the call is of. */
static MPI_Comm prepare(const char* what, MPI_Comm both, MPI_Comm half) {
  MPI_Comm made;
  void* base;
  if (!strncmp(what, "Neighbor", 8)) return ring(both);
  if (!strncmp(what, "Inter_", 6) || !strcmp(what, "Intercomm_merge")) return two_groups(both, half);
  MPI_Comm_dup(both, &made);
  if (!strcmp(what, "Win_fence") || !strcmp(what, "Win_free")) {
    MPI_Win_allocate(100, 1, MPI_INFO_NULL, made, &base, &shared_window);
    MPI_Win_fence(0, shared_window);
  }
  if (!strncmp(what, "File_", 5) && strcmp(what, "File_open") != 0)
    MPI_File_open(made, file, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &shared_file);
  return made;
}

static void try(const char* what, MPI_Comm both, int* sent, int* received) {
  MPI_Comm comm = MPI_COMM_NULL, half;
  MPI_Group group;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (take_part) {
    MPI_Comm_split(both, rank, 0, &half);
    comm = prepare(what, both, half);
    MPI_Comm_group(comm, &group);
  }
  for (int i = 0; i < 2 * kNumbers; ++i) received[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int from = 1; from < ranks; ++from)
      MPI_Irecv(received + (from - 1) * kNumbers, kNumbers, MPI_INT, from, kTag, MPI_COMM_WORLD, &requests[from - 1]);
  } else {
    MPI_Send(sent, kNumbers, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
  if (take_part) call(what, comm, half, sent, group);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int from = 1; rank == 0 && from < ranks; ++from)
    for (int i = 0; i < kNumbers; ++i)
      check(received[(from - 1) * kNumbers + i] == 1000 * from + i, what, received[(from - 1) * kNumbers + i]);
  if (!take_part) return;
  if (shared_window != MPI_WIN_NULL) MPI_Win_free(&shared_window);
  if (shared_file != MPI_FILE_NULL) MPI_File_close(&shared_file);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  file = argv[1];
  take_part = rank < 2;
  int* const sent = on_gpu(kNumbers * sizeof(int));
  int* const received = on_gpu(2 * kNumbers * sizeof(int));
  for (int i = 0; i < kNumbers; ++i) sent[i] = 1000 * rank + i;
  /* From here on messages of GPUs are announced. */
  MPI_Sendrecv(sent, kNumbers, MPI_INT, right, 1, received, kNumbers, MPI_INT, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Comm both;
  MPI_Comm_split(MPI_COMM_WORLD, take_part ? 0 : MPI_UNDEFINED, rank, &both);
  for (int i = 2; i < argc; ++i) try(argv[i], both, sent, received);
  free_if_made(both);
  return end();
}
