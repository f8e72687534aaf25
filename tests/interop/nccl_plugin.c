/* Another profiler plug-in for NCCL, of the version that VERSION says: it counts its events, and says them at the end
 * of a communicator. Handles are its own, so that those of others are noticed. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kGroup = 1, kCollective = 2, kMagic = 0x5e441 };

struct event {
  int magic;
  unsigned long long type;
};
static int groups, collectives, others, wrong, open_events;

static int init(void** context, int* mask) {
  *mask = kGroup | kCollective;
  *context = &groups;
  return 0;
}
#if VERSION == 4
static int begin(void** context, int* mask, const char* name, uint64_t id, int nodes, int ranks, int rank,
                 void* log) {
#else
static int begin(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
                 void* log) {
#endif
  (void)name, (void)id, (void)nodes, (void)ranks, (void)rank, (void)log;
  wrong += id != 4711;
  return init(context, mask);
}

static int start(void* context, void** handle, void* descriptor) {
  struct event* const made = malloc(sizeof *made);
  const struct event* const parent = ((void**)descriptor)[1];
  made->magic = kMagic;
  made->type = VERSION == 4 ? *(uint8_t*)descriptor : *(uint64_t*)descriptor;
  wrong += context != (void*)&groups;
  if (made->type == kGroup) {
    ++groups;
  } else if (made->type == kCollective) {
    ++collectives;
    if (VERSION == 4) wrong += parent == NULL || parent->magic != kMagic || parent->type != kGroup;
  } else {
    ++others;
  }
  ++open_events;
  *handle = made;
  return 0;
}
static int stop(void* handle) {
  struct event* const event = handle;
  if (event == NULL || event->magic != kMagic) {
    ++wrong;
    return 0;
  }
  --open_events;
  free(event);
  return 0;
}
static int state(void* handle, int number, void* arguments) {
  (void)handle, (void)number, (void)arguments;
  ++wrong;
  return 0;
}
static int finalize(void* context) {
  wrong += context != (void*)&groups || open_events != 0;
  fprintf(stderr, "plug-in: groups %d collectives %d others %d wrong %d\n", groups, collectives, others, wrong);
  return 0;
}

#define NAMED(version) ncclProfiler_v##version
#define PLUGIN(version) NAMED(version)
const struct {
  const char* name;
  void *init, *start, *stop, *state, *finalize;
} PLUGIN(VERSION) = {"another", (void*)&begin, (void*)&start, (void*)&stop, (void*)&state, (void*)&finalize};
