/* Calls of all ranks of a communicator behind a reduction that ends in a request and waits for its turn there: the
 * MPI has to get both in one order on all ranks. Arguments: a file, then which calls. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kNumbers = 1000 };

static const char *program, *file;

/* Whether a communicator that was made has all ranks, then frees it. */
static void try(MPI_Comm made, const char* what) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
  check(sum == ranks, what, sum);
  MPI_Comm_free(&made);
}

static void call(const char* what, MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_File opened;
  MPI_Win window = MPI_WIN_NULL;
  static int of_host[10];
  void* base;
  if (!strcmp(what, "File_open")) {
    MPI_File_open(comm, file, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &opened);
    MPI_File_close(&opened);
  } else if (!strcmp(what, "Win_create")) {
    MPI_Win_create(of_host, sizeof of_host, 1, MPI_INFO_NULL, comm, &window);
  } else if (!strcmp(what, "Win_allocate")) {
    MPI_Win_allocate(100, 1, MPI_INFO_NULL, comm, &base, &window);
  } else if (!strcmp(what, "Win_allocate_shared")) {
    MPI_Win_allocate_shared(100, 1, MPI_INFO_NULL, comm, &base, &window);
  } else if (!strcmp(what, "Win_create_dynamic")) {
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window);
  } else if (!strcmp(what, "Comm_dup")) {
    MPI_Comm_dup(comm, &made);
  } else if (!strcmp(what, "Intercomm_merge")) {
    MPI_Intercomm_merge(comm, rank % 2, &made);
  } else if (!strcmp(what, "Comm_create_group")) {
    MPI_Group group;
    MPI_Comm_group(comm, &group);
    MPI_Comm_create_group(comm, group, 3, &made);
    MPI_Group_free(&group);
  } else if (!strcmp(what, "Comm_set_info")) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
  } else if (!strcmp(what, "Comm_spawn") || !strcmp(what, "Comm_spawn_multiple")) {
    char* arguments[] = {"spawned", NULL};
    char* programs[] = {(char*)program};
    char** of_all[] = {arguments};
    const int one = 1;
    const MPI_Info info = MPI_INFO_NULL;
    if (!strcmp(what, "Comm_spawn"))
      MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, comm, &made, MPI_ERRCODES_IGNORE);
    else
      MPI_Comm_spawn_multiple(1, programs, of_all, &one, &info, 0, comm, &made, MPI_ERRCODES_IGNORE);
    int others = 0;
    MPI_Comm_remote_size(made, &others);
    check(others == 1, what, others);
    MPI_Comm_disconnect(&made);
#if MPI_VERSION >= 4
  } else if (!strcmp(what, "Comm_idup_with_info")) {
    MPI_Comm without;
    MPI_Request requests[2];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Comm_idup_with_info(comm, info, &made, &requests[0]);
    MPI_Info_free(&info);
    MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &without, &requests[1]);
    if (rank != ranks - 1) MPI_Send(NULL, 0, MPI_INT, ranks - 1, 7, MPI_COMM_WORLD); /* it waits before it reduces */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    try(without, what);
  } else if (!strcmp(what, "Barrier_init")) {
    MPI_Request request;
    MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#else
  } else if (!strcmp(what, "Comm_idup_with_info") || !strcmp(what, "Barrier_init")) {
    /* of MPI 4 */
#endif
  } else {
    give_up("no such call: %s", what);
  }
  if (made != MPI_COMM_NULL) try(made, what);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
}

/* A communicator of all ranks; between two groups where the call is of those. */
static MPI_Comm make(const char* what) {
  MPI_Comm made, half;
  if (strcmp(what, "Intercomm_merge") != 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    return made;
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &made);
  MPI_Comm_free(&half);
  return made;
}

static int sum_of(const char* what) {
  int sum = 0;
  for (int i = 0; i < ranks; ++i)
    if (strcmp(what, "Intercomm_merge") != 0 || i % 2 != rank % 2) sum += i + 1;
  return sum;
}

int main(int argc, char** argv) {
  program = argv[0];
  if (argc > 1 && !strcmp(argv[1], "spawned")) {
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  begin(&argc, &argv);
  file = argv[1];
  const int last = ranks - 1;
  int* const sent = rank == last ? malloc(kNumbers * sizeof(int)) : on_gpu(kNumbers * sizeof(int));
  int* const received = rank == last ? malloc(kNumbers * sizeof(int)) : on_gpu(kNumbers * sizeof(int));
  for (int i = 2; i < argc; ++i) {
    const MPI_Comm comm = make(argv[i]);
    for (int at = 0; at < kNumbers; ++at) {
      sent[at] = rank + 1;
      received[at] = -1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) usleep(100000); /* the others do not know yet that its memory is the host's */
    if (rank == last && MPI_VERSION >= 4 && !strcmp(argv[i], "Comm_idup_with_info"))
      for (int from = 0; from < last; ++from) MPI_Recv(NULL, 0, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_Iallreduce(sent, received, kNumbers, MPI_INT, MPI_SUM, comm, &request);
    call(argv[i], comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(received[0] == sum_of(argv[i]) && received[kNumbers - 1] == sum_of(argv[i]), argv[i], received[0]);
    MPI_Comm freed = comm;
    MPI_Comm_free(&freed);
  }
  return end();
}
