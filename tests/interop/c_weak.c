/* A program that uses an MPI if there is one, and is linked with none: test_loading.py. */
#include <stdio.h>

extern int MPI_Init(int*, char***) __attribute__((weak));
extern int MPI_Finalize(void) __attribute__((weak));

int main(int argc, char** argv) {
  if (MPI_Init == NULL)
    puts("no MPI");
  else
    puts(MPI_Init(&argc, &argv) != 0 ? "MPI does not begin" : "MPI has begun");
  if (MPI_Finalize != NULL) MPI_Finalize();
  return 0;
}
