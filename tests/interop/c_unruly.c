/* A program that does what profilers stumble over, and counts its calls of MPI_Allreduce: it becomes itself anew,
 * traps signals, forks, starts other programs, and loads and unloads libraries, MPI's own callers and the recorder
 * among them. test_profiled_ends.py looks for these calls, and for no other, in the profile. With -DPART it is the
 * library.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "c_ranks.h"

extern char** environ;
static int calls;

static void sum(void) {
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  ++calls;
}

#ifdef PART

int go(void) {
  for (int i = 0; i < 10; ++i) sum();
  return calls;
}

#else

static sigjmp_buf out;
static volatile sig_atomic_t ticks;

static void tick(int number) {
  (void)number;
  ++ticks;
}
static void leap(int number) {
  siglongjmp(out, number);
}

static int is_ours(int number, void (*handler)(int)) {
  struct sigaction now;
  sigaction(number, NULL, &now);
  return now.sa_handler == handler;
}

static void trap_signals(void) {
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int all = 0; all == 0;) { /* as many calls on each rank */
    for (int i = 0; i < 1000; ++i) sum();
    const int enough = ticks >= 3;
    MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    ++calls;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  check(is_ours(SIGALRM, tick), "the handler of SIGALRM", 0);
  for (int i = 0; i < 3; ++i) {
    if (sigsetjmp(out, 1) == 0) {
      *(volatile int*)(size_t)8 = 1;
      give_up("no fault");
    }
    sum();
  }
  check(is_ours(SIGSEGV, leap), "the handler of SIGSEGV", 0);
}

static int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void start_others(char* self) {
  char* nothing[] = {self, "nothing", NULL};
  pid_t child = fork();
  if (child == 0) { /* the parent's handlers at the exit run, too, and end none of its files */
    MPI_Send(&calls, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    exit(3);
  }
  check(status_of(child) == 3, "a child", 0);
  sum();
  if ((child = fork()) == 0) _exit(4);
  check(status_of(child) == 4, "a child that ends at once", 0);
  if ((child = fork()) == 0) {
    execv(self, nothing);
    _exit(9);
  }
  check(status_of(child) == 5, "a child that is another program", 0);
  if ((child = vfork()) == 0) {
    execv(self, nothing);
    _exit(9);
  }
  check(status_of(child) == 5, "one of vfork", 0);
  check(posix_spawn(&child, self, NULL, NULL, nothing, environ) == 0 && status_of(child) == 5, "posix_spawn", 0);
  check(system("exit 6") >> 8 == 6, "system", 0);
  sum();
}

static void load_and_unload(const char* part) {
  for (int i = 0; i < 3; ++i) {
    void* const library = dlopen(part, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) give_up("%s", dlerror());
    int (*go)(void) = NULL;
    *(void**)&go = dlsym(library, "go");
    go();
    calls += 10;
    dlclose(library);
  }
  void* const recorder = dlopen("libsennit-recorder.so", RTLD_NOW | RTLD_NOLOAD);
  check((recorder != NULL) == (getenv("SENNIT_PROFILE") != NULL), "the recorder is loaded", recorder != NULL);
  for (int i = 0; recorder != NULL && i < 2; ++i) dlclose(recorder); /* once more than it was opened here */
  sum();
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "nothing")) exit(5);
  if (argc == 2) { /* a first image, which becomes the second one */
    char* again[] = {argv[0], argv[1], "again", NULL};
    int version, subversion;
    MPI_Get_version(&version, &subversion);
    execv(argv[0], again);
    return 9;
  }
  struct sigaction ticking = {.sa_handler = tick}, leaping = {.sa_handler = leap, .sa_flags = SA_NODEFER};
  sigaction(SIGALRM, &ticking, NULL);
  sigaction(SIGSEGV, &leaping, NULL);
  begin(&argc, &argv);
  trap_signals();
  start_others(argv[0]);
  load_and_unload(argv[1]);
  const char* const folder = getenv("SENNIT_PROFILE");
  if (rank == 0 && folder != NULL && unlink(folder) == 0) /* no folder at the start, but one at the end */
    check(mkdir(folder, 0700) == 0, "a folder", 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d calls\n", calls);
  fflush(stdout);
  return end();
}

#endif
