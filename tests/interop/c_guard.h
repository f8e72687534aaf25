/* What the guard between the drop-in and the MPI asks before each call: guard.py writes the functions that do. A file
 * includes it once, and defines _GNU_SOURCE before. */
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

/* What is guarded: the function behind this library. */
static inline void* behind(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

static inline int is_emulated(const void* pointer) {
  static int (*holder)(const void*);
  if (holder == NULL) *(void**)&holder = dlsym(RTLD_DEFAULT, "sennit_emulated_holder");
  return holder != NULL && holder(pointer) >= 0;
}

/* Ends the process here, so that nothing else is said of it: a GPU's memory would have ended it too. */
static inline void refuse(const char* name, int argument) {
  fflush(stdout);
  fprintf(stderr, "guard: %s was given emulated memory in argument %d\n", name, argument);
  _exit(1);
}

static inline int is_inter(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  return inter;
}

static inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

static inline int at_root(int root, MPI_Comm comm) {
  return is_inter(comm) ? root == MPI_ROOT : root == rank_in(comm);
}

static inline int members(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

/* Of the other side, where there are two. */
static inline int other_ranks(MPI_Comm comm) {
  int size = 0;
  if (!is_inter(comm)) return members(comm);
  PMPI_Comm_remote_size(comm, &size);
  return size;
}

static inline void count_neighbours(MPI_Comm comm, int* sources, int* destinations) {
  int kind = MPI_UNDEFINED, weighted;
  *sources = 0;
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
    return;
  }
  if (kind == MPI_GRAPH) PMPI_Graph_neighbors_count(comm, rank_in(comm), sources);
  if (kind == MPI_CART) {
    PMPI_Cartdim_get(comm, sources);
    *sources *= 2;
  }
  *destinations = *sources;
}

static inline int sources_in(MPI_Comm comm) {
  int sources, destinations;
  count_neighbours(comm, &sources, &destinations);
  return sources;
}

static inline int destinations_in(MPI_Comm comm) {
  int sources, destinations;
  count_neighbours(comm, &sources, &destinations);
  return destinations;
}

static inline int is_address(const void* pointer) {
  return pointer != MPI_IN_PLACE; /* of MPI_BOTTOM places are addresses */
}

/* One element, whose first byte may lie far from the address that is given, which need be nobody's, and whose last
 * may lie in another memory. */
static inline int holds_one(const char* address, MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != 0 || size == 0) return 0;
  PMPI_Type_get_true_extent(type, &lower, &extent);
  return is_emulated(address + lower) || is_emulated(address + lower + extent - 1);
}

static inline int holds(const void* buffer, MPI_Count count, MPI_Datatype type) {
  return count > 0 && holds_one(buffer, type);
}

/* Number `i` of an array of ints, or of MPI's longer ones. */
static inline long long number_of(const void* numbers, size_t each, int i) {
  return each == sizeof(int) ? ((const int*)numbers)[i] : ((const MPI_Count*)numbers)[i];
}

/* As many blocks behind each other as there are counts. */
static inline int holds_all(const void* buffer, const void* counts, size_t each, int blocks, MPI_Datatype type) {
  for (int i = 0; i < blocks; ++i)
    if (number_of(counts, each, i) > 0) return holds_one(buffer, type);
  return 0;
}

/* Blocks with places of their own, in extents. */
static inline int holds_placed(const void* buffer, const void* counts, const void* places, size_t each_count,
                               size_t each_place, int blocks, MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_get_extent(type, &lower, &extent);
  for (int i = 0; i < blocks; ++i)
    if (number_of(counts, each_count, i) > 0 &&
        holds_one((const char*)buffer + number_of(places, each_place, i) * extent, type))
      return 1;
  return 0;
}

/* In bytes, each of its own type. */
static inline int holds_typed(const void* buffer, const void* counts, const void* places, size_t each_count,
                              size_t each_place, int blocks, const MPI_Datatype* types) {
  for (int i = 0; i < blocks; ++i)
    if (number_of(counts, each_count, i) > 0 &&
        holds_one((const char*)buffer + number_of(places, each_place, i), types[i]))
      return 1;
  return 0;
}
