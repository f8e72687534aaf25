/* Messages of few bytes, many under way at once: they are announced by the same few lengths, and every probe tells
 * how long the next one is. test_c_programs.py compiles it for each MPI.
 *
 *   c_short_messages window    64 messages of 1 KiB both ways, for the report
 *   c_short_messages mixed     of several lengths, tags and communicators, received in any order, by each kind of
 * call c_short_messages threads   taken by matched probes of several threads, from several threads
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "c_ranks.h"

enum {
  kShort = 256, /* ints: 1 KiB */
  kWindow = 64,
  kLongest = 3000,
  kTags = 3,
  kCommunicators = 3, /* the world, another of the same ranks, and the ranks the other way round */
  kReversed = 2,
  kMost = 2000, /* messages */
  kStreams = 8 / kLess,
  kBursts = 8 / kLess,
  kBurst = 200,
  kAhead = 8, /* only the next ones are asked for, so that they are under way */
  kOpen = 8,  /* receives, and matched messages */
  kThreads = 4,
  kOfThread = 150
};

static int* fill(int* numbers, int length, int value) {
  for (int i = 0; i < length; ++i) numbers[i] = value;
  return numbers;
}

static void window(void) {
  MPI_Request requests[2 * kWindow];
  int *mine[kWindow], *came[kWindow];
  for (int i = 0; i < kWindow; ++i) {
    mine[i] = fill(on_gpu(kShort * sizeof(int)), kShort, i + 100 * rank);
    came[i] = on_gpu(kShort * sizeof(int));
  }
  for (int i = 0; i < kWindow; ++i) MPI_Irecv(came[i], kShort, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kWindow; ++i)
    MPI_Isend(mine[i], kShort, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &requests[kWindow + i]);
  MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kWindow; ++i) {
    const int value = i + 100 * (1 - rank);
    check(came[i][0] == value && came[i][kShort - 1] == value, "a message of the window", i);
  }
}

/* ---- mixed ------------------------------------------------------------------------------------------------------
 */

struct message {
  int comm, tag, length, on_gpu, value;
  int matched; /* by a receive or a matched probe */
};
/* What is matched and has not come yet. */
struct open {
  struct message* message;
  MPI_Message probed;
  MPI_Request request;
  int *buffer, *gpu, *host;
};
static MPI_Comm comms[kCommunicators];
static int peers[kCommunicators]; /* the other rank there */
static struct message all[kMost];
static int many, first; /* of them; all before `first` are matched */
static struct open opened[kOpen];
static int open_now;

/* The same on both ranks. Host messages that are as long as announcements go in one communicator alone: see "Good to
 * know" in docs/use/mpi.md. */
static void draw(unsigned seed, int count) {
  static const int lengths[] = {256, 256, 256, 257, 260, 272, 300, 2048, 3000, 100};
  static const int alike[] = {136, 152, 168, 200, 264, 392};
  many = count;
  first = open_now = 0;
  for (int i = 0; i < count; ++i) {
    struct message* const one = &all[i];
    one->comm = rand_r(&seed) % kCommunicators;
    one->tag = rand_r(&seed) % kTags;
    one->on_gpu = rand_r(&seed) % 4 != 0;
    one->length = lengths[rand_r(&seed) % 10];
    if (!one->on_gpu && one->comm == kReversed) one->length = alike[rand_r(&seed) % 6];
    one->value = (int)(rand_r(&seed) % 100000);
    one->matched = 0;
  }
}

static void begin_to_send(const struct message* one, int* gpu, int* host, MPI_Request* request) {
  int* const data = fill(one->on_gpu ? gpu : host, one->length, one->value);
  MPI_Isend(data, one->length, MPI_INT, peers[one->comm], one->tag, comms[one->comm], request);
}

static void check_told(const struct message* one, const MPI_Status* status, const char* what) {
  int told = -1;
  MPI_Get_count(status, MPI_INT, &told);
  if (told != one->length || status->MPI_TAG != one->tag || status->MPI_SOURCE != peers[one->comm])
    give_up("%s tells %d with tag %d of message %d: %d with tag %d in communicator %d, from a %s", what, told,
            status->MPI_TAG, (int)(one - all), one->length, one->tag, one->comm, one->on_gpu ? "GPU" : "host");
}

static void check_came(const struct message* one, const int* came, const MPI_Status* status, const char* what) {
  check_told(one, status, what);
  if (came[0] != one->value || came[one->length - 1] != one->value)
    give_up("%s: %d came in message %d, which is %d", what, came[0], (int)(one - all), one->value);
}

/* Ends one of those that are open, not the oldest as a rule. */
static void complete(unsigned* seed) {
  struct open* const one = &opened[rand_r(seed) % (unsigned)open_now];
  MPI_Status status;
  if (one->probed == MPI_MESSAGE_NULL) {
    MPI_Wait(&one->request, &status);
  } else if (rand_r(seed) % 2) {
    MPI_Mrecv(one->buffer, kLongest, MPI_INT, &one->probed, &status);
  } else {
    MPI_Imrecv(one->buffer, kLongest, MPI_INT, &one->probed, &one->request);
    MPI_Wait(&one->request, &status);
  }
  check_came(one->message, one->buffer, &status, "a request or a matched message");
  const struct open over = *one;
  *one = opened[--open_now];
  opened[open_now] = over; /* its buffers */
}

/* Asks for one of the next messages by each kind of call. */
static void step(unsigned* seed) {
  while (first < many && all[first].matched) ++first;
  const int what = (int)(rand_r(seed) % 8);
  if (open_now == kOpen || first == many || (what == 0 && open_now != 0)) {
    complete(seed);
    return;
  }
  /* With any tag it is the first of its communicator, else the first with its tag there. */
  const int any_tag = rand_r(seed) % 2, any_source = rand_r(seed) % 2;
  const struct message* const like = &all[first + (int)(rand_r(seed) % kAhead) % (many - first)];
  if (like->matched) return;
  struct message* one = &all[first];
  while (one->matched || one->comm != like->comm || (!any_tag && one->tag != like->tag)) ++one;
  const MPI_Comm comm = comms[one->comm];
  const int source = any_source ? MPI_ANY_SOURCE : peers[one->comm], tag = any_tag ? MPI_ANY_TAG : one->tag;
  struct open* const place = &opened[open_now];
  MPI_Status status;
  int flag = 0;
  place->message = one;
  place->buffer = rand_r(seed) % 2 ? place->gpu : place->host;
  place->probed = MPI_MESSAGE_NULL;
  if (what < 3) {
    if (what == 2) MPI_Probe(source, tag, comm, &status);
    while (what < 2 && !flag) MPI_Iprobe(source, tag, comm, &flag, &status);
    check_told(one, &status, "a probe");
    return;
  }
  one->matched = 1;
  if (what == 3) {
    MPI_Recv(place->buffer, kLongest, MPI_INT, source, tag, comm, &status);
    check_came(one, place->buffer, &status, "a receive");
    return;
  }
  ++open_now;
  if (what < 6) {
    MPI_Irecv(place->buffer, kLongest, MPI_INT, source, tag, comm, &place->request);
    return;
  }
  if (what == 6) MPI_Mprobe(source, tag, comm, &place->probed, &status);
  while (what == 7 && !flag) MPI_Improbe(source, tag, comm, &flag, &place->probed, &status);
  check_told(one, &status, "a matched probe");
}

static int is_over(void) {
  return first == many && open_now == 0;
}

static void mixed(void) {
  static MPI_Request requests[kBurst];
  static int *gpu[kBurst], *host[kBurst];
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[kReversed]);
  peers[0] = peers[1] = 1 - rank;
  peers[kReversed] = rank;
  for (int i = 0; i < kBurst; ++i) {
    gpu[i] = on_gpu(kLongest * sizeof(int));
    host[i] = malloc(kLongest * sizeof(int));
  }
  for (int i = 0; i < kOpen; ++i) {
    opened[i].gpu = on_gpu(kLongest * sizeof(int));
    opened[i].host = malloc(kLongest * sizeof(int));
  }
  /* One rank sends, as many at once as its window has, and the other receives. */
  for (int stream = 0; stream < kStreams; ++stream) {
    unsigned seed = (unsigned)(1000 * stream + rank);
    draw((unsigned)stream, kMost);
    if (stream % 2 != rank) {
      while (!is_over()) step(&seed);
      continue;
    }
    for (int i = 0; i < kMost; ++i) {
      int place = i;
      if (i >= kWindow) MPI_Waitany(kWindow, requests, &place, MPI_STATUS_IGNORE);
      begin_to_send(&all[i], gpu[place], host[place], &requests[place]);
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  }
  /* All at once, both ways, and more than can be announced. */
  for (int burst = 0; burst < kBursts; ++burst) {
    unsigned seed = (unsigned)(100 * burst + rank);
    draw((unsigned)(20 * burst + rank), kBurst);
    for (int i = 0; i < kBurst; ++i) begin_to_send(&all[i], gpu[i], host[i], &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    draw((unsigned)(20 * burst + 1 - rank), kBurst);
    while (!is_over()) step(&seed);
    MPI_Waitall(kBurst, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[kReversed]);
}

/* ---- threads ----------------------------------------------------------------------------------------------------
 */

static const int of_threads[] = {256, 256, 260, 900};

/* All have one tag: each says how long it is. */
static void* sends(void* number) {
  unsigned seed = (unsigned)(size_t)number;
  MPI_Request requests[16];
  int* gpu[16];
  for (int i = 0; i < 16; ++i) gpu[i] = on_gpu(kLongest * sizeof(int));
  for (int i = 0; i < kOfThread; ++i) {
    int place = i;
    const int length = of_threads[rand_r(&seed) % 4];
    if (i >= 16) MPI_Waitany(16, requests, &place, MPI_STATUS_IGNORE);
    MPI_Isend(fill(gpu[place], length, length), length, MPI_INT, 1, 7, comms[i % 2], &requests[place]);
  }
  MPI_Waitall(16, requests, MPI_STATUSES_IGNORE);
  return NULL;
}

static void* takes(void* number) {
  unsigned seed = (unsigned)(size_t)number;
  int* const gpu = on_gpu(kLongest * sizeof(int));
  MPI_Message held[2];
  MPI_Status status;
  for (int i = 0; i < kOfThread; i += 2) {
    int told[2], oldest = (int)(rand_r(&seed) % 2);
    for (int k = 0; k < 2; ++k) {
      MPI_Mprobe(MPI_ANY_SOURCE, 7, comms[k], &held[k], &status);
      MPI_Get_count(&status, MPI_INT, &told[k]);
    }
    for (int k = 0; k < 2; ++k) {
      const int which = oldest ? k : 1 - k;
      MPI_Mrecv(gpu, kLongest, MPI_INT, &held[which], &status);
      if (gpu[0] != told[which] || gpu[told[which] - 1] != told[which])
        give_up("a message of %d was told as long as %d", gpu[0], told[which]);
    }
  }
  return NULL;
}

static void threads(void) {
  pthread_t some[kThreads];
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  for (size_t i = 0; i < kThreads; ++i)
    if (pthread_create(&some[i], NULL, rank == 0 ? &sends : &takes, (void*)(i + 1)) != 0) abort();
  for (int i = 0; i < kThreads; ++i) pthread_join(some[i], NULL);
  MPI_Comm_free(&comms[1]);
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  know_ranks();
  if (provided < MPI_THREAD_MULTIPLE && strcmp(what, "threads") == 0) {
    if (rank == 0) fputs("no such threads\n", stdout);
    MPI_Finalize();
    return 0;
  }
  /* From here on both processes are known to use a GPU. */
  int* const gpu = fill(on_gpu(1000 * sizeof(int)), 1000, rank);
  MPI_Sendrecv_replace(gpu, 1000, MPI_INT, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "window") == 0) window();
  if (strcmp(what, "mixed") == 0) mixed();
  if (strcmp(what, "threads") == 0) threads();
  return end();
}
