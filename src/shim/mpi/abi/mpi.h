// Declares the program's MPI as the drop-in needs it: in the same words for every ABI, so that what decides is
// compiled once and can be tested over a made-up one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/mpi/abi/handle.h"
#include "shim/mpi/abi/types.h"
#include "stage/segments.h"
#include "stage/strided.h"

namespace sennit::shim::mpi {

/// Holds what a program can ask of a datatype (MPI 5.0, 5.1): bytes, places in bytes.
struct Shape {
  std::int64_t size = 0;  ///< of the data alone
  std::int64_t lower = 0, extent = 0;
  std::int64_t true_lower = 0, true_extent = 0;
};

/// A communicator as one of its ranks sees it.
struct CommShape {
  int rank = 0, size = 1;
  bool inter = false;  ///< two groups; collectives then go between them
  int remote_size = 0;
};

/// Names what ranks make together and what has functions that wait for all of them.
enum class Shared : std::uint8_t { file, window };

/// Neighbours in a communicator's topology.
struct Neighbours {
  int sources = 0, destinations = 0;
};

/// Holds what a request's status tells of a message.
struct Received {
  std::int64_t bytes = 0;
  bool cancelled = false;
  std::array<std::byte, 32> status{};  ///< MPI_Status as it is
};

/// Every function returns MPI's error code, 0 for success, and calls no error handler of the program's: a code is
/// given to fail() where it is the program's to know. Collective ones say so. It is long: one for each call of MPI.
class Mpi {
 public:
  virtual ~Mpi() = default;

  virtual Handle comm_world() const = 0;
  virtual Handle comm_null() const = 0;
  virtual Handle request_null() const = 0;
  virtual int any_source() const = 0;
  virtual int any_tag() const = 0;
  virtual bool is_in_place(const void* address) const = 0;
  /// Returns whether `root` says that this process is the root of a call between two groups.
  virtual bool is_inter_root(int root) const = 0;
  virtual int err_other() const = 0;
  virtual int err_no_memory() const = 0;
  virtual int err_truncate() const = 0;
  /// Returns the code that says that a rank has died.
  virtual int err_lost() const = 0;
  /// Returns whether the program goes on when a rank has died (ULFM): the MPI then says of each call what the death
  /// means for it.
  virtual bool tells_of_deaths() const = 0;
  /// Returns whether a request's error says that its call will never be done, since a rank has died or its
  /// communicator is revoked.
  virtual bool ends_by_death(int /*code*/) const { return false; }
  /// Returns whether a request's error says that a rank has died, and that another one may still send what it waits
  /// for (MPI_ERR_PROC_FAILED_PENDING): the request is not over.
  virtual bool goes_on_after_death(int /*code*/) const { return false; }
  virtual int largest_tag() const { return std::numeric_limits<int>::max(); }
  /// Returns whether a call on the communicator may return success that the MPI has refused: so MPICH's do where the
  /// error handler is a function of the program's. No request is made then.
  virtual bool hides_errors(Handle /*comm*/) const { return false; }

  virtual int shape(Handle comm, CommShape& shape) const = 0;
  /// Returns the name that the program, or the MPI, has given to the communicator; empty where neither has.
  virtual std::string name(Handle comm) const = 0;
  virtual int neighbours(Handle comm, Neighbours& neighbours) const = 0;
  /// Finds the ranks in MPI_COMM_WORLD of those that messages of `comm` go to; negative for others.
  virtual int world_ranks(Handle comm, std::vector<int>& ranks) const = 0;
  /// Returns the ranks in MPI_COMM_WORLD of all ranks of `comm`, by rank; where it has two groups, those of both,
  /// this one's first. The next two functions return those of a group, and of a file or window.
  virtual int all_world_ranks(Handle comm, std::vector<int>& ranks) const = 0;
  virtual int world_ranks_of_group(Handle group, std::vector<int>& ranks) const = 0;
  virtual int world_ranks_of(Shared kind, Handle handle, std::vector<int>& ranks) const = 0;
  virtual int shape(Handle type, Shape& shape) const = 0;
  /// Returns what a type is made of, where that is some number of one predefined type without gaps. No value
  /// otherwise, and where the MPI would refuse a message of the type, since it is not committed.
  virtual std::optional<Uniform> uniform(Handle type) const = 0;
  /// Returns where the data of one element lies, if that is in rows; no value otherwise.
  virtual std::optional<stage::Strided> strided(Handle type) const = 0;
  /// Returns where the data of one element lies, in the order of messages; no value where that is not known, or there
  /// are too many segments.
  virtual std::optional<std::vector<stage::Segment>> segments(Handle /*type*/) const { return std::nullopt; }
  /// Places in an element, but that at its address, whose bytes tell in what memory its data is: where parts of it
  /// lie that may be in another one. They stay until this thread asks again.
  virtual std::span<const std::int64_t> far(Handle /*type*/) const { return {}; }
  /// Returns a type of so many bytes without gaps, for as long as the MPI lives; kNoHandle where there is none.
  virtual Handle type_of_bytes(std::int64_t /*bytes*/) const { return kNoHandle; }
  virtual std::optional<device::Operator> op(Handle op) const = 0;
  /// Returns how sennit reduces elements of a predefined type by one of MPI's operators as this MPI does; no value
  /// where the MPI refuses them, or sennit cannot. Cheap but for the first time of each pair.
  virtual std::optional<Numbers> numbers(Handle type, Handle op) const = 0;
  /// Returns the MPI's type or operator for one of sennit's; kNoHandle where the MPI has none.
  virtual Handle type_of(device::Type type) const = 0;
  virtual Handle op_of(device::Operator op) const = 0;
  /// Returns a type that stays what `type` is as long as `keeper` lives: a program may free one that a request still
  /// uses (Fortran's mpi_f08 of MPICH does so with each section of an array). kNoHandle where MPI has none to give.
  virtual Handle keep(Handle type, std::shared_ptr<void>& keeper) const = 0;

  /// Collective over `comm`: every rank's `bytes` bytes, by rank.
  virtual int all_gather(Handle comm, const void* mine, void* all, int bytes) const = 0;
  virtual int all_gather(Handle comm, const void* mine, int bytes, void* all, std::span<const int> lengths,
                         std::span<const int> places) const = 0;
  /// Collective, begun alone; done when done() says so, which lets MPI make progress.
  virtual int begin_all_gather(Handle comm, const void* mine, void* all, int bytes, Handle& request) const = 0;
  virtual int begin_barrier(Handle comm, Handle& request) const = 0;
  /// Asks whether a request of the program's is done. The handler of its communicator hears of an error.
  virtual int done(Handle& request, bool& done) const = 0;
  /// Asks for a request of the drop-in's own on a communicator of the program's; errors are codes alone.
  virtual int done_quietly(Handle /*comm*/, Handle& request, bool& done) const { return this->done(request, done); }
  /// Returns whether `comm` is revoked, so that nothing on it will be done any more (MPIX_Comm_revoke); Open MPI 5.0
  /// does not say so of a collective that was begun before.
  virtual bool revoked(Handle comm) const = 0;
  /// Collective over `comm`: as MPI_Comm_split; a negative colour gets comm_null(). Errors on what is made are codes
  /// and no more.
  virtual int split(Handle comm, int colour, int key, Handle& made) const = 0;
  virtual int free(Handle& comm) const = 0;
  /// Collective over `comm`: every rank has its own of the rows of `bytes` bytes, by rank, and gets all; or `root`
  /// does.
  virtual int all_gather_rows(Handle comm, void* rows, int bytes) const = 0;
  virtual int gather_rows(Handle comm, void* rows, int bytes, int root, int rank) const = 0;
  /// Collective over `comm`: each rank gets its own of the rows that `root` has.
  virtual int scatter_rows(Handle comm, void* rows, int bytes, int root, int rank) const = 0;
  /// Collective over `comm`, which both ways has messages of such lengths in such places, in bytes, by rank.
  virtual int all_to_all(Handle comm, const void* from, void* to, std::span<const int> lengths,
                         std::span<const int> places) const = 0;
  /// Sends a message to rank `to` of `comm`, and receives one from rank `from`, which has as many bytes as that
  /// sends.
  virtual int swap(Handle comm, const void* sent, int bytes_sent, int to, void* received, int bytes_received,
                   int from) const = 0;
  /// Collective over `comm`, in place.
  virtual int all_reduce(Handle comm, void* data, int count, Handle type, Handle op) const = 0;
  virtual int reduce(Handle comm, void* data, int count, Handle type, Handle op, int root, bool is_root) const = 0;
  virtual int broadcast(Handle comm, void* data, int bytes, int root) const = 0;
  /// Begins to find out types that are not committed. Once MPI has begun, and before other threads call it.
  virtual void begin_to_check() = 0;
  /// Ends that, before MPI ends.
  virtual void end_checking() = 0;
  /// Begins to send a message of `bytes` bytes; begin_receive() to receive one. look_at() completes either as a
  /// persistent one; until then the memory stays.
  virtual int begin_send(Handle comm, const void* data, int bytes, int to, int tag, Handle& request) const = 0;
  virtual int begin_receive(Handle comm, void* data, int bytes, int from, int tag, Handle& request) const = 0;
  /// Gives up a receive that no message has met; look_at() completes it all the same.
  virtual int cancel(Handle request) const = 0;

  /// Looks whether a request is done, and lets MPI make progress. The request stays as it is, but a persistent one is
  /// completed: MPICH 5.0 takes a look at one for that, and forgets its status.
  virtual int look_at(Handle request, bool persistent, bool& done, Received& received) const = 0;
  /// Looks as look_at() does, and ends the request: one of the program's on `comm`, kNoHandle if that is not known.
  /// Open MPI 4.1 frees a persistent one that has failed, and with it `request` is null.
  virtual int look_to_end(Handle& request, Handle /*comm*/, bool& done, Received& received) const {
    return look_at(request, true, done, received);
  }
  /// Gives up a request: the MPI ends it by itself.
  virtual int free_request(Handle request) const = 0;
  /// Lets MPI make progress.
  virtual void progress() const = 0;
  /// Begins a request that is done when all buffered messages are sent; an error where the MPI has none (before 4.1).
  virtual int begin_flush(Handle& request) const = 0;
  /// Begins a request that the real library holds for something that it does not know, until that has ended.
  virtual int begin_placeholder(Handle& request) const = 0;
  virtual int end_placeholder(Handle request) const = 0;
  /// Packs what MPI put into `buffer`, elements of `type` of `bytes` bytes in all, and back.
  virtual int pack(const void* buffer, Handle type, std::int64_t bytes, void* packed) const = 0;
  virtual int unpack(const void* packed, std::int64_t bytes, void* buffer, Handle type) const = 0;

  /// Calls the communicator's error handler (of MPI_COMM_WORLD for kNoHandle), and returns what the program is told.
  virtual int fail(Handle comm, int code) const = 0;
};

}  // namespace sennit::shim::mpi
