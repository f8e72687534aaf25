/* Profiler plug-ins in the tests' NCCL, as the real one loads them: the newest version that both know,
 * FAKE_NCCL_PROFILER at most. Events are collectives and messages, and their group, which is told of once. */
#define _GNU_SOURCE
#include "fake_nccl.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kGroup = 1, kCollective = 2, kMessage = 4 };

struct plugin {
  const char* name;
  void* init;
  int (*start)(void* context, void** event, void* descriptor);
  int (*stop)(void* event);
  int (*state)(void* event, int state, void* arguments);
  int (*finalize)(void* context);
};

/* profiler_v5.h and profiler_v6.h; profiler_v4.h has a type of one byte, and no group at the end. */
struct event {
  uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      uint64_t number;
      const char* func;
      const void* in;
      void* out;
      size_t count;
      int root;
      const char* type;
      uint8_t channels, warps;
      const char *algorithm, *protocol;
      void* group;
    } collective;
    struct {
      const char* func;
      void* buffer;
      const char* type;
      size_t count;
      int peer;
      uint8_t channels;
      void* group;
    } message;
  };
};

static const struct plugin* plugin;
static int version;

void profiler_begin(struct ncclComm* comm) {
  const char* const name = getenv("NCCL_PROFILER_PLUGIN");
  if (name == NULL) return;
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  version = getenv("FAKE_NCCL_PROFILER") != NULL ? atoi(getenv("FAKE_NCCL_PROFILER")) : 6;
  for (plugin = NULL; library != NULL && version >= 4; --version) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    plugin = dlsym(library, symbol);
    if (plugin != NULL) break;
  }
  if (plugin == NULL) return;
  int code;
  if (version == 4) {
    int (*init)(void**, int*, const char*, uint64_t, int, int, int, void*) = NULL;
    *(const void**)&init = plugin->init;
    code = init(&comm->profiler, &comm->profiler_mask, "fake", 4711, 1, comm->size, comm->rank, NULL);
  } else {
    int (*init)(void**, uint64_t, int*, const char*, int, int, int, void*) = NULL;
    *(const void**)&init = plugin->init;
    code = init(&comm->profiler, 4711, &comm->profiler_mask, "fake", 1, comm->size, comm->rank, NULL);
  }
  note("Profiler v%d mask %d", version, comm->profiler_mask);
  if (code != 0) comm->profiler_mask = 0;
}

static void* start(struct ncclComm* comm, int mask, struct event* event) {
  void* handle = NULL;
  if ((mask & (int)event->type) == 0) return NULL;
  if (version == 4) event->type |= 0xabababababababab << 8; /* what lies behind it there */
  event->rank = comm->rank;
  plugin->start(comm->profiler, &handle, event);
  return handle;
}

void profiler_tell(struct ncclComm* comm, int mask, const char* func, const void* in, void* out, size_t count,
                   int type, int root, int together) {
  static const char* const types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                      "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  if (mask == 0) return;
  struct event group = {.type = kGroup}, event = {0};
  void* const in_group = start(comm, mask, &group);
  if (!strcmp(func, "Send") || !strcmp(func, "Recv")) {
    event.type = kMessage;
    event.message.func = func;
    event.message.buffer = !strcmp(func, "Send") ? (void*)(uintptr_t)in : out;
    event.message.type = types[type];
    event.message.count = count;
    event.message.peer = root;
    event.message.group = version > 4 ? in_group : NULL;
  } else {
    event.type = kCollective;
    event.collective.func = func;
    event.collective.in = in;
    event.collective.out = out;
    event.collective.count = count;
    event.collective.root = root;
    event.collective.type = types[type];
    event.collective.channels = together > 1 ? 4 : 8;
    event.collective.algorithm = "RING";
    event.collective.protocol = together > 1 ? "SIMPLE" : "LL128";
    if (version > 4) event.collective.group = in_group;
  }
  event.parent = version == 4 ? in_group : NULL;
  plugin->stop(start(comm, mask, &event));
  plugin->stop(in_group);
}

void profiler_end(struct ncclComm* comm) {
  if (comm->profiler != NULL) plugin->finalize(comm->profiler);
}
