#include "shim/front/layers.h"

#include <pthread.h>

/* The drop-in and the observer change their layers at any time, on whatever thread. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static void store(void** place, void* function) {
  __atomic_store_n(place, function, __ATOMIC_RELEASE);
}

static void follow(sennit_layers* layers, size_t entry) {
  void* const behind = layers->behind[entry];
  void* const observer = layers->observers[entry];
  if (layers->open && behind != NULL) store(&layers->entries[entry], observer != NULL ? observer : behind);
}

static void change(sennit_layers* layers, void** layer, size_t entry, void* function) {
  if (entry >= layers->count) return;
  pthread_mutex_lock(&changing);
  store(&layer[entry], function);
  follow(layers, entry);
  pthread_mutex_unlock(&changing);
}

void sennit_layers_lead(sennit_layers* layers, size_t entry, void* function) {
  change(layers, layers->behind, entry, function);
}

void sennit_layers_observe(sennit_layers* layers, size_t entry, void* function) {
  change(layers, layers->observers, entry, function);
}

void sennit_layers_open(sennit_layers* layers) {
  pthread_mutex_lock(&changing);
  layers->open = true;
  for (size_t entry = 0; entry < layers->count; ++entry) follow(layers, entry);
  pthread_mutex_unlock(&changing);
}
