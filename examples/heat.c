/* Heat in a plate: Jacobi's method on a grid that the ranks divide in both directions, each with its part in GPU
 * memory. In every step neighbours exchange the edges of their parts, rows as they lie and columns as a vector type,
 * while the cells behind them are computed; at times all ranks learn by how much the field still changes. Every
 * buffer that MPI gets is in GPU memory: the MPI has to take such buffers, or `sennit run` does.
 *
 *   nvcc -x cu -ccbin mpicxx -o heat heat.c                         on GPUs
 *   mpicc -O2 -o heat heat.c -ldl                                   without: in host memory, or in SENNIT_EMULATE's
 *   sennit run -- mpirun -n 4 ./heat [rows columns steps [file]]    the file gets the field, in doubles
 */
#ifndef _GNU_SOURCE /* nvcc defines it */
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This rank's cells, with an edge of one cell around them that is its neighbours', or the plate's. */
struct part {
  int rows, columns;           /* its own cells */
  int first_row, first_column; /* in the plate */
};

/* Cells from row and column 1 on are the part's own; 0 and rows + 1 are the edge. */
struct rectangle {
  int row, column, rows, columns;
};

#ifdef __CUDACC__
#define ON_GPU __host__ __device__
#else
#define ON_GPU
#endif

ON_GPU static size_t at(struct part part, int row, int column) {
  return (size_t)row * (size_t)(part.columns + 2) + (size_t)column;
}

/* One cell of the next step. By how much it changes. */
ON_GPU static double relax(struct part part, const double* now, double* next, int row, int column) {
  const size_t here = at(part, row, column);
  const size_t above = at(part, row - 1, column), below = at(part, row + 1, column);
  next[here] = 0.25 * (now[above] + now[below] + now[here - 1] + now[here + 1]);
  return fabs(next[here] - now[here]);
}

/* ---- memory of a GPU, and work on it -----------------------------------------------------------------------------
 */

#ifdef __CUDACC__

static void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void use_gpu(int number) {
  int gpus = 0;
  must(cudaGetDeviceCount(&gpus));
  must(cudaSetDevice(number % gpus));
}

static double* allocate(size_t count) {
  void* made = NULL;
  must(cudaMalloc(&made, count * sizeof(double)));
  return (double*)made;
}

static void copy(double* to, const double* from, size_t count) {
  must(cudaMemcpy(to, from, count * sizeof(double), cudaMemcpyDefault));
}

static void synchronize(void) {
  must(cudaDeviceSynchronize());
}

/* What is not negative is ordered as its bits are. */
__global__ static void relax_all(struct part part, struct rectangle cells, const double* now, double* next,
                                 unsigned long long* change) {
  const int column = (int)(blockIdx.x * blockDim.x + threadIdx.x), row = (int)(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= cells.rows || column >= cells.columns) return;
  const double by = relax(part, now, next, cells.row + row, cells.column + column);
  if (change != NULL) atomicMax(change, (unsigned long long)__double_as_longlong(by));
}

static void sweep(struct part part, struct rectangle cells, const double* now, double* next, double* change) {
  if (cells.rows <= 0 || cells.columns <= 0) return;
  const dim3 threads(32, 8);
  const dim3 blocks((unsigned)(cells.columns + 31) / 32, (unsigned)(cells.rows + 7) / 8);
  relax_all<<<blocks, threads>>>(part, cells, now, next, (unsigned long long*)change);
  must(cudaGetLastError());
}

#else

static int gpu;

static void use_gpu(int number) {
  gpu = number;
}

/* Under SENNIT_EMULATE=1 the drop-in takes some of the host's memory for a GPU's. */
static double* allocate(size_t count) {
  void* (*emulated)(int, size_t) = NULL;
  *(void**)&emulated = dlsym(RTLD_DEFAULT, "sennit_emulated_allocate");
  void* made = emulated != NULL ? emulated(gpu, count * sizeof(double)) : NULL;
  if (emulated != NULL && made == NULL) made = emulated(0, count * sizeof(double)); /* there are fewer */
  if (made == NULL) made = malloc(count * sizeof(double));
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return (double*)made;
}

static void copy(double* to, const double* from, size_t count) {
  memcpy(to, from, count * sizeof(double));
}

static void synchronize(void) {}

static void sweep(struct part part, struct rectangle cells, const double* now, double* next, double* change) {
  for (int row = cells.row; row < cells.row + cells.rows; ++row)
    for (int column = cells.column; column < cells.column + cells.columns; ++column) {
      const double by = relax(part, now, next, row, column);
      if (change != NULL && by > *change) *change = by;
    }
}

#endif

/* ---- the plate ---------------------------------------------------------------------------------------------------
 */

/* The field at the beginning: hot at the left, warmer and warmer along the top, else cold. */
static void begin(struct part part, const int* plate, double* now, double* next) {
  const size_t cells = at(part, part.rows + 2, 0);
  double* const field = (double*)calloc(cells, sizeof(double));
  if (field == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int row = 0; row < part.rows + 2; ++row)
    for (int column = 0; column < part.columns + 2; ++column) {
      if (part.first_row + row == 0) field[at(part, row, column)] = (double)(part.first_column + column) / plate[1];
      if (part.first_column + column == 0) field[at(part, row, column)] = 1.0;
    }
  copy(now, field, cells);
  copy(next, field, cells);
  free(field);
}

/* Sends and receives of all four edges. */
static void exchange(struct part part, double* now, const int* beside, MPI_Datatype column, MPI_Comm plate,
                     MPI_Request* requests) {
  const int up = beside[0], down = beside[1], left = beside[2], right = beside[3];
  const int rows = part.rows, columns = part.columns;
  MPI_Irecv(now + at(part, 0, 1), columns, MPI_DOUBLE, up, 0, plate, &requests[0]);
  MPI_Irecv(now + at(part, rows + 1, 1), columns, MPI_DOUBLE, down, 1, plate, &requests[1]);
  MPI_Irecv(now + at(part, 1, 0), 1, column, left, 2, plate, &requests[2]);
  MPI_Irecv(now + at(part, 1, columns + 1), 1, column, right, 3, plate, &requests[3]);
  MPI_Isend(now + at(part, rows, 1), columns, MPI_DOUBLE, down, 0, plate, &requests[4]);
  MPI_Isend(now + at(part, 1, 1), columns, MPI_DOUBLE, up, 1, plate, &requests[5]);
  MPI_Isend(now + at(part, 1, columns), 1, column, right, 2, plate, &requests[6]);
  MPI_Isend(now + at(part, 1, 1), 1, column, left, 3, plate, &requests[7]);
}

/* The cells that need none of a neighbour, then those that do. */
static void sweep_inside(struct part part, const double* now, double* next, double* change) {
  sweep(part, (struct rectangle){2, 2, part.rows - 2, part.columns - 2}, now, next, change);
}

static void sweep_edges(struct part part, const double* now, double* next, double* change) {
  const int rows = part.rows, columns = part.columns;
  sweep(part, (struct rectangle){1, 1, 1, columns}, now, next, change);
  if (rows > 1) sweep(part, (struct rectangle){rows, 1, 1, columns}, now, next, change);
  sweep(part, (struct rectangle){2, 1, rows - 2, 1}, now, next, change);
  if (columns > 1) sweep(part, (struct rectangle){2, columns, rows - 2, 1}, now, next, change);
}

/* All parts' own cells, in the plate's order. */
static void write_field(const char* name, struct part part, const int* plate_cells, double* field, MPI_Comm plate) {
  const int own[2] = {part.rows, part.columns}, whole[2] = {part.rows + 2, part.columns + 2};
  const int behind_edge[2] = {1, 1}, first[2] = {part.first_row, part.first_column};
  MPI_Datatype in_memory, in_file;
  MPI_Type_create_subarray(2, whole, own, behind_edge, MPI_ORDER_C, MPI_DOUBLE, &in_memory);
  MPI_Type_create_subarray(2, plate_cells, own, first, MPI_ORDER_C, MPI_DOUBLE, &in_file);
  MPI_Type_commit(&in_memory);
  MPI_Type_commit(&in_file);
  MPI_File file;
  if (MPI_File_open(plate, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    fprintf(stderr, "%s cannot be written\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_File_set_view(file, 0, MPI_DOUBLE, in_file, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, field, 1, in_memory, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Type_free(&in_memory);
  MPI_Type_free(&in_file);
}

static int number(int count, char** arguments, int place, int otherwise) {
  const int told = count > place ? atoi(arguments[place]) : otherwise;
  return told > 0 ? told : otherwise;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int cells[2] = {number(argc, argv, 1, 1024), number(argc, argv, 2, 1024)};
  const int steps = number(argc, argv, 3, 1000), told_every = steps > 10 ? steps / 10 : 1;

  MPI_Comm node, plate;
  int rank = 0, ranks = 0, local_rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank);
  use_gpu(local_rank);

  int across[2] = {0, 0}, open[2] = {0, 0}, place[2] = {0, 0}, beside[4];
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, across);
  if (across[0] > cells[0] || across[1] > cells[1]) {
    fprintf(stderr, "%d x %d cells are too few for %d x %d ranks\n", cells[0], cells[1], across[0], across[1]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Cart_create(MPI_COMM_WORLD, 2, across, open, 0, &plate);
  MPI_Comm_rank(plate, &rank);
  MPI_Cart_coords(plate, rank, 2, place);
  MPI_Cart_shift(plate, 0, 1, &beside[0], &beside[1]);
  MPI_Cart_shift(plate, 1, 1, &beside[2], &beside[3]);

  struct part part;
  part.first_row = (int)((long long)cells[0] * place[0] / across[0]);
  part.first_column = (int)((long long)cells[1] * place[1] / across[1]);
  part.rows = (int)((long long)cells[0] * (place[0] + 1) / across[0]) - part.first_row;
  part.columns = (int)((long long)cells[1] * (place[1] + 1) / across[1]) - part.first_column;

  const size_t held = at(part, part.rows + 2, 0);
  double* now = allocate(held);
  double* next = allocate(held);
  double* const change = allocate(1);
  begin(part, cells, now, next);
  MPI_Datatype column;
  MPI_Type_vector(part.rows, 1, part.columns + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  if (rank == 0) printf("%d x %d cells on %d x %d ranks\n", cells[0], cells[1], across[0], across[1]);
  MPI_Barrier(plate);
  const double since = MPI_Wtime();
  for (int step = 1; step <= steps; ++step) {
    const int tells = step % told_every == 0 || step == steps;
    double most = 0;
    if (tells) copy(change, &most, 1);
    MPI_Request edges[8];
    exchange(part, now, beside, column, plate, edges);
    sweep_inside(part, now, next, tells ? change : NULL);
    MPI_Waitall(8, edges, MPI_STATUSES_IGNORE);
    sweep_edges(part, now, next, tells ? change : NULL);
    synchronize(); /* what is sent next, or reduced, is there */
    if (tells) {
      MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE, MPI_MAX, plate);
      copy(&most, change, 1);
      if (rank == 0) printf("step %d: cells change by %.9e at most\n", step, most);
    }
    double* const before = now;
    now = next;
    next = before;
  }
  if (rank == 0) printf("%.1f us a step\n", (MPI_Wtime() - since) * 1e6 / steps);

  if (argc > 4) write_field(argv[4], part, cells, now, plate);
  MPI_Type_free(&column);
  MPI_Comm_free(&plate);
  MPI_Comm_free(&node);
  MPI_Finalize();
  return 0;
}
