// What the preloaded library and a drop-in behind it know of each other. Plain C: the preloaded library is in every
// process of a job, also in shells and launchers, and brings nothing with it.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ABIs of MPI, in the order of sennit::shim::mpi::Flavour. */
enum sennit_front_flavour { SENNIT_FRONT_STANDARD = 0, SENNIT_FRONT_MPICH = 1, SENNIT_FRONT_OPENMPI = 2 };

typedef struct sennit_front {
  size_t entries;     /* number of entry points: a drop-in of another build has another */
  void** table;       /* where each entry point leads */
  void* const* first; /* the table as it was before, and is again once the drop-in has nothing to do */
  void* const* real;  /* the program's own definitions; null where its library has none */
  void* library;      /* the program's MPI, as dlopen() names it */
  int flavour;
  int disabled; /* SENNIT_DISABLE: the drop-in only stands in for functions that the library lacks */
} sennit_front;

/* What a drop-in exports: changes the table's entries that it wants. 0, or another number when it will not work: the
 * table is then as it was. `front` lives as long as the process. */
typedef int sennit_attach_function(const sennit_front* front);
#define SENNIT_ATTACH_MPI "sennit_attach_mpi"

/* The same for NCCL. The program's calls go by the table once the drop-in has attached; until then they wait. So a
 * library whose constructor calls NCCL, while another thread's first call attaches, waits with the loader's lock held
 * for what needs that lock: NCCL is not to be called there. */
typedef struct sennit_nccl_front {
  size_t entries;
  void** table;
  void* const* real;
  void* library; /* the program's NCCL, as dlopen() names it */
} sennit_nccl_front;
typedef int sennit_attach_nccl_function(const sennit_nccl_front* front);
#define SENNIT_ATTACH_NCCL "sennit_attach_nccl"

/* For tests: memory that counts as that of GPU `device` under SENNIT_EMULATE. The preloaded library exports both, and
 * so does the drop-in. Null where nothing is emulated. */
void* sennit_emulated_allocate(int device, size_t bytes);
void sennit_emulated_free(void* data);
/* For tests: whose such memory is, whether allocated so or by the drop-in for MPI itself, which exports it too; -1
 * for any other pointer. */
int sennit_emulated_holder(const void* pointer);

#ifdef __cplusplus
}
#endif
