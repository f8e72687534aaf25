/* A program that opens NCCL and looks its functions up, as c_nccl RANK SIZE FOLDER TEST of one rank. */
#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

static void* library;

static void* find(const char* name) {
  void* const found = dlsym(library, name);
  if (found == NULL) abort();
  return found;
}

int main(void) {
  library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 2;
  ncclResult_t (*get_id)(ncclUniqueId*) = NULL;
  ncclResult_t (*make)(ncclComm_t*, int, ncclUniqueId, int) = NULL;
  ncclResult_t (*reduce)(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) = NULL;
  *(void**)&get_id = find("ncclGetUniqueId");
  *(void**)&make = find("ncclCommInitRank");
  *(void**)&reduce = find("ncclAllReduce");
  ncclUniqueId id;
  ncclComm_t comm;
  const int in = 5;
  int out = 0;
  if (get_id(&id) != ncclSuccess || make(&comm, 1, id, 0) != ncclSuccess) return 3;
  if (reduce(&in, &out, 1, ncclInt, ncclSum, comm, NULL) != ncclSuccess || out != 5) return 4;
  printf("all right\n");
  return 0;
}
