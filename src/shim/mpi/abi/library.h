// Library<Abi> implements Mpi (mpi.h), the neutral face that the drop-in uses, by the program's MPI library of one
// ABI. The file is long since each function of Mpi stands here once, most of them one call of the MPI.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shim/mpi/abi/abi.h"
#include "shim/mpi/abi/library_types.h"
#include "shim/mpi/abi/mpi.h"
#include "shim/mpi/abi/profiling.h"
#include "shim/mpi/abi/table.h"

namespace sennit::shim::mpi {

template <class Abi>
class Library final : public Mpi {
 public:
  using Comm = typename Abi::Comm;
  using Datatype = typename Abi::Datatype;
  using Info = typename Abi::Info;

  /// `library`: as dlopen() names it. Null where it is not the MPI it looks like.
  static std::unique_ptr<Library> open(void* library) {
    std::unique_ptr<Library> made(new Library());
    if (!find(library, made->call_)) return nullptr;
    made->comm_is_revoked_ = reinterpret_cast<int (*)(Comm, int*)>(dlsym(library, "PMPIX_Comm_is_revoked"));
    made->is_fault_tolerant_ = static_cast<const bool*>(dlsym(library, "ompi_ftmpi_enabled"));
    made->request_is_failed_ =
        reinterpret_cast<decltype(request_is_failed_)>(dlsym(library, "ompi_request_is_failed_fn"));
    made->file_get_group_ = reinterpret_cast<decltype(file_get_group_)>(dlsym(library, "PMPI_File_get_group"));
    made->win_get_group_ = reinterpret_cast<decltype(win_get_group_)>(dlsym(library, "PMPI_Win_get_group"));
    made->buffer_iflush_ = reinterpret_cast<decltype(buffer_iflush_)>(dlsym(library, "PMPI_Buffer_iflush"));
    made->request_is_complete_ =
        reinterpret_cast<decltype(request_is_complete_)>(dlsym(library, "PMPIX_Request_is_complete"));
    made->types_.open(library);
    made->types_.ask_doubtful([own = made.get()](Handle type, Shape& shape) {
      const QuietWithout quiet(*own);
      return own->types_.ask_shape(type, shape);
    });
    for (const Predefined& one : kPredefined) {
      const Handle handle = made->predefined(one, library);
      if (handle == 0) continue;  // a type that this build of the library does not have
      if (one.name == "MPI_COMM_WORLD") made->world_ = handle;
      if (one.name == "MPI_COMM_SELF") made->types_.pack_on(made->self_ = handle);
      if (one.name == "MPI_COMM_NULL") made->comm_null_ = handle;
      if (one.name == "MPI_REQUEST_NULL") made->request_null_ = handle;
      if (one.name == "MPI_INFO_NULL") made->info_null_ = handle;
      if (one.name == "MPI_DATATYPE_NULL") made->types_.none(made->datatype_null_ = handle);
      if (one.name == "MPI_OP_NULL") made->op_null_ = handle;
      if (one.name == "MPI_ERRORS_ARE_FATAL") made->errors_are_fatal_ = handle;
      if (one.name == "MPI_ERRORS_RETURN") made->errors_return_ = handle;
      if (one.name == "MPI_BYTE") made->byte_ = from_handle<Datatype>(handle);
      if (one.kind == "op")
        if (auto op = device::parse_operator(one.meaning)) {
          made->ops_[handle] = *op;
          made->handles_of_ops_.try_emplace(*op, handle);
        }
      if (one.kind == "type")
        if (auto meaning = parse_meaning(one.meaning)) made->types_.add(handle, *meaning);
    }
    return made;
  }

  const Profiling<Abi>& call() const { return call_; }
  Datatype byte() const { return byte_; }
  Info info_null() const { return from_handle<Info>(info_null_); }
  Handle datatype_null() const { return datatype_null_; }
  Handle op_null() const { return op_null_; }

  /// Has MPI_Finalize call `ended`, first of all that it does itself, and behind what the program has it call from
  /// now on (MPI 4.0, 11.2.4). Once MPI has begun. Returns MPI's code.
  int at_end(int (*ended)(Comm, int, void*, void*)) const {
    int key = 0;
    const auto no_copy = [](Comm, int, void*, void*, void*, int* flag) { return *flag = 0; };
    int code = call_.comm_create_keyval(no_copy, ended, &key, nullptr);
    if (code != 0) return code;
    code = call_.comm_set_attr(from_handle<Comm>(self_), key, nullptr);
    (void)call_.comm_free_keyval(&key);
    return code;
  }

  Handle comm_world() const override { return world_; }
  Handle comm_null() const override { return comm_null_; }
  Handle request_null() const override { return request_null_; }
  int any_source() const override { return Abi::kAnySource; }
  int any_tag() const override { return Abi::kAnyTag; }
  bool is_in_place(const void* address) const override {
    return reinterpret_cast<std::intptr_t>(address) == Abi::kInPlace;
  }
  bool is_inter_root(int root) const override { return root == Abi::kRoot; }
  int err_other() const override { return Abi::kErrOther; }
  int err_no_memory() const override { return Abi::kErrNoMem; }
  int err_truncate() const override { return Abi::kErrTruncate; }
  int err_lost() const override { return tells_of_deaths() ? kErrProcFailed : Abi::kErrOther; }
  bool tells_of_deaths() const override { return is_fault_tolerant_ != nullptr && *is_fault_tolerant_; }
  bool ends_by_death(int code) const override {
    return tells_of_deaths() && (code == kErrProcFailed || code == kErrRevoked);
  }
  bool goes_on_after_death(int code) const override { return tells_of_deaths() && code == kErrProcFailedPending; }

  int largest_tag() const override {
    std::call_once(tag_asked_, [this] {
      int* most = nullptr;
      int known = 0;
      if (call_.comm_get_attr(from_handle<Comm>(world_), Abi::kTagUb, &most, &known) == 0 && known != 0)
        largest_tag_ = *most;
    });
    return largest_tag_;
  }
  bool hides_errors(Handle comm) const override {
    if constexpr (Abi::kFlavour == Flavour::openmpi) return false;
    typename Abi::Errhandler handler;
    if (comm == kNoHandle || comm == comm_null_ || call_.comm_get_errhandler(from_handle<Comm>(comm), &handler) != 0)
      return false;
    const Handle found = to_handle(handler);
    (void)call_.errhandler_free(&handler);
    return found != errors_are_fatal_ && found != errors_return_;
  }

  int shape(Handle handle, CommShape& shape) const override {
    if (handle == comm_null_) return kErrComm;
    const auto comm = from_handle<Comm>(handle);
    int inter = 0;
    int code = call_.comm_rank(comm, &shape.rank);
    if (code == 0) code = call_.comm_size(comm, &shape.size);
    if (code == 0) code = call_.comm_test_inter(comm, &inter);
    shape.inter = inter != 0;
    if (code == 0 && shape.inter) code = call_.comm_remote_size(comm, &shape.remote_size);
    return code;
  }

  std::string name(Handle comm) const override {
    char name[1024] = {};  // far more than any MPI_MAX_OBJECT_NAME
    int length = 0;
    if (comm == comm_null_) return {};
    const int code = call_.comm_get_name(from_handle<Comm>(comm), name, &length);
    return code == 0 ? std::string(name) : std::string();
  }

  int neighbours(Handle handle, Neighbours& neighbours) const override {
    if (handle == comm_null_) return kErrComm;
    const auto comm = from_handle<Comm>(handle);
    int kind = Abi::kUndefined, rank = 0;
    int code = call_.topo_test(comm, &kind);
    if (code != 0) return code;
    if (kind == Abi::kCart) {
      code = call_.cartdim_get(comm, &neighbours.sources);
      neighbours.sources *= 2;
      neighbours.destinations = neighbours.sources;
    } else if (kind == Abi::kGraph) {
      code = call_.comm_rank(comm, &rank);
      if (code == 0) code = call_.graph_neighbors_count(comm, rank, &neighbours.sources);
      neighbours.destinations = neighbours.sources;
    } else if (kind == Abi::kDistGraph) {
      int weighted = 0;
      code = call_.dist_graph_neighbors_count(comm, &neighbours.sources, &neighbours.destinations, &weighted);
    }
    return code;
  }

  int shape(Handle type, Shape& shape) const override { return types_.shape(type, shape); }
  /// Returns the bytes of data in one element; no value for a type that the library refuses.
  std::optional<std::int64_t> size(Handle type) const { return types_.size(type); }
  std::int64_t size_of_predefined(Handle type) const { return types_.size_of_predefined(type); }
  std::optional<Uniform> uniform(Handle type) const override { return types_.uniform(type); }
  std::optional<stage::Strided> strided(Handle type) const override { return types_.strided(type); }
  std::optional<std::vector<stage::Segment>> segments(Handle type) const override { return types_.segments(type); }
  std::span<const std::int64_t> far(Handle type) const override { return types_.far(type); }
  Handle type_of_bytes(std::int64_t bytes) const override { return types_.type_of_bytes(byte_, bytes); }
  /// Returns whether the type is the library's own: data begins at the address, and is nowhere else.
  bool is_predefined(Handle type) const { return types_.is_predefined(type); }
  /// A program has freed some: another one may have its handle.
  void type_freed() const { types_.freed(); }
  Handle type_of(device::Type type) const override { return types_.type_of(type); }
  Handle keep(Handle type, std::shared_ptr<void>& keeper) const override { return types_.keep(type, keeper); }
  int pack(const void* buffer, Handle type, std::int64_t bytes, void* packed) const override {
    return types_.pack(buffer, type, bytes, packed);
  }
  int unpack(const void* packed, std::int64_t bytes, void* buffer, Handle type) const override {
    return types_.unpack(packed, bytes, buffer, type);
  }

  void begin_to_check() override {
    has_world_.store(true, std::memory_order_relaxed);
    Handle made = kNoHandle;
    if (split(self_, 0, 0, made) == 0) types_.check_on(made);
  }
  void end_checking() override {
    Handle checks = types_.check_on(kNoHandle);
    if (checks != kNoHandle) (void)free(checks);
    has_world_.store(false, std::memory_order_relaxed);
  }

  std::optional<device::Operator> op(Handle op) const override {
    const auto found = ops_.find(op);
    return found != ops_.end() ? std::optional(found->second) : std::nullopt;
  }

  std::optional<Numbers> numbers(Handle type, Handle op) const override {
    const auto found = ops_.find(op);
    return found != ops_.end() ? types_.numbers(type, found->second, op) : std::nullopt;
  }
  /// Returns whether the MPI reduces elements of the type by the operator. `type`: a predefined one.
  bool accepts(Handle type, Handle op) const { return types_.accepts(type, op); }
  /// Returns what a collective call of this process alone is made on.
  typename LibraryTypes<Abi>::Alone alone() const { return types_.alone(); }

  Handle op_of(device::Operator op) const override {
    const auto found = handles_of_ops_.find(op);
    return found != handles_of_ops_.end() ? found->second : kNoHandle;
  }
  /// Makes a copy for a call that is made later: the program may free what it gave. release() ends it.
  int copy(Info given, Info& copied) const {
    copied = given;
    return to_handle(given) == info_null_ ? 0 : call_.info_dup(given, &copied);
  }
  void release(Info copied) const {
    if (to_handle(copied) != info_null_) (void)call_.info_free(&copied);
  }

  int all_gather(Handle comm, const void* mine, void* all, int bytes) const override {
    const Quiet quiet(*this, comm);
    return call_.allgather(mine, bytes, byte_, all, bytes, byte_, from_handle<Comm>(comm));
  }
  int all_gather(Handle comm, const void* mine, int bytes, void* all, std::span<const int> lengths,
                 std::span<const int> places) const override {
    const Quiet quiet(*this, comm);
    return call_.allgatherv(mine, bytes, byte_, all, lengths.data(), places.data(), byte_, from_handle<Comm>(comm));
  }
  int begin_all_gather(Handle comm, const void* mine, void* all, int bytes, Handle& request) const override {
    auto made = no_request();
    const Quiet quiet(*this, comm);
    const int code = call_.iallgather(mine, bytes, byte_, all, bytes, byte_, from_handle<Comm>(comm), &made);
    request = to_handle(made);
    return code;
  }
  int begin_barrier(Handle comm, Handle& request) const override {
    auto made = no_request();
    const Quiet quiet(*this, comm);
    const int code = call_.ibarrier(from_handle<Comm>(comm), &made);
    request = to_handle(made);
    return code;
  }
  int done(Handle& request, bool& done) const override {
    auto asked = from_handle<typename Abi::Request>(request);
    int flag = 0;
    const int code = call_.test(&asked, &flag, reinterpret_cast<typename Abi::Status*>(Abi::kStatusIgnore));
    request = to_handle(asked);
    done = flag != 0;
    return code;
  }
  int done_quietly(Handle comm, Handle& request, bool& done) const override {
    const Quiet quiet(*this, comm);
    return this->done(request, done);
  }
  bool revoked(Handle comm) const override {
    int flag = 0;
    return comm_is_revoked_ != nullptr && comm_is_revoked_(from_handle<Comm>(comm), &flag) == 0 && flag != 0;
  }
  int split(Handle comm, int colour, int key, Handle& made) const override {
    auto part = from_handle<Comm>(comm_null_);
    made = kNoHandle;
    const Quiet quiet(*this, comm);
    const int code = call_.comm_split(from_handle<Comm>(comm), colour < 0 ? Abi::kUndefined : colour, key, &part);
    if (code != 0) return code;
    made = to_handle(part);
    if (made == comm_null_) return 0;
    const int kept = call_.comm_set_errhandler(part, from_handle<typename Abi::Errhandler>(errors_return_));
    if (kept != 0) (void)free(made);
    return kept;
  }
  int free(Handle& comm) const override {
    auto given = from_handle<Comm>(comm);
    const int code = call_.comm_free(&given);
    comm = kNoHandle;
    return code;
  }
  int all_gather_rows(Handle comm, void* rows, int bytes) const override {
    return call_.allgather(reinterpret_cast<const void*>(Abi::kInPlace), 0, byte_, rows, bytes, byte_,
                           from_handle<Comm>(comm));
  }
  int gather_rows(Handle comm, void* rows, int bytes, int root, int rank) const override {
    const void* const own = static_cast<const char*>(rows) + std::ptrdiff_t{rank} * bytes;
    return call_.gather(rank == root ? reinterpret_cast<const void*>(Abi::kInPlace) : own, bytes, byte_, rows, bytes,
                        byte_, root, from_handle<Comm>(comm));
  }
  int scatter_rows(Handle comm, void* rows, int bytes, int root, int rank) const override {
    void* const own = static_cast<char*>(rows) + std::ptrdiff_t{rank} * bytes;
    return call_.scatter(rows, bytes, byte_, rank == root ? reinterpret_cast<void*>(Abi::kInPlace) : own, bytes,
                         byte_, root, from_handle<Comm>(comm));
  }
  int all_to_all(Handle comm, const void* from, void* to, std::span<const int> lengths,
                 std::span<const int> places) const override {
    return call_.alltoallv(from, lengths.data(), places.data(), byte_, to, lengths.data(), places.data(), byte_,
                           from_handle<Comm>(comm));
  }
  int swap(Handle comm, const void* sent, int bytes_sent, int to, void* received, int bytes_received,
           int from) const override {
    return call_.sendrecv(sent, bytes_sent, byte_, to, 0, received, bytes_received, byte_, from, 0,
                          from_handle<Comm>(comm), reinterpret_cast<typename Abi::Status*>(Abi::kStatusIgnore));
  }
  int all_reduce(Handle comm, void* data, int count, Handle type, Handle op) const override {
    return call_.allreduce(reinterpret_cast<const void*>(Abi::kInPlace), data, count, from_handle<Datatype>(type),
                           from_handle<typename Abi::Op>(op), from_handle<Comm>(comm));
  }
  int reduce(Handle comm, void* data, int count, Handle type, Handle op, int root, bool is_root) const override {
    return call_.reduce(is_root ? reinterpret_cast<const void*>(Abi::kInPlace) : data, is_root ? data : nullptr,
                        count, from_handle<Datatype>(type), from_handle<typename Abi::Op>(op), root,
                        from_handle<Comm>(comm));
  }
  int broadcast(Handle comm, void* data, int bytes, int root) const override {
    return call_.bcast(data, bytes, byte_, root, from_handle<Comm>(comm));
  }

  int begin_send(Handle comm, const void* data, int bytes, int to, int tag, Handle& request) const override {
    auto made = no_request();
    const Quiet quiet(*this, comm);
    const int code = call_.isend(data, bytes, byte_, to, tag, from_handle<Comm>(comm), &made);
    if (code == 0) request = to_handle(made);
    return code;
  }
  int begin_receive(Handle comm, void* data, int bytes, int from, int tag, Handle& request) const override {
    auto made = no_request();
    const Quiet quiet(*this, comm);
    const int code = call_.irecv(data, bytes, byte_, from, tag, from_handle<Comm>(comm), &made);
    if (code == 0) request = to_handle(made);
    return code;
  }
  int cancel(Handle request) const override {
    auto given = from_handle<typename Abi::Request>(request);
    return call_.cancel(&given);
  }

  int world_ranks(Handle handle, std::vector<int>& ranks) const override {
    const auto comm = from_handle<Comm>(handle);
    int inter = 0;
    ranks.clear();
    if (handle == comm_null_) return kErrComm;
    const QuietWithout quiet(*this);
    const int code = call_.comm_test_inter(comm, &inter);
    if (code != 0) return code;
    return add_world_ranks(comm, inter != 0 ? call_.comm_remote_group : call_.comm_group, ranks);
  }
  int all_world_ranks(Handle handle, std::vector<int>& ranks) const override {
    const auto comm = from_handle<Comm>(handle);
    int inter = 0;
    ranks.clear();
    if (handle == comm_null_) return kErrComm;
    const QuietWithout quiet(*this);
    int code = call_.comm_test_inter(comm, &inter);
    if (code == 0) code = add_world_ranks(comm, call_.comm_group, ranks);
    if (code == 0 && inter != 0) code = add_world_ranks(comm, call_.comm_remote_group, ranks);
    return code;
  }
  int world_ranks_of_group(Handle group, std::vector<int>& ranks) const override {
    ranks.clear();
    const QuietWithout quiet(*this);
    return add_world_ranks(from_handle<typename Abi::Group>(group), ranks);
  }

  int world_ranks_of(Shared kind, Handle handle, std::vector<int>& ranks) const override {
    ranks.clear();
    const QuietWithout quiet(*this);
    if (kind == Shared::file) return add_world_ranks(from_handle<typename Abi::File>(handle), file_get_group_, ranks);
    return add_world_ranks(from_handle<typename Abi::Win>(handle), win_get_group_, ranks);
  }

  int look_at(Handle handle, bool persistent, bool& done, Received& received) const override {
    if (persistent) return look_to_end(handle, kNoHandle, done, received);
    done = false;
    auto request = from_handle<typename Abi::Request>(handle);
    if (request_is_complete_ != nullptr) {
      progress();
      if (request_is_complete_(request) == 0) return 0;
    }
    // MPICH tells of a message that was too long, and has the handler of no communicator in particular hear it, which
    // that of the request's hears when the request ends.
    std::optional<QuietWithout> quiet;
    if constexpr (Abi::kFlavour != Flavour::openmpi) quiet.emplace(*this);
    // Open MPI's MPI_Request_get_status does not look for deaths, as its MPI_Test does, and so never ends a receive
    // from any source.
    const bool failed = tells_of_deaths() && request_is_failed_ != nullptr && request_is_failed_(request);
    typename Abi::Status status{};
    int flag = 0;
    const int code = call_.request_get_status(request, &flag, &status);
    if (failed && code == 0 && flag == 0) return kErrProcFailedPending;
    return told(code, flag, status, done, received);
  }
  int look_to_end(Handle& handle, Handle comm, bool& done, Received& received) const override {
    auto request = from_handle<typename Abi::Request>(handle);
    typename Abi::Status status{};
    int flag = 0;
    const Quiet quiet(*this, comm);
    const int code = call_.test(&request, &flag, &status);
    handle = to_handle(request);
    return told(code, flag, status, done, received);
  }

  int free_request(Handle request) const override {
    auto given = from_handle<typename Abi::Request>(request);
    return call_.request_free(&given);
  }

  int begin_flush(Handle& request) const override {
    auto made = no_request();
    const int code = buffer_iflush_ != nullptr ? buffer_iflush_(&made) : Abi::kErrUnsupportedOperation;
    if (code == 0) request = to_handle(made);
    return code;
  }
  void progress() const override {
    // The probe is not on MPI_COMM_SELF, of which MPICH knows without looking at anything; and it is for a message
    // that is not there, since MPIs return at once with one that is.
    int flag = 0;
    (void)call_.iprobe(Abi::kAnySource, largest_tag(), from_handle<Comm>(world_), &flag,
                       reinterpret_cast<typename Abi::Status*>(Abi::kStatusIgnore));
  }

  int begin_placeholder(Handle& request) const override {
    auto made = no_request();
    // It asks for the status while the library, and this object, are there.
    const int code = call_.grequest_start(
        [](void* library, typename Abi::Status* status) {
          const auto& own = *static_cast<const Library*>(library);
          *status = own.empty_status();
          return 0;
        },
        [](void*) { return 0; }, [](void*, int) { return 0; }, const_cast<Library*>(this), &made);
    if (code == 0) request = to_handle(made);
    return code;
  }
  int end_placeholder(Handle request) const override {
    return call_.grequest_complete(from_handle<typename Abi::Request>(request));
  }
  /// Returns the status of a request that was not a message's.
  typename Abi::Status empty_status() const {
    typename Abi::Status status{};
    auto none = from_handle<typename Abi::Request>(request_null_);
    int flag = 0;
    (void)call_.test(&none, &flag, &status);
    return status;
  }

  int fail(Handle comm, int code) const override {
    const auto heard = from_handle<Comm>(comm == kNoHandle || comm == comm_null_ ? world_ : comm);
    typename Abi::Errhandler handler;
    if (call_.comm_get_errhandler(heard, &handler) == 0) end_if_fatal(handler, code);
    (void)call_.comm_call_errhandler(heard, code);
    return code;
  }
  /// Ends the job where `handler`, which is about to be called and of which this is a reference, would end it.
  /// MPICH's own handler, called, ends this process, and beside a rank that was killed (mpiexec
  /// -disable-auto-cleanup) one time in five not the others.
  void end_if_fatal(typename Abi::Errhandler handler, int code) const {
    if (to_handle(handler) == errors_are_fatal_) (void)call_.abort(from_handle<Comm>(world_), code);
    (void)call_.errhandler_free(&handler);
  }

  typename Abi::Errhandler errors_return() const { return from_handle<typename Abi::Errhandler>(errors_return_); }
  bool is_fatal_or_returns(typename Abi::Errhandler handler) const {
    return to_handle(handler) == errors_are_fatal_ || to_handle(handler) == errors_return_;
  }

  /// Returns a handle of this library; 0 where it has none.
  static Handle predefined(const Predefined& one, void* library) {
    if constexpr (Abi::kFlavour == Flavour::standard) return one.standard;
    if constexpr (Abi::kFlavour == Flavour::mpich) return one.mpich;
    // A program in C has a copy of the library's data, which everybody then uses (a copy relocation): what counts is
    // what the program finds, not what the library defines.
    void* const found = dlsym(RTLD_DEFAULT, one.openmpi);
    return reinterpret_cast<std::uintptr_t>(found != nullptr ? found : dlsym(library, one.openmpi));
  }

 private:
  /// While it lives, an error of a call on this communicator, or kNoHandle, is a code and no more: calls of the
  /// drop-in's own on communicators of the program's. Some 100 ns, 50 where the program has it so itself.
  class Quiet {
   public:
    Quiet(const Library& library, Handle comm) : library_(library), comm_(from_handle<Comm>(comm)) {
      typename Abi::Errhandler before;
      if (comm == kNoHandle || comm == library.comm_null_ || call().comm_get_errhandler(comm_, &before) != 0) return;
      before_ = before;
      if (to_handle(before) == library.errors_return_) return;
      is_set_ = call().comm_set_errhandler(comm_, from_handle<typename Abi::Errhandler>(library.errors_return_)) == 0;
    }
    ~Quiet() {
      if (is_set_) (void)call().comm_set_errhandler(comm_, *before_);
      if (before_) (void)call().errhandler_free(&*before_);
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    const Profiling<Abi>& call() const { return library_.call_; }
    const Library& library_;
    const Comm comm_;
    std::optional<typename Abi::Errhandler> before_;
    bool is_set_ = false;
  };

  /// Quiet for calls that name no communicator: MPI_COMM_SELF's handler hears of their errors, before MPI 4.0 that of
  /// MPI_COMM_WORLD. A program that has begun a session only has neither communicator.
  class QuietWithout {
   public:
    explicit QuietWithout(const Library& library)
        : QuietWithout(library, library.has_world_.load(std::memory_order_relaxed)) {}

   private:
    QuietWithout(const Library& library, bool has_world)
        : of_self_(library, has_world ? library.self_ : kNoHandle),
          of_world_(library, has_world ? library.world_ : kNoHandle) {}
    const Quiet of_self_, of_world_;
  };

  typename Abi::Request no_request() const { return from_handle<typename Abi::Request>(request_null_); }
  /// Fills in what a look at a request has told, and returns MPI's code.
  int told(int code, int flag, const typename Abi::Status& status, bool& done, Received& received) const {
    static_assert(sizeof status <= sizeof received.status);
    std::memcpy(received.status.data(), &status, sizeof status);
    done = code == 0 && flag != 0;
    int cancelled = 0;
    if (done) code = call_.test_cancelled(&status, &cancelled);
    received.cancelled = cancelled != 0;
    if (done && code == 0 && !received.cancelled) code = call_.get_elements_x(&status, byte_, &received.bytes);
    return code;
  }
  template <class Of>
  int add_world_ranks(Of of, int (*group_of)(Of, typename Abi::Group*), std::vector<int>& ranks) const {
    typename Abi::Group group;
    int code = group_of != nullptr ? group_of(of, &group) : Abi::kErrOther;
    if (code != 0) return code;
    code = add_world_ranks(group, ranks);
    (void)call_.group_free(&group);
    return code;
  }
  /// Negative for those of other jobs.
  int add_world_ranks(typename Abi::Group group, std::vector<int>& ranks) const {
    typename Abi::Group world;
    int size = 0;
    int code = call_.comm_group(from_handle<Comm>(world_), &world);
    if (code != 0) return code;
    code = call_.group_size(group, &size);
    std::vector<int> own(static_cast<std::size_t>(size)), found(own.size(), -1);
    std::iota(own.begin(), own.end(), 0);
    if (code == 0) code = call_.group_translate_ranks(group, size, own.data(), world, found.data());
    for (const int rank : found) ranks.push_back(rank == Abi::kUndefined ? -1 : rank);
    (void)call_.group_free(&world);
    return code;
  }
  Library() = default;

  Profiling<Abi> call_{};
  int (*file_get_group_)(typename Abi::File, typename Abi::Group*) = nullptr;  ///< null where it has no files
  int (*win_get_group_)(typename Abi::Win, typename Abi::Group*) = nullptr;
  int (*buffer_iflush_)(typename Abi::Request*) = nullptr;       ///< of MPI 4.1
  int (*comm_is_revoked_)(Comm, int*) = nullptr;                 ///< null where the library has no fault tolerance
  int (*request_is_complete_)(typename Abi::Request) = nullptr;  ///< MPICH's, which lets nothing progress
  mutable std::once_flag tag_asked_;
  mutable int largest_tag_ = std::numeric_limits<int>::max();
  static constexpr int kErrProcFailed = 75;                     ///< MPI_ERR_PROC_FAILED of Open MPI 5
  static constexpr int kErrProcFailedPending = 76;              ///< and MPI_ERR_PROC_FAILED_PENDING
  static constexpr int kErrRevoked = 77;                        ///< and MPI_ERR_REVOKED
  bool (*request_is_failed_)(typename Abi::Request) = nullptr;  ///< of Open MPI, which ends a request that has failed
  const bool* is_fault_tolerant_ = nullptr;                     ///< of Open MPI: whether a job was started so
  LibraryTypes<Abi> types_{call_};
  std::atomic<bool> has_world_ = false;
  Handle world_ = 0, self_ = 0, comm_null_ = 0, request_null_ = 0, info_null_ = 0, datatype_null_ = 0;
  Handle op_null_ = 0;
  Handle errors_are_fatal_ = 0, errors_return_ = 0;
  Datatype byte_{};
  std::unordered_map<Handle, device::Operator> ops_;
  std::map<device::Operator, Handle> handles_of_ops_;
};

}  // namespace sennit::shim::mpi
