/* Programs of NCCL that start other processes, in which nothing is loaded but the preloaded library. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <string.h>
#include <sys/wait.h>

/* Of CUDA, whose start takes long, and of sennit. */
#define BEHIND "lib(cuda|cudart|sennit-nccl|sennit-mpi)[.]so"
static const char* const behind[] = {"libcuda.so", "libcudart.so", "libsennit-nccl.so", "libsennit-mpi.so"};

static int end_of(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) fail("a child", status);
  return WEXITSTATUS(status);
}

/* Of this process. */
static const char* loaded(void) {
  char line[4096];
  const char* found = NULL;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && found == NULL && fgets(line, sizeof line, maps) != NULL)
    for (size_t i = 0; i < sizeof behind / sizeof *behind && found == NULL; ++i)
      if (strstr(line, behind[i]) != NULL) found = behind[i];
  if (maps == NULL || fclose(maps) != 0) fail("maps", 0);
  return found;
}

/* Another program, which finds this in its own maps, or does not. */
static bool finds(const char* pattern) {
  const pid_t child = fork();
  if (child == 0) {
    execlp("grep", "grep", "-E", "-q", pattern, "/proc/self/maps", (char*)NULL);
    _exit(100);
  }
  const int code = end_of(child);
  if (code > 1) fail("grep", code);
  return code == 0;
}

static void start_another(void) {
  const char* const preloaded = getenv("LD_PRELOAD");
  expect(finds("libsennit-preload[.]so") == (preloaded != NULL && preloaded[0] != 0), "the preloaded library", 0);
  expect(!finds(BEHIND), "another program has what it does not use", 0);
}

void starting(void) {
  int version = 0;
  check(ncclGetVersion(&version), "version");
  expect(loaded() == NULL, "a program has what it does not use yet", 0);
  const pid_t child = fork();
  if (child == 0) exit(loaded() != NULL);
  expect(end_of(child) == 0, "its child has", 0);
  start_another();
  init();
  buffers();
  fill(100);
  start_another();
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "allreduce");
  end();
}
