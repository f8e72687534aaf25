/* What the MPI refuses, with memory of the host and of a GPU, with requests of GPU memory open and without: the error
 * handler of the call's communicator hears of it once, of the class that the MPI alone gives (the functions of the
 * profiling interface, which pass the drop-in by), and no other handler hears anything. Requests that are nobody's
 * are garbage: MPICH returns success for what it has refused where the handler is a function of the program's. Then
 * what is no error: no elements of no type, which MPICH takes since 4.0, and waits for requests that are not active.
 */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kLong = 4000, kTag = 3 };

static int heard, heard_elsewhere, last; /* by the communicator's handler, and by those of MPI_COMM_WORLD and _SELF */
static int here[2 * kLong], there[2 * kLong];
static int *mine, *theirs; /* of a GPU, as long */
static MPI_Comm comm;
static int counts[64], places[64];
static MPI_Datatype none[64];

static void hear(MPI_Comm* of, int* code, ...) {
  if (*of == comm)
    ++heard;
  else
    ++heard_elsewhere;
  MPI_Error_class(*code, &last);
}

struct told {
  int class, heard, elsewhere, last;
};

static void begin_to_hear(void) {
  heard = heard_elsewhere = last = 0;
}

static struct told told(int code) {
  struct told all = {-1, heard, heard_elsewhere, last};
  MPI_Error_class(code, &all.class);
  return all;
}

static void compare(const char* what, int turn, struct told alone, struct told now) {
  if (memcmp(&alone, &now, sizeof now) != 0)
    give_up("%s, %s memory: class %d, heard %d times and %d elsewhere, of class %d; by the MPI alone %d, %d, %d, %d",
            what, turn == 1 ? "host" : "GPU", now.class, now.heard, now.elsewhere, now.last, alone.class, alone.heard,
            alone.elsewhere, alone.last);
}

/* A call with `in` and `out`: of the MPI alone, then with host memory, then with a GPU's. */
#define TRY(what, function, ...)                                                                            \
  do {                                                                                                      \
    struct told alone;                                                                                      \
    for (int turn = 0; turn < 3; ++turn) {                                                                  \
      int *const in = turn == 2 ? mine : here, *const out = turn == 2 ? theirs : there;                     \
      MPI_Request request, *const made = &request;                                                          \
      MPI_Status status, *const stated = &status;                                                           \
      (void)in, (void)out, (void)made, (void)stated;                                                        \
      memset(&request, 0x5a, sizeof request);                                                               \
      begin_to_hear();                                                                                      \
      const struct told now = told(turn == 0 ? PMPI_##function(__VA_ARGS__) : MPI_##function(__VA_ARGS__)); \
      if (turn == 0)                                                                                        \
        alone = now;                                                                                        \
      else                                                                                                  \
        compare(what, turn, alone, now);                                                                    \
    }                                                                                                       \
  } while (0)

static void refused(void) {
  MPI_Comm made_comm;
  TRY("send, negative", Send, in, -1, MPI_INT, right, kTag, comm);
  TRY("send, tag", Send, in, kLong, MPI_INT, right, -7, comm);
  TRY("send, rank", Send, in, kLong, MPI_INT, ranks, kTag, comm);
  TRY("send, type", Send, in, kLong, MPI_DATATYPE_NULL, right, kTag, comm);
  TRY("send, communicator", Send, in, kLong, MPI_INT, right, kTag, MPI_COMM_NULL);
  TRY("ssend, tag", Ssend, in, kLong, MPI_INT, right, -7, comm);
  TRY("isend, tag", Isend, in, kLong, MPI_INT, right, -7, comm, made);
  TRY("isend, rank", Isend, in, kLong, MPI_INT, ranks, kTag, comm, made);
  TRY("send_init, rank", Send_init, in, kLong, MPI_INT, ranks, kTag, comm, made);
  TRY("recv, rank", Recv, out, kLong, MPI_INT, ranks, kTag, comm, stated);
  TRY("recv, type", Recv, out, kLong, MPI_DATATYPE_NULL, left, kTag, comm, stated);
  TRY("irecv, rank", Irecv, out, kLong, MPI_INT, ranks, kTag, comm, made);
  TRY("irecv, tag", Irecv, out, kLong, MPI_INT, left, -7, comm, made);
  TRY("irecv, type", Irecv, out, kLong, MPI_DATATYPE_NULL, left, kTag, comm, made);
  TRY("irecv, communicator", Irecv, out, kLong, MPI_INT, left, kTag, MPI_COMM_NULL, made);
  TRY("recv_init, rank", Recv_init, out, kLong, MPI_INT, ranks, kTag, comm, made);
  TRY("sendrecv, to", Sendrecv, in, kLong, MPI_INT, ranks, kTag, out, kLong, MPI_INT, left, kTag, comm, stated);
  TRY("sendrecv, from", Sendrecv, in, kLong, MPI_INT, right, kTag, out, kLong, MPI_INT, ranks, kTag, comm, stated);
  TRY("sendrecv, tag", Sendrecv, in, kLong, MPI_INT, right, -7, out, kLong, MPI_INT, left, kTag, comm, stated);
  TRY("sendrecv, type", Sendrecv, in, 1, MPI_DATATYPE_NULL, right, kTag, out, 9, MPI_INT, left, kTag, comm, stated);
  TRY("sendrecv_replace, to", Sendrecv_replace, out, kLong, MPI_INT, ranks, kTag, left, kTag, comm, stated);
  TRY("bcast, root", Bcast, out, kLong, MPI_INT, ranks, comm);
  TRY("bcast, communicator", Bcast, out, kLong, MPI_INT, 0, MPI_COMM_NULL);
  TRY("ibcast, root", Ibcast, out, kLong, MPI_INT, ranks, comm, made);
  TRY("gather, root", Gather, in, 1, MPI_INT, out, 1, MPI_INT, ranks, comm);
  TRY("allreduce, operator", Allreduce, in, out, kLong, MPI_INT, MPI_OP_NULL, comm);
  TRY("iallreduce, operator", Iallreduce, in, out, kLong, MPI_INT, MPI_OP_NULL, comm, made);
  TRY("alltoall, type", Alltoall, in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm);
  TRY("comm_dup", Comm_dup, MPI_COMM_NULL, &made_comm);
  TRY("comm_create_group", Comm_create_group, comm, MPI_GROUP_NULL, kTag, &made_comm);
}

/* From rank 1 to rank 0, and twice as long as its receive. */
static struct told receive_half(int way, int alone, const int* from, int* to, int* left_over) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Message message;
  int code, index, done = 0;
  PMPI_Barrier(comm);
  if (rank == 1)
    alone ? PMPI_Send(from, kLong, MPI_INT, 0, kTag, comm) : MPI_Send(from, kLong, MPI_INT, 0, kTag, comm);
  begin_to_hear();
  if (rank != 0) return told(MPI_SUCCESS);
#define CALL(function, ...) (alone ? PMPI_##function(__VA_ARGS__) : MPI_##function(__VA_ARGS__))
  if (way == 0) {
    code = CALL(Recv, to, kLong / 2, MPI_INT, 1, kTag, comm, &status);
  } else if (way == 1) {
    CALL(Mprobe, 1, kTag, comm, &message, &status);
    code = CALL(Mrecv, to, kLong / 2, MPI_INT, &message, &status);
  } else {
    if (way < 6) {
      CALL(Irecv, to, kLong / 2, MPI_INT, 1, kTag, comm, &request);
    } else {
      CALL(Recv_init, to, kLong / 2, MPI_INT, 1, kTag, comm, &request);
      CALL(Start, &request);
    }
    if (way % 4 == 2) {
      code = CALL(Wait, &request, &status);
    } else if (way % 4 == 3) {
      code = CALL(Waitany, 1, &request, &index, &status);
    } else {
      do code = CALL(Test, &request, &done, &status);
      while (code == MPI_SUCCESS && !done);
    }
  }
  const struct told now = told(code);
  *left_over = request != MPI_REQUEST_NULL;
  if (*left_over) CALL(Request_free, &request);
  return now;
}

static void too_long(int own) {
  for (int way = 0; way < 9; ++way) {
    struct told alone = {0, 0, 0, 0};
    int left_over = 0, left_alone = 0, elsewhere_alone = 0;
    if (way == 5) continue;                /* as 4 */
    for (int turn = 0; turn < 4; ++turn) { /* the last: from host memory to a GPU's */
      char what[64];
      snprintf(what, sizeof what, "too long a message, way %d", way);
      struct told now = receive_half(way, turn == 0, turn == 2 ? mine : here, turn >= 2 ? theirs : there, &left_over);
      /* With MPICH alone MPI_COMM_SELF's handler hears of some, and success is returned where a handler was told. */
      if (turn == 0) elsewhere_alone = now.elsewhere;
#if MPI_VERSION != 4 || MPI_SUBVERSION != 0 /* MPICH 4.0's MPI_Test has it hear of all */
      check(now.elsewhere <= elsewhere_alone, what, now.elsewhere);
#endif
      if (own) now.heard += now.elsewhere;
      if (own || elsewhere_alone) now.class = 0;
      if (!own) now.last = 0;
      now.elsewhere = 0;
      if (turn == 0)
        alone = now, left_alone = left_over;
      else
        compare(what, turn, alone, now);
      check(left_over >= left_alone, what, turn); /* Open MPI 4.1 alone frees those that have failed */
    }
  }
}

/* Legal or refused, as the MPI will have it: no elements of no type. */
static void nothing(void) {
  const MPI_Datatype type = MPI_DATATYPE_NULL;
  TRY("no type, sendrecv", Sendrecv, in, 0, type, right, kTag, out, 0, type, left, kTag, comm, stated);
#if MPI_VERSION != 4 || MPI_SUBVERSION != 0 /* of which MPICH has an assertion that fails */
  TRY("no type, bcast", Bcast, out, 0, type, 0, comm);
#endif
  TRY("no type, alltoallw", Alltoallw, in, counts, places, none, out, counts, places, none, comm);
  struct told alone = {0, 0, 0, 0};
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Request two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int *const in = turn == 2 ? mine : here, *const out = turn == 2 ? theirs : there;
    begin_to_hear();
    const int received = turn == 0 ? PMPI_Irecv(out, 0, type, left, kTag, comm, &two[0])
                                   : MPI_Irecv(out, 0, type, left, kTag, comm, &two[0]);
    const int sent = turn == 0 ? PMPI_Isend(in, 0, type, right, kTag, comm, &two[1])
                               : MPI_Isend(in, 0, type, right, kTag, comm, &two[1]);
    const struct told now = told(received != MPI_SUCCESS ? received : sent);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    if (turn == 0)
      alone = now;
    else
      compare("no type, isend and irecv", turn, alone, now);
  }
}

static void check_empty(const MPI_Status* status, const char* what) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  check(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0, what, count);
}

static void idle(void) {
  MPI_Request some[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  int index = 0, done = 0, indices[3];
  MPI_Recv_init(theirs, kLong, MPI_INT, left, kTag, comm, &some[0]);
  MPI_Recv_init(there, kLong, MPI_INT, left, kTag, comm, &some[1]);
  memset(statuses, 0x77, sizeof statuses);
  check(MPI_Waitany(3, some, &index, statuses) == MPI_SUCCESS && index == MPI_UNDEFINED, "waitany of none", index);
  check_empty(statuses, "waitany of none");
  memset(statuses, 0x77, sizeof statuses);
  check(MPI_Testany(3, some, &index, &done, statuses) == MPI_SUCCESS && done && index == MPI_UNDEFINED,
        "testany of none", index);
  check_empty(statuses, "testany of none");
  memset(statuses, 0x77, sizeof statuses);
  MPI_Waitall(3, some, statuses);
  for (int i = 0; i < 3; ++i) check_empty(statuses + i, "waitall of none");
  memset(statuses, 0x77, sizeof statuses);
  MPI_Testall(3, some, &done, statuses);
  for (int i = 0; i < 3; ++i) check_empty(statuses + i, "testall of none");
  MPI_Waitsome(3, some, &done, indices, statuses);
  check(done == MPI_UNDEFINED, "waitsome of none", done);
  for (int i = 0; i < 2; ++i) {
    memset(statuses, 0x77, sizeof statuses);
    MPI_Wait(&some[i], statuses);
    check_empty(statuses, "wait for one that is not active");
    MPI_Request_free(&some[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Comm other;
  begin(&argc, &argv);
  mine = on_gpu(2 * kLong * sizeof(int));
  theirs = on_gpu(2 * kLong * sizeof(int));
  memset(mine, 1, 2 * kLong * sizeof(int));
  for (int i = 0; i < 64; ++i) none[i] = MPI_DATATYPE_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  /* Each knows that the others use a GPU. */
  MPI_Sendrecv(mine, kLong, MPI_INT, right, kTag, theirs, kLong, MPI_INT, left, kTag, other, MPI_STATUS_IGNORE);
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  for (int own = 0; own < 2; ++own)
    for (int busy = 0; busy < 2; ++busy) {
      MPI_Request open = MPI_REQUEST_NULL;
      MPI_Comm_set_errhandler(comm, own ? handler : MPI_ERRORS_RETURN);
      if (busy) MPI_Irecv(theirs + kLong, kLong, MPI_INT, left, kTag, other, &open);
      MPI_Barrier(other);
      refused();
      too_long(own);
      nothing();
      begin_to_hear();
      idle();
      check(heard + heard_elsewhere == 0, "errors of what is none", heard);
      if (busy) MPI_Send(mine, kLong, MPI_INT, right, kTag, other);
      MPI_Wait(&open, MPI_STATUS_IGNORE);
    }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&other);
  free_on_gpu(mine);
  free_on_gpu(theirs);
  return end();
}
