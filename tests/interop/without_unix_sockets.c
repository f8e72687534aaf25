/* Preloaded: a process that can make no Unix sockets, as one that has too many files open. */
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol) {
  if (domain == AF_UNIX) {
    errno = EMFILE;
    return -1;
  }
  int (*const real)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  return real(domain, type, protocol);
}
