// The preloaded library, a drop-in behind it and an observer before that know this of each other. It is plain C,
// since the preloaded library is in every process of a job, also in shells and launchers, and brings nothing with it.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ABIs of MPI have the order of sennit::shim::mpi::Flavour. */
enum sennit_front_flavour { SENNIT_FRONT_STANDARD = 0, SENNIT_FRONT_MPICH = 1, SENNIT_FRONT_OPENMPI = 2 };

/* An observer may export this too. A drop-in tells it how it does the calling thread's running call: by which plan,
 * or why it is left to the library. The last word on a call counts. */
typedef void sennit_tell_how_function(const char* how, size_t length);
#define SENNIT_OBSERVE_HOW "sennit_observe_how"

/* A drop-in for MPI is given this. Its layer is `table`: calls go on there behind an observer, if there is one. */
typedef struct sennit_front {
  size_t entries;                             /* number of entry points: a drop-in of another build has another */
  void* const* table;                         /* the drop-in's layer: at first the program's own definitions */
  void (*lead)(size_t entry, void* function); /* changes an entry of `table`, and what leads there */
  void* const* real;                          /* the program's own definitions; null where its library has none */
  void* library;                              /* the program's MPI, as dlopen() names it */
  int flavour;
  int disabled; /* SENNIT_DISABLE: the drop-in only stands in for functions that the library lacks */
  sennit_tell_how_function* tell_how; /* the observer's, or null; to be read at each call */
} sennit_front;

/* A drop-in exports this. It leads the entries that it wants to its functions, and returns 0, or another number when
 * it will not work: the table is then as it was. `front` lives as long as the process. */
typedef int sennit_attach_function(const sennit_front* front);
#define SENNIT_ATTACH_MPI "sennit_attach_mpi"

/* A drop-in for NCCL is given this. The program's calls go by its layer once it has attached; until then they wait.
 * So a library whose constructor calls NCCL, while another thread's first call attaches, waits with the loader's lock
 * held for what needs that lock: NCCL is not to be called there. */
typedef struct sennit_nccl_front {
  size_t entries;
  void (*lead)(size_t entry, void* function);
  void* const* real;
  void* library;                      /* the program's NCCL, as dlopen() names it */
  sennit_tell_how_function* tell_how; /* as of MPI's */
} sennit_nccl_front;
typedef int sennit_attach_nccl_function(const sennit_nccl_front* front);
#define SENNIT_ATTACH_NCCL "sennit_attach_nccl"

/* An observer is given this, for MPI or NCCL. It stands before the drop-in, where there is one, and before the
 * library where there is none: also under SENNIT_DISABLE, and after MPI_Finalize. It is the library that
 * SENNIT_OBSERVER names, by a path or as a file beside the preloaded library. An observer's function counts the call
 * and goes on by `next`.
 *
 * NCCL calls some of its own functions by their public names. An observer's function hands such a call to `real`: the
 * drop-in tells NCCL's calls by the return address, which is then the observer's. */
typedef struct sennit_observation {
  size_t entries;
  const char* const* names;                      /* "MPI_Send", "ncclSend" */
  void* const* next;                             /* to be read at each call: the drop-in changes it as it goes */
  void (*observe)(size_t entry, void* function); /* puts a function there, or null: calls pass by the observer */
  void* const* real;                             /* null where the library has none: observed only once `next` has */
  void* library;
  int flavour; /* of MPI */
} sennit_observation;

/* An observer exports this, for either or both. It returns 0, or another number when it will not observe. The
 * observation lives as long as the process; observe() may be called at any time, so that the observer comes and goes.
 */
typedef int sennit_observe_function(const sennit_observation* observation);
#define SENNIT_OBSERVE_MPI "sennit_observe_mpi"
#define SENNIT_OBSERVE_NCCL "sennit_observe_nccl"

/* Tests allocate memory so that counts as that of GPU `device` under SENNIT_EMULATE. The preloaded library exports
 * both, and so does the drop-in. Null where nothing is emulated. */
void* sennit_emulated_allocate(int device, size_t bytes);
void sennit_emulated_free(void* data);
/* Tests and observers ask whose such memory is, whether allocated so or by a drop-in itself, which exports it too; -1
 * for any other pointer. */
int sennit_emulated_holder(const void* pointer);

#ifdef __cplusplus
}
#endif
