/* sennit: one message over every path that pays. The public C API, plain C11, in one header: hence its length.
 *
 * These rules hold for every function, unless its own text says otherwise:
 *
 * - It returns SENNIT_OK, or what kind of failure there was; sennit_last_error() then tells what, where and the
 *   remedy. Out parameters are written only on success. No function ends the process or lets an exception out.
 * - Bytes are bytes, offsets count from the start of what was registered, ranks count from 0.
 * - Null, destroyed and foreign handles and null out parameters are SENNIT_INVALID_ARGUMENT, naming the parameter.
 *   A handle is a number in disguise, never an address, and none is used twice, so that this is always noticed.
 * - It may be called from any thread. *Collective* functions are called by every rank of the communicator, in the
 *   same order and one at a time; where ranks turn out to call different ones, all get SENNIT_MISMATCH.
 * - No wait lasts longer than the communicator's time limit. When a rank dies, waits of the others end with
 *   SENNIT_PEER_LOST, naming it, and so does every later call on that communicator except those that free.
 *
 * Environment variables: docs/use/environment.md. A guided tour: docs/use/api.md. */
#ifndef SENNIT_SENNIT_H
#define SENNIT_SENNIT_H

#include <stddef.h>
#include <stdint.h>

#define SENNIT_API __attribute__((visibility("default")))
#ifdef __cplusplus
#define SENNIT_NOEXCEPT noexcept
extern "C" {
#else
#define SENNIT_NOEXCEPT
#endif

/* ---- errors --------------------------------------------------------------------------------------------------- */

/* Kinds of failure. The numbers are stable. */
typedef enum sennit_result {
  SENNIT_OK = 0,
  SENNIT_INVALID_ARGUMENT = 1,  /* the caller passed something that can never work */
  SENNIT_NOT_FOUND = 2,         /* a file, device, library or peer that should exist does not */
  SENNIT_UNSUPPORTED = 3,       /* correct request, but this machine or build cannot do it */
  SENNIT_OUT_OF_MEMORY = 4,     /* an allocation, /dev/shm or the locked-memory limit is too small */
  SENNIT_PERMISSION_DENIED = 5, /* the operating system or the driver forbids it */
  SENNIT_TIMED_OUT = 6,         /* a bounded wait passed its bound */
  SENNIT_PEER_LOST = 7,         /* another rank died or left */
  SENNIT_MISMATCH = 8,          /* ranks disagree about a call */
  SENNIT_CORRUPT = 9,           /* a document or a transfer does not hold what it should */
  SENNIT_DEVICE_ERROR = 10,     /* the GPU or its driver reported an error */
  SENNIT_SYSTEM_ERROR = 11,     /* a system call or a function of the caller failed */
  SENNIT_ABORTED = 12           /* the communicator was aborted */
} sennit_result;

/* The lower-case name of `result`, such as "timed_out"; "unknown" for other numbers. Static text. */
SENNIT_API const char* sennit_result_name(sennit_result result) SENNIT_NOEXCEPT;

/* One line for people about the latest failure on this thread, "NAME: WHAT (WHERE). REMEDY"; "" before the first.
 * A success leaves it alone. Valid until the next failure on this thread. */
SENNIT_API const char* sennit_last_error(void) SENNIT_NOEXCEPT;

/* The library's version, "MAJOR.MINOR.PATCH". Static text. */
SENNIT_API const char* sennit_version(void) SENNIT_NOEXCEPT;

/* Frees text that a function of this library made; null does nothing. */
SENNIT_API void sennit_text_free(char* text) SENNIT_NOEXCEPT;

/* ---- machine -------------------------------------------------------------------------------------------------- */

/* A machine: its devices and links, with what each link delivers (docs/tune/machine.md). Immutable. */
typedef struct sennit_machine sennit_machine;

/* Reads the machine called so among those that ship with sennit ("hgx-h200-4"), or the machine file: what ends in
 * .json or contains a slash. The caller frees it.
 * Errors: NOT_FOUND (names the machines there are); CORRUPT and UNSUPPORTED (another version), naming the field. */
SENNIT_API sennit_result sennit_machine_load(const char* name_or_file, sennit_machine** machine) SENNIT_NOEXCEPT;

/* This machine: as it was measured last, else as driver and kernel describe it. With SENNIT_MACHINE set: that one.
 * Takes some milliseconds, with GPUs up to a second. The caller frees it.
 * Errors: UNSUPPORTED (SENNIT_EXECUTOR=cuda without a GPU), those of sennit_machine_load(). */
SENNIT_API sennit_result sennit_machine_discover(sennit_machine** machine) SENNIT_NOEXCEPT;

/* The machine as a JSON document (schemas/machine.schema.json). The caller frees the text with sennit_text_free(). */
SENNIT_API sennit_result sennit_machine_json(const sennit_machine* machine, char** json) SENNIT_NOEXCEPT;

/* Frees the machine; null does nothing. Communicators made with it keep a copy. Errors: INVALID_ARGUMENT. */
SENNIT_API sennit_result sennit_machine_free(sennit_machine* machine) SENNIT_NOEXCEPT;

/* How a message of `bytes` would travel `from` one device `to` another of the machine, and why, as a JSON document
 * (as `sennit explain put --json` prints it): shares, what decided them, routes left out with their reasons,
 * predicted µs and GB/s. A device is named by id ("gpu0", "host0"), UUID or PCI address. A null `machine` means this
 * one, as a communicator would take it: as tuned, else the direct path alone. SENNIT_SPLIT and what `sennit tune`
 * kept for the machine apply. The caller frees the text with sennit_text_free(). Errors: NOT_FOUND (names the
 * device); INVALID_ARGUMENT (it holds no memory); UNSUPPORTED (no links lead there). */
SENNIT_API sennit_result sennit_explain_put(const sennit_machine* machine, const char* from, const char* to,
                                            uint64_t bytes, char** json) SENNIT_NOEXCEPT;

/* ---- communicator --------------------------------------------------------------------------------------------- */

/* The ranks of a job as one of them sees them. */
typedef struct sennit_comm sennit_comm;

/* How ranks can talk to each other while they set up, when the program has its own means (MPI, sockets, a store). */
typedef struct sennit_exchange {
  int rank; /* of this process, 0 to size - 1 */
  int size; /* number of ranks */

  /* Collective: gives every rank `bytes` bytes at `send`, the same number on all, and gathers those of all ranks, by
   * rank, in `receive` (size * bytes bytes); as MPI_Allgather with MPI_BYTE does. Returns 0, or any other number for
   * a failure. Must end in bounded time when a rank is gone. Called on the thread, and during the call, of a
   * collective function of this API, never otherwise. */
  int (*all_gather)(void* context, const void* send, void* receive, size_t bytes);

  void* context; /* handed to all_gather; of the caller, alive as long as the communicator */
} sennit_exchange;

/* What sennit_comm_create() may be told. Start from SENNIT_OPTIONS_INIT: fields may be added at the end. */
typedef struct sennit_options {
  size_t struct_size;     /* sizeof(sennit_options) */
  int device;             /* index of this rank's device; -1: its number among the ranks of the node */
  double timeout_seconds; /* limit of every wait once ranks have met; 0: SENNIT_TIMEOUT */
  const sennit_machine*
      machine; /* to plan from, the lowest rank's of a node counts; null: sennit_machine_discover() */
  const sennit_exchange* exchange; /* copied; null: as the launcher's environment says */
  int messages;    /* 1: sennit_send_receive() too, which half of the scratch is kept for; on all ranks or on none */
  int most_blocks; /* that a call takes of a GPU, which runs one or two an SM, so that others find room beside it; the
                      lowest of the ranks' numbers counts; 0: any number */
} sennit_options;

#define SENNIT_OPTIONS_INIT \
  { sizeof(sennit_options), -1, 0, NULL, NULL, 0, 0 }

/* Collective. Meets all ranks of the job and makes a communicator of them. Null `options` are the defaults: ranks
 * started by sennit's launcher, mpirun (Open MPI, MPICH), srun or torchrun know of each other from the environment; a
 * process that nobody started so is alone. Ranks meet within SENNIT_TIMEOUT seconds. A process may have several
 * communicators; all ranks create them in the same order. With `messages` scratch memory (SENNIT_SCRATCH) is made
 * now. Errors, the same on every rank that came: TIMED_OUT and PEER_LOST (name the ranks), INVALID_ARGUMENT (an
 * option, or a variable), NOT_FOUND (no such device, GPU or machine), PERMISSION_DENIED (another secret), MISMATCH
 * (only some ranks want messages); with `messages` those of a first collective: UNSUPPORTED, OUT_OF_MEMORY. */
SENNIT_API sennit_result sennit_comm_create(const sennit_options* options, sennit_comm** comm) SENNIT_NOEXCEPT;

/* Collective over `comm`. Makes a communicator of the ranks that give the same `color`, ordered by `key` and, where
 * that is equal, by their ranks in `comm`; a rank with a negative color gets none (null). Its options are those of
 * `comm`, which goes on beside it: either may be destroyed first. Errors, the same on every rank: UNSUPPORTED (ranks
 * of one color are on several nodes), TIMED_OUT, PEER_LOST, ABORTED, MISMATCH. */
SENNIT_API sennit_result sennit_comm_split(sennit_comm* comm, int color, int key,
                                           sennit_comm** split) SENNIT_NOEXCEPT;

/* Collective. Waits for this communicator's transfers, then for all ranks, and frees it with its memory and windows:
 * nothing of them may be used any more, by any thread; while it waits, sennit_comm_check and sennit_comm_abort may be
 * called. Also frees when it fails (a dead rank is not waited for). Null does nothing. Errors: what ended the
 * communicator, if anything did. */
SENNIT_API sennit_result sennit_comm_destroy(sennit_comm* comm) SENNIT_NOEXCEPT;

/* This rank; the number of ranks; the index of this rank's device among those this process sees; the number of ranks
 * on this rank's node. -1 when the handle is invalid. */
SENNIT_API int sennit_comm_rank(const sennit_comm* comm) SENNIT_NOEXCEPT;
SENNIT_API int sennit_comm_size(const sennit_comm* comm) SENNIT_NOEXCEPT;
SENNIT_API int sennit_comm_device(const sennit_comm* comm) SENNIT_NOEXCEPT;
SENNIT_API int sennit_comm_node_size(const sennit_comm* comm) SENNIT_NOEXCEPT;

/* 1 when `rank` is on this rank's node, so that put and get reach it, else 0; -1 when handle or rank is invalid. */
SENNIT_API int sennit_comm_same_node(const sennit_comm* comm, int rank) SENNIT_NOEXCEPT;

/* SENNIT_OK while all is well; else what ended the communicator: PEER_LOST (a rank died), ABORTED (with the reason
 * given), or a transfer that gave up. Never blocks; cheap enough for every iteration. */
SENNIT_API sennit_result sennit_comm_check(const sennit_comm* comm) SENNIT_NOEXCEPT;

/* Ends the communicator on every rank: waits everywhere, also those of kernels, end with ABORTED and `why` (null: no
 * reason). Returns at once. It remains to be destroyed. */
SENNIT_API sennit_result sennit_comm_abort(sennit_comm* comm, const char* why) SENNIT_NOEXCEPT;

/* Collective. Returns after every rank has called. Between hosts, not lanes: work that is only enqueued is not waited
 * for (sennit_synchronize() first). What a rank had waited for before it called is seen by all after.
 * Errors: TIMED_OUT (names who is missing), PEER_LOST, ABORTED, MISMATCH. */
SENNIT_API sennit_result sennit_comm_barrier(sennit_comm* comm) SENNIT_NOEXCEPT;

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* `bytes` bytes of uninitialised memory of this rank's device (on the host executor: memory that peers can map), at
 * least 16-byte aligned. 0 bytes give a null pointer. Freed by sennit_memory_free() or with the communicator.
 * Errors: OUT_OF_MEMORY. */
SENNIT_API sennit_result sennit_memory_allocate(sennit_comm* comm, uint64_t bytes, void** data) SENNIT_NOEXCEPT;

/* As sennit_memory_allocate(), but host memory that every device of this process reaches by its engines.
 * Errors: OUT_OF_MEMORY, which names the locked-memory limit. */
SENNIT_API sennit_result sennit_memory_allocate_pinned(sennit_comm* comm, uint64_t bytes,
                                                       void** data) SENNIT_NOEXCEPT;

/* Waits for this communicator's transfers, then frees what one of the two functions above returned. Null does
 * nothing. Errors: INVALID_ARGUMENT: no such memory, freed before, or part of a window that is still registered. */
SENNIT_API sennit_result sennit_memory_free(sennit_comm* comm, void* data) SENNIT_NOEXCEPT;

/* Memory that every rank has registered: what put writes to and get reads from. */
typedef struct sennit_window sennit_window;

/* Collective. Registers [data, data + bytes) of this rank with all others. Sizes may differ between ranks, and be 0
 * (`data` is not looked at). GPU memory may come from anywhere: cudaMalloc, pools, cuMemCreate, a tensor; on the host
 * executor from sennit_memory_allocate(). It stays the caller's and must outlive the registration. Where memory
 * cannot be shared between processes, transfers go through host memory instead.
 * Errors, the same on every rank, naming the first that failed: INVALID_ARGUMENT (null, freed, foreign or pageable
 * memory, more bytes than the allocation has), OUT_OF_MEMORY, MISMATCH, those of sennit_comm_barrier(). */
SENNIT_API sennit_result sennit_register(sennit_comm* comm, void* data, uint64_t bytes,
                                         sennit_window** window) SENNIT_NOEXCEPT;

/* Collective. As sennit_register(), and promises: a collective whose buffer lies in the window on some rank has it in
 * the window, at the same offset, on every rank (of an allgather the output: in place the input is a part of it).
 * Allreduce (input and output), allgather (output) and all-to-all (both, not in place) then go straight from buffer
 * to buffer where that is faster: in fewer steps, or by copy engines, which take no SM. Ranks that break the promise
 * write to wrong places of each other's memory, or wait until the time limit. All ranks register as many bytes.
 * Graphs with such collectives must be done before the window ends, and not be launched after it. Where a call fails
 * the window's bytes are undefined until all ranks have ended: engines may still write to them. Errors: those of
 * sennit_register(), INVALID_ARGUMENT (different lengths). */
SENNIT_API sennit_result sennit_register_symmetric(sennit_comm* comm, void* data, uint64_t bytes,
                                                   sennit_window** window) SENNIT_NOEXCEPT;

/* Collective. Waits for this rank's transfers, then for all ranks, and ends the registration. Graphs with transfers
 * to the window must not be launched any more. Also ends it when it fails. Null does nothing on this rank; the others
 * then get MISMATCH or TIMED_OUT. Errors: MISMATCH (another window on another rank), those of sennit_comm_barrier().
 */
SENNIT_API sennit_result sennit_deregister(sennit_window* window) SENNIT_NOEXCEPT;

/* How many bytes `rank` has registered. Errors: INVALID_ARGUMENT. */
SENNIT_API sennit_result sennit_window_bytes(const sennit_window* window, int rank, uint64_t* bytes) SENNIT_NOEXCEPT;

/* ---- transfer ------------------------------------------------------------------------------------------------- */

/* What holds for put, get and copy:
 *
 * - `stream` is a cudaStream_t of the communicator's device, or null for the communicator's own lane (the legacy
 *   default stream is cudaStreamLegacy). Of the host executor there is only null. A stream must live until
 *   sennit_synchronize() of it, or the end of the communicator, whichever comes first.
 * - They return when the work is enqueued: it starts after everything enqueued on the stream before, and everything
 *   enqueued after waits for it. Pageable host memory may make the call wait. Neither memory may be freed, and the
 *   source not written, before that. They may be captured into a CUDA graph.
 * - Any alignment; 0 bytes to beyond 4 GiB. 0 bytes do nothing, and memory may then be null.
 * - Memory of this process: of any of its GPUs, pinned, managed or pageable.
 * - Errors of all: INVALID_ARGUMENT (null, freed or foreign memory, beyond the allocation or the window, no such
 * rank, source and destination overlap, a stream on the host executor), PEER_LOST, ABORTED, TIMED_OUT, DEVICE_ERROR.
 */

/* Writes `bytes` bytes from `src` to `peer`'s part of the window, `offset` bytes into it. One-sided: the peer takes
 * no part, and learns of the arrival by what the program does next; sennit_synchronize() and then a barrier will do.
 * Further error: UNSUPPORTED (the peer is on another node). */
SENNIT_API sennit_result sennit_put(sennit_window* window, int peer, uint64_t offset, const void* src, uint64_t bytes,
                                    void* stream) SENNIT_NOEXCEPT;

/* Reads `bytes` bytes from `peer`'s part of the window, `offset` bytes into it, to `dst`. Otherwise as sennit_put().
 */
SENNIT_API sennit_result sennit_get(sennit_window* window, int peer, uint64_t offset, void* dst, uint64_t bytes,
                                    void* stream) SENNIT_NOEXCEPT;

/* Copies `bytes` bytes between two memories of this process, over every path that pays between them. */
SENNIT_API sennit_result sennit_copy(sennit_comm* comm, void* dst, const void* src, uint64_t bytes,
                                     void* stream) SENNIT_NOEXCEPT;

/* Waits until everything enqueued on the stream is done: what was put has then arrived.
 * Errors: PEER_LOST, ABORTED, TIMED_OUT (a transfer gave up), DEVICE_ERROR. */
SENNIT_API sennit_result sennit_synchronize(sennit_comm* comm, void* stream) SENNIT_NOEXCEPT;

/* ---- collectives ---------------------------------------------------------------------------------------------- */

/* Element types. The numbers are stable. float16 is IEEE's, float8 are those of the Open Compute Project. */
typedef enum sennit_type {
  SENNIT_INT8 = 0,
  SENNIT_UINT8 = 1,
  SENNIT_INT16 = 2,
  SENNIT_UINT16 = 3,
  SENNIT_INT32 = 4,
  SENNIT_UINT32 = 5,
  SENNIT_INT64 = 6,
  SENNIT_UINT64 = 7,
  SENNIT_FLOAT16 = 8,
  SENNIT_BFLOAT16 = 9,
  SENNIT_FLOAT32 = 10,
  SENNIT_FLOAT64 = 11,
  SENNIT_FLOAT8_E4M3 = 12,
  SENNIT_FLOAT8_E5M2 = 13
} sennit_type;

/* Operators. Bit and logical ones are for integers. The numbers are stable. */
typedef enum sennit_operator {
  SENNIT_SUM = 0, /* integers wrap */
  SENNIT_PRODUCT = 1,
  SENNIT_MIN = 2, /* of a number and NaN: the number */
  SENNIT_MAX = 3,
  SENNIT_AVERAGE = 4,           /* of integers: the wrapped sum divided by the ranks, towards zero */
  SENNIT_PREMULTIPLIED_SUM = 5, /* every input is multiplied by the scale first */
  SENNIT_BIT_AND = 6,
  SENNIT_BIT_OR = 7,
  SENNIT_BIT_XOR = 8,
  SENNIT_LOGICAL_AND = 9, /* 1 or 0; one rank alone keeps its numbers */
  SENNIT_LOGICAL_OR = 10,
  SENNIT_LOGICAL_XOR = 11
} sennit_operator;

/* What holds for collectives:
 *
 * - Every rank calls with the same count, type, operator and root, in the same order on each communicator; streams,
 *   threads and addresses are each rank's own. Calls on one communicator run in the order made, also on different
 *   streams. The first one meets all ranks to make scratch memory (SENNIT_SCRATCH); later ones wait for no rank's
 *   host.
 * - `stream` is as for put. They return when the work is enqueued, and may be captured into a CUDA graph. Its replay
 *   is one call among the communicator's others: it waits for those that were enqueued before it, on whatever stream,
 *   and those enqueued after it wait for it. Ranks replay and call in one order. Graphs of a communicator that was
 *   destroyed may be destroyed too, and not launched.
 * - A large call takes all of a GPU. Calls on several communicators at the same time must be ordered alike on every
 *   rank, by streams or events, or have `most_blocks` that find room together; otherwise they may wait for each other
 *   until the time limit.
 * - GPU memory of this rank's device from any allocator, managed or pinned host memory; at the alignment of the
 *   element. On the host executor any memory. What a rank has no use for may be null: the input of all ranks but the
 *   root where only that sends, the output where only that receives, both where there are 0 elements.
 * - In place: this rank's own message has the same address in both (so the whole, where both are as long). Otherwise
 *   input and output do not overlap; of an all-to-all with different lengths, no message that comes overlaps
 *   one that goes, but this rank's own may stay where it is.
 * - Messages of several ranks lie side by side, in the order of ranks.
 * - Every rank gets the same bits, and gets them again from the same inputs by the same plan. With a table the plan
 * may change while the program runs: SENNIT_ADAPT=0 keeps it. float16, bfloat16 and float8 are computed in float32
 * and rounded when stored: once where ranks' numbers meet at one place, at each rank where they are passed on
 * (rings).
 * - All ranks are on one node, at most 8.
 * - A rank that does not come within the time limit is named by the error that ends the communicator.
 * - Errors of all: INVALID_ARGUMENT (null, freed, overlapping or pageable memory, on the host executor also too
 *   little; a type without the operator, no such root), UNSUPPORTED (several nodes, too many ranks), OUT_OF_MEMORY
 *   (scratch), PEER_LOST, ABORTED, TIMED_OUT.
 *
 * `scale`: one element of the type in host memory, for float16, bfloat16 and float8 a float; read before return, for
 * SENNIT_PREMULTIPLIED_SUM alone, else null.
 */

/* Collective. Reduces `count` elements at `input` of all ranks into `output` of all ranks. */
SENNIT_API sennit_result sennit_allreduce(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                          sennit_type type, sennit_operator op, const void* scale,
                                          void* stream) SENNIT_NOEXCEPT;

/* Collective. Reduces `count` elements at `input` of all ranks into `output` of the root. */
SENNIT_API sennit_result sennit_reduce(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                       sennit_type type, sennit_operator op, const void* scale, int root,
                                       void* stream) SENNIT_NOEXCEPT;

/* Collective. Every rank gives `count` elements for each rank, and gets its own, reduced: `count` elements. */
SENNIT_API sennit_result sennit_reduce_scatter(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                               sennit_type type, sennit_operator op, const void* scale,
                                               void* stream) SENNIT_NOEXCEPT;

/* Collective. Every rank gives `count` elements, and gets those of all ranks. */
SENNIT_API sennit_result sennit_allgather(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                          sennit_type type, void* stream) SENNIT_NOEXCEPT;

/* Collective. Every rank gets the root's `count` elements, also the root. */
SENNIT_API sennit_result sennit_broadcast(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                          sennit_type type, int root, void* stream) SENNIT_NOEXCEPT;

/* Collective. Every rank gives `count` elements, and the root gets those of all ranks. */
SENNIT_API sennit_result sennit_gather(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                       sennit_type type, int root, void* stream) SENNIT_NOEXCEPT;

/* Collective. The root gives `count` elements for each rank, and every rank gets its own. */
SENNIT_API sennit_result sennit_scatter(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                        sennit_type type, int root, void* stream) SENNIT_NOEXCEPT;

/* Collective. Every rank gives `count` elements for each rank, and gets as many from each. */
SENNIT_API sennit_result sennit_all_to_all(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                           sennit_type type, void* stream) SENNIT_NOEXCEPT;

/* Collective. As sennit_all_to_all(), each pair with a length of its own. The arrays have an entry for each rank, are
 * read before return, and count elements: send_counts[r] of them, from send_offsets[r] of the input on, go to rank r;
 * receive_counts[r] from rank r go to receive_offsets[r] of the output. What rank a sends to rank b must be as long
 * as what b receives from a: of a pair that does not agree elements are wrong or a rank waits until the time limit,
 * and the communicator is of no use afterwards. Not in place. */
SENNIT_API sennit_result sennit_all_to_all_v(sennit_comm* comm, const void* input, const uint64_t* send_counts,
                                             const uint64_t* send_offsets, void* output,
                                             const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                             sennit_type type, void* stream) SENNIT_NOEXCEPT;

/* Collective, between streams, not hosts: what is enqueued after it runs when everything that every rank had enqueued
 * before it on its stream is done, and sees it. */
SENNIT_API sennit_result sennit_barrier(sennit_comm* comm, void* stream) SENNIT_NOEXCEPT;

/* ---- messages ------------------------------------------------------------------------------------------------- */

/* A message between this rank and another: what it sends, or where it receives. */
typedef struct sennit_message {
  int peer;       /* to whom, or from whom; this rank too */
  int sends;      /* 1: this rank sends it; 0: it receives it */
  void* data;     /* what is sent, which is only read, or where it goes */
  uint64_t bytes; /* the same on both sides */
} sennit_message;

/* Sends and receives `count` messages, all at the same time, on a communicator that was made with `messages`. The two
 * ranks of a message make a call with it, nobody else: it waits for its peer's call on the stream, not on the host.
 *
 * - Those that one rank sends another are received in the order in which they are sent. Otherwise ranks may put them
 *   into calls as they like: what one has in one call, another may call one by one.
 * - A call is done when all its messages are. Calls on one communicator, and collectives, run in the order made, also
 *   on different streams: all that follow wait for one that waits for its peer. What must go on beside it wants a
 *   communicator of its own, and room on the GPU (`most_blocks`).
 * - What a rank sends to itself it receives in the same call, as often and as long.
 * - `stream`, graphs and memory as for collectives, at any alignment. The array is read before return. 0 bytes do
 *   nothing, and `data` may then be null. Memory that is received into overlaps no other memory of the call.
 * - Of messages that are not as long on both sides bytes are wrong, or a rank waits until the time limit, and the
 *   communicator is of no use afterwards.
 * - Errors: INVALID_ARGUMENT (no such peer, null, freed or pageable memory, beyond the allocation, messages to itself
 *   that do not fit each other), UNSUPPORTED (a communicator made without `messages`), PEER_LOST, ABORTED, TIMED_OUT.
 */
SENNIT_API sennit_result sennit_send_receive(sennit_comm* comm, const sennit_message* messages, int count,
                                             void* stream) SENNIT_NOEXCEPT;

/* ---- partitioned messages ------------------------------------------------------------------------------------- */

/* One rank's end of a message between two ranks, each part of which travels as soon as its sender says that it is
 * ready. Made once, started again and again. docs/use/partitioned.md has an example. */
typedef struct sennit_partitioned sennit_partitioned;

/* What holds for partitioned messages:
 *
 * - An end is matched with the peer's by communicator, peer and tag, in the order in which ends are made; the peer
 *   may be this rank, and there are no wildcards. The two may cut the message differently, into 18 parts and 5: only
 *   the number of all bytes must be the same, else both ends get SENNIT_MISMATCH, which names both cuts.
 * - Partitions lie side by side and are numbered from 0. Where functions take the `first` and the `last` one, both
 *   belong to them.
 * - Both ends are started equally often; a start is over once all its partitions have arrived, for either end. From
 *   the start on the receiver's memory is sennit's, each part until it has arrived. From ready on a partition of the
 *   sender's is only read, until the start is over.
 * - A partition that is ready arrives though others never are, once both ends have been started, without any further
 *   call of either program. Nothing lands before the receiver's start.
 * - Memory as for sennit_register() at the receiver, as for sennit_put() at the sender (with GPUs not pageable); it
 *   outlives its end. Bytes go over the direct path: both GPUs must reach each other.
 * - Once both ends are made, sennit maps the receiver's memory in the sender's process, from threads of its own. From
 *   then until an end is freed it allocates, frees, loads and synchronises nothing in CUDA.
 * - Thread-safe: threads may make partitions ready, test and wait at the same time. An end is freed when no other
 *   call uses it.
 * - Errors of all: MISMATCH (the two have different numbers of bytes, or the peer has freed its end), UNSUPPORTED
 *   (the receiver's memory cannot be mapped), PEER_LOST, ABORTED, DEVICE_ERROR. They name peer, tag, cut and start.
 */

/* Makes the end that sends [data, data + partitions * bytes_each) to `peer`. Local, and waits for nobody.
 * `bytes_each` may be 0, and `data` then null. Freed by sennit_partitioned_free(), or with the communicator. Errors:
 * INVALID_ARGUMENT (no partitions, no such peer, memory as for put), UNSUPPORTED (a peer on another node),
 * OUT_OF_MEMORY. */
SENNIT_API sennit_result sennit_send_partitioned(sennit_comm* comm, const void* data, uint32_t partitions,
                                                 uint64_t bytes_each, int peer, int tag,
                                                 sennit_partitioned** one) SENNIT_NOEXCEPT;

/* Makes the end that receives from `peer` into [data, data + partitions * bytes_each). As the one that sends; further
 * errors: UNSUPPORTED (memory that other processes cannot map). */
SENNIT_API sennit_result sennit_receive_partitioned(sennit_comm* comm, void* data, uint32_t partitions,
                                                    uint64_t bytes_each, int peer, int tag,
                                                    sennit_partitioned** one) SENNIT_NOEXCEPT;

/* Begins the next start of each of `count` ends, of either kind; on the host, now: what streams still do with the
 * memory must be over. Waits for nobody. Errors: INVALID_ARGUMENT (the one before is not over); those before it in
 * the array are then started. */
SENNIT_API sennit_result sennit_partitioned_start(sennit_partitioned* const* all, int count) SENNIT_NOEXCEPT;

/* The partitions `first` to `last` of an end that sends are ready, now: this thread, or what it has waited for, has
 * written them. Waits for nobody. Errors: INVALID_ARGUMENT (before the start, ready twice in it, no such partition,
 * an end that receives): nothing of the call moves, and the end of the start fails with the same text once more. */
SENNIT_API sennit_result sennit_partitioned_ready(sennit_partitioned* one, uint32_t first,
                                                  uint32_t last) SENNIT_NOEXCEPT;

/* As sennit_partitioned_ready(), of `count` partitions in any order; the array is read before return. */
SENNIT_API sennit_result sennit_partitioned_ready_list(sennit_partitioned* one, const uint32_t* which,
                                                       uint32_t count) SENNIT_NOEXCEPT;

/* As sennit_partitioned_ready(), once everything enqueued on the stream before is done; the copy is then part of the
 * stream, as one of sennit_put() is. `stream` as there. Not in a graph capture (UNSUPPORTED). */
SENNIT_API sennit_result sennit_partitioned_enqueue_ready(sennit_partitioned* one, uint32_t first, uint32_t last,
                                                          void* stream) SENNIT_NOEXCEPT;

/* 1 in `arrived` when partitions `first` to `last` of an end that receives have, in its own cut: what this thread
 * does and enqueues afterwards sees their bytes. Else 0. Of an end without a start: 1. Never blocks. Errors:
 * INVALID_ARGUMENT (no such partition, an end that sends). */
SENNIT_API sennit_result sennit_partitioned_arrived(sennit_partitioned* one, uint32_t first, uint32_t last,
                                                    int* arrived) SENNIT_NOEXCEPT;

/* What is enqueued on the stream afterwards begins when the partitions `first` to `last` of an end that receives have
 * arrived, and sees them. A kernel of one small block waits on the GPU meanwhile, no longer than the communicator's
 * time limit. `stream` as for put. The first time it may wait, on the host, until the sender has made its end too.
 * Not in a graph capture. Errors: INVALID_ARGUMENT (not started, no such partition, an end that sends), UNSUPPORTED
 * (a capture), TIMED_OUT. */
SENNIT_API sennit_result sennit_partitioned_enqueue_await(sennit_partitioned* one, uint32_t first, uint32_t last,
                                                          void* stream) SENNIT_NOEXCEPT;

/* 1 in `done` when the starts of all `count` ends are over, also of those that have none; else 0. Never blocks.
 * Errors: INVALID_ARGUMENT, once, for a partition that was wrongly made ready, when that start is over. */
SENNIT_API sennit_result sennit_partitioned_test(sennit_partitioned* const* all, int count,
                                                 int* done) SENNIT_NOEXCEPT;

/* Waits until the starts of all `count` ends are over. Returns the first error after it has waited for all of them,
 * but for those that follow one that ended the communicator. Errors: those of sennit_partitioned_test(); TIMED_OUT,
 * which names the partitions that are not ready, or that the peer has not made or started its end: that start goes
 * on, and may be waited for again. */
SENNIT_API sennit_result sennit_partitioned_wait(sennit_partitioned* const* all, int count) SENNIT_NOEXCEPT;

/* Frees an end, and waits for this communicator's transfers and, of one that receives, until the sender's process has
 * unmapped the memory, which needs no call there. Null does nothing. Errors: INVALID_ARGUMENT: a start is not over,
 * and nothing was freed (where it cannot end: sennit_comm_abort() first). */
SENNIT_API sennit_result sennit_partitioned_free(sennit_partitioned* one) SENNIT_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_SENNIT_H */
