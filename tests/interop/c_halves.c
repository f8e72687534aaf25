/* What holds memory between two calls, with GPU memory: collective operations on a file that begin and end, and the
 * buffer of buffered sends. argv[1]: a file to write. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kLength = 10000 };

static int *mine, *theirs;

static void check_all(const int* values, int value, const char* what) {
  for (int i = 0; i < kLength; ++i)
    if (values[i] != value) check(0, what, values[i]);
}

static void files(const char* name) {
  MPI_File file;
  MPI_Status status;
  int count = 0;
  const MPI_Offset bytes = kLength * sizeof(int);
  for (int i = 0; i < kLength; ++i) mine[i] = rank + 1, theirs[i] = -1;
  if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    give_up("no file %s", name);
  MPI_File_set_view(file, rank * bytes, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_all_begin(file, mine, kLength, MPI_INT);
  MPI_File_write_all_end(file, mine, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  check(count == kLength, "what was written", count);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_view(file, right * bytes, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_read_at_all_begin(file, 0, theirs, kLength, MPI_INT);
  MPI_File_read_at_all_end(file, theirs, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  check(count == kLength, "what was read", count);
  check_all(theirs, right + 1, "what is read");
  for (int i = 0; i < kLength; ++i) theirs[i] = -1;
  MPI_File_set_view(file, left * bytes, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_read_all_begin(file, theirs, kLength, MPI_INT);
  MPI_File_read_all_end(file, theirs, MPI_STATUS_IGNORE);
  check_all(theirs, left + 1, "what is read without a status");
  MPI_File_close(&file);
}

static void buffered(void) {
  const int bytes = kLength * sizeof(int) + MPI_BSEND_OVERHEAD;
  char* const buffer = on_gpu((size_t)bytes);
  void* detached = NULL;
  int size = 0;
  memset(buffer, 7, (size_t)bytes);
  for (int i = 0; i < kLength; ++i) mine[i] = rank + 1, theirs[i] = -1;
  MPI_Buffer_attach(buffer, bytes);
  MPI_Bsend(mine, kLength, MPI_INT, right, 1, MPI_COMM_WORLD);
  MPI_Recv(theirs, kLength, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&detached, &size);
  check(detached == buffer && size == bytes, "the buffer that is detached, of so many bytes", size);
  check_all(theirs, left + 1, "what was sent by a buffer");
  /* Without the drop-in it is the host's, and the MPI's to write. */
  for (int i = 0; i < bytes && getenv("SENNIT_EMULATE") != NULL; ++i)
    check(buffer[i] == 7, "a byte of GPU memory that was attached", i);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  mine = on_gpu(kLength * sizeof(int));
  theirs = on_gpu(kLength * sizeof(int));
  if (argc > 1) files(argv[1]);
  buffered();
  return end();
}
