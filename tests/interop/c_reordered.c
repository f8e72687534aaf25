/* Topologies whose ranks MPI may reorder: SENNIT_REORDER=1 brings those together that talk with each other. The nodes
 * are SENNIT_NODE's, by the parity of the rank: so the order as it is has every neighbour of a line on the other
 * node. With the argument "plain" it is to stay so. What MPI says of the new communicators is compared with what the
 * program asked for, rank by rank. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kMost = 16 };
static int plain;        /* nobody reorders */
static int order[kMost]; /* of the communicator at hand: the rank that each process had before, by its new one */

static void wrong(const char* what) {
  give_up("%s", what);
}

static int know(MPI_Comm comm, int members) {
  int now, size, compared;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &now);
  if (size != members) wrong("another number of ranks");
  MPI_Allgather(&rank, 1, MPI_INT, order, 1, MPI_INT, comm);
  if (order[now] != rank) wrong("its rank is another process's");
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &compared);
  if (members == ranks && compared != MPI_SIMILAR && compared != MPI_CONGRUENT) wrong("other processes");
  return now;
}

/* How many of these pairs are on different nodes. */
static int apart(int pairs, const int (*pair)[2]) {
  int count = 0;
  for (int i = 0; i < pairs; ++i) count += order[pair[i][0]] % 2 != order[pair[i][1]] % 2;
  return count;
}

static void grids(void) {
  const int line[1] = {ranks}, open[1] = {0};
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, line, open, 1, &comm);
  const int now = know(comm, ranks);
  int kind, at, below, above;
  MPI_Topo_test(comm, &kind);
  if (kind != MPI_CART) wrong("no grid");
  MPI_Cart_coords(comm, now, 1, &at);
  MPI_Cart_shift(comm, 0, 1, &below, &above);
  if (at != now || below != (now == 0 ? MPI_PROC_NULL : now - 1) ||
      above != (now == ranks - 1 ? MPI_PROC_NULL : now + 1))
    wrong("other coordinates or neighbours");
  int pairs[kMost][2];
  for (int i = 0; i + 1 < ranks; ++i) pairs[i][0] = i, pairs[i][1] = i + 1;
  if (apart(ranks - 1, pairs) != (plain ? ranks - 1 : 1)) wrong("a line that is cut more often, or less");
  /* Who sends by the new ranks reaches its neighbour. */
  int sent = now, got = -1;
  MPI_Sendrecv(&sent, 1, MPI_INT, above, 1, &got, 1, MPI_INT, below, 1, comm, MPI_STATUS_IGNORE);
  if (below != MPI_PROC_NULL && got != below) wrong("a message of another neighbour");
  MPI_Comm_free(&comm);

  MPI_Cart_create(MPI_COMM_WORLD, 1, line, open, 0, &comm);
  if (know(comm, ranks) != rank) wrong("reordered, and that was not allowed");
  MPI_Comm_free(&comm);

  const int few[1] = {ranks - 1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, few, open, 1, &comm);
  int left_out = comm == MPI_COMM_NULL, all = 0;
  MPI_Allreduce(&left_out, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (all != 1) wrong("a grid of one rank less leaves not one rank out");
  if (!left_out) {
    know(comm, ranks - 1);
    MPI_Comm_free(&comm);
  }
}

static void graph(void) {
  /* Pairs of neighbours, each on two nodes as it is. */
  int index[kMost], edges[kMost], pairs[kMost][2];
  for (int i = 0; i < ranks; ++i) {
    index[i] = i + 1;
    edges[i] = i ^ 1;
    pairs[i / 2][0] = i & ~1, pairs[i / 2][1] = i | 1;
  }
  MPI_Comm comm;
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 1, &comm);
  const int now = know(comm, ranks);
  int count, neighbour;
  MPI_Graph_neighbors_count(comm, now, &count);
  MPI_Graph_neighbors(comm, now, 1, &neighbour);
  if (count != 1 || neighbour != (now ^ 1)) wrong("another neighbour in the graph");
  if (!plain && apart(ranks / 2, pairs) != 0) wrong("a pair of the graph that is apart");
  MPI_Comm_free(&comm);
}

/* The heavy neighbour of each rank is the one beside it in its pair; light ones are in a ring. */
static int neighbours_of(int of, int* list, int* weights) {
  list[0] = of ^ 1, weights[0] = 100;
  list[1] = (of + 1) % ranks, weights[1] = 1;
  return 2;
}

static void check_distributed(MPI_Comm comm, int weighted) {
  const int now = know(comm, ranks);
  int in, out, said, sources[kMost], from[kMost], destinations[kMost], to[kMost], list[2], weights[2];
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &said);
  if (in != 2 || out != 2 || said != weighted) wrong("another number of neighbours, or weights");
  MPI_Dist_graph_neighbors(comm, 2, sources, weighted ? from : MPI_UNWEIGHTED, 2, destinations,
                           weighted ? to : MPI_UNWEIGHTED);
  neighbours_of(now, list, weights);
  /* MPI keeps the order that MPI_Dist_graph_create_adjacent was given alone. */
  for (int i = 0; i < 2; ++i) {
    const int found = destinations[0] == list[i] ? 0 : 1;
    if (destinations[found] != list[i] || (list[0] != list[1] && weighted && to[found] != weights[i]))
      wrong("another destination");
  }
  const int before = (now + ranks - 1) % ranks, partner = now ^ 1;
  if (!((sources[0] == partner && sources[1] == before) || (sources[0] == before && sources[1] == partner)))
    wrong("another source");
  int pairs[kMost][2];
  for (int i = 0; i < ranks; i += 2) pairs[i / 2][0] = i, pairs[i / 2][1] = i + 1;
  if (!plain && weighted && apart(ranks / 2, pairs) != 0) wrong("a heavy pair that is apart");
  int sent = now, got[2] = {-1, -1};
  MPI_Neighbor_allgather(&sent, 1, MPI_INT, got, 1, MPI_INT, comm);
  if (got[0] != sources[0] || got[1] != sources[1]) wrong("what a neighbour did not send");
}

static void distributed(int weighted) {
  int list[2], weights[2];
  MPI_Comm comm;
  neighbours_of(rank, list, weights);
  const int sources[2] = {rank ^ 1, (rank + ranks - 1) % ranks}, from[2] = {100, 1};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weighted ? from : MPI_UNWEIGHTED, 2, list,
                                 weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
  check_distributed(comm, weighted);
  MPI_Comm_free(&comm);

  /* Each rank tells of another one's edges. */
  const int of = (rank + 1) % ranks, degree = 2;
  neighbours_of(of, list, weights);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &of, &degree, list, weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 1,
                        &comm);
  check_distributed(comm, weighted);
  MPI_Comm_free(&comm);
}

/* A graph in which only some ranks have neighbours, and those of others have no weights to give. */
static void some(void) {
  const int partner = rank < 2 ? 1 - rank : 0, weight = 5, has = rank < 2;
  const int* const none = MPI_WEIGHTS_EMPTY;
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, has, &partner, has ? &weight : none, has, &partner,
                                 has ? &weight : none, MPI_INFO_NULL, 1, &comm);
  const int now = know(comm, ranks);
  int in, out, weighted;
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  if (in != (now < 2) || out != (now < 2)) wrong("neighbours of ranks that have none");
  const int pair[1][2] = {{0, 1}};
  if (!plain && apart(1, pair) != 0) wrong("the only pair is apart");
  MPI_Comm_free(&comm);
}

/* A communicator inherits the handler of the one that it was made of, however many were in between. */
static int heard;
static void hear(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++heard;
}
static void handlers(void) {
  MPI_Errhandler handler;
  MPI_Comm own, comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(own, handler);
  const int line[1] = {ranks}, open[1] = {0};
  MPI_Cart_create(own, 1, line, open, 1, &comm);
  MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  if (heard != 1) wrong("another error handler");
  /* What is no grid is told as the MPI tells it. */
  const int large[1] = {ranks + 1};
  MPI_Comm none = MPI_COMM_NULL;
  MPI_Cart_create(own, 1, large, open, 1, &none);
  if (heard != 2) wrong("no error of a grid that is too large");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&own);
}

int main(int argc, char** argv) {
  /* Before MPI begins: the drop-in reads it then. */
  const char* const names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"};
  for (int i = 0; i < 3; ++i) {
    const char* const number = getenv(names[i]);
    if (number != NULL) setenv("SENNIT_NODE", atoi(number) % 2 == 0 ? "even" : "odd", 1);
  }
  begin(&argc, &argv);
  plain = argc > 1 && strcmp(argv[1], "plain") == 0;
  grids();
  graph();
  distributed(1);
  distributed(0);
  some();
  handlers();
  return end();
}
