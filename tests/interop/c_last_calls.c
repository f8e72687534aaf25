/* A program that uses GPU memory in its last calls of MPI: in what MPI_Finalize calls when MPI_COMM_SELF goes, where
 * all of MPI still works, and, with the argument "session", in a session that begins when MPI_Finalize has ended.
 * test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kLength = 5000 };

static MPI_Comm comm;
static int *mine, *theirs;
static int called, kept_called;

static void came(int value, const char* what) {
  for (int i = 0; i < kLength; ++i) check(theirs[i] == value, what, theirs[i]);
}

static void use(MPI_Comm of) {
  MPI_Request requests[2];
  for (int i = 0; i < kLength; ++i) mine[i] = rank + 1;
  MPI_Allreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, of);
  came(ranks * (ranks + 1) / 2, "a sum");
  MPI_Irecv(theirs, kLength, MPI_INT, left, 1, of, &requests[0]);
  MPI_Isend(mine, kLength, MPI_INT, right, 1, of, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  came(left + 1, "a message");
  MPI_Iallreduce(mine, theirs, kLength, MPI_INT, MPI_MAX, of, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  came(ranks, "a maximum");
}

static int when_kept_goes(MPI_Comm of, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  ++kept_called;
  use(of);
  return MPI_SUCCESS;
}

static int when_copied(MPI_Comm of, int key, void* extra, void* value, void* copy, int* copied) {
  (void)key, (void)extra, (void)value;
  *(void**)copy = NULL;
  *copied = 1;
  use(of);
  return MPI_SUCCESS;
}

/* What is set to be called when a communicator goes uses it once more; another one that gets its handle has other
 * ranks. */
static void free_used_ones(int key) {
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Comm one, twin, part;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_set_attr(one, key, NULL);
    MPI_Comm_dup(one, &twin);
    kept_called = 0;
    turn % 2 ? MPI_Comm_disconnect(&twin) : MPI_Comm_free(&twin);
    MPI_Comm_free(&one);
    check(kept_called == 2, "callbacks of communicators", kept_called);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &part);
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &ranks);
    left = (rank + ranks - 1) % ranks;
    right = (rank + 1) % ranks;
    use(part);
    MPI_Comm_free(&part);
    know_ranks();
  }
  kept_called = 0;
}

static int when_self_goes(MPI_Comm of, int key, void* value, void* extra) {
  (void)of, (void)key, (void)value, (void)extra;
  MPI_Comm twin;
  int finalized = 1;
  MPI_Finalized(&finalized);
  check(!finalized, "MPI_Finalized", finalized);
  ++called;
  use(comm);
  MPI_Comm_dup(comm, &twin);
  use(twin);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&comm);
  check(kept_called == 1, "callbacks of a communicator", kept_called);
  return MPI_SUCCESS;
}

#if MPI_VERSION >= 4 && !(defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000) /* 4.0 crashes by itself */
/* A rank of MPICH 5.0.2 may pass a barrier that others never reach while it begins again after MPI_Finalize, with
 * delays about one time in a hundred, without anything preloaded: it is MPIR_init_comm_world that waits then. The
 * test knows that by these words, and starts the program again. */
static void waits(int signal) {
  static const char words[] = "MPI_Comm_create_from_group waits\n";
  (void)signal;
  if (write(2, words, sizeof words - 1) < 0) _exit(8);
  _exit(7);
}

static void use_a_session(void) {
  MPI_Session session;
  MPI_Group group;
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, "a session", 0);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  signal(SIGALRM, waits);
  alarm(20);
  MPI_Comm_create_from_group(group, "sennit.c_last_calls", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  alarm(0);
  MPI_Group_free(&group);
  use(comm);
  MPI_Comm_disconnect(&comm);
  MPI_Session_finalize(&session);
}
#else
static void use_a_session(void) {}
#endif

int main(int argc, char** argv) {
  int key = 0, other = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  know_ranks();
  mine = on_gpu(kLength * sizeof(int));
  theirs = on_gpu(kLength * sizeof(int));
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, when_self_goes, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_create_keyval(when_copied, when_kept_goes, &other, NULL);
  free_used_ones(other);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, when_kept_goes, &other, NULL);
  MPI_Comm_set_attr(comm, other, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, other, NULL);
  MPI_Finalize();
  if (called != 1 || kept_called < 1) return 5;
  if (argc > 1 && strcmp(argv[1], "session") == 0) use_a_session();
  if (rank == 0) fputs("all arrived\n", stdout);
  return 0;
}
