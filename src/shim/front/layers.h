// The layers that a call passes: the observer's function, where one stands there, then the drop-in's or the
// library's. Entry points jump by one table (entries.S), so that a layer which is not there costs nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layers of MPI, or of NCCL. */
typedef struct sennit_layers {
  size_t count;
  void** entries;   /* what the entry points jump by; stubs at first */
  void** behind;    /* the drop-in's functions, else the library's: null where neither has one, and the stub stays */
  void** observers; /* null where the observer does not stand */
  bool open;        /* entry points follow the layers */
} sennit_layers;

/* Sets the function behind the observer, or the observer's own. Both are thread-safe: a call that comes meanwhile
 * goes one way or the other. */
__attribute__((visibility("hidden"))) void sennit_layers_lead(sennit_layers* layers, size_t entry, void* function);
__attribute__((visibility("hidden"))) void sennit_layers_observe(sennit_layers* layers, size_t entry, void* function);
__attribute__((visibility("hidden"))) void sennit_layers_open(sennit_layers* layers);

#ifdef __cplusplus
}
#endif
