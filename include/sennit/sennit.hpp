// sennit: one message over every path that pays. The C++20 face of sennit.h: owners that free themselves, errors as
// values. Header-only, over the C API alone; needs neither exceptions nor RTTI. What each call does, its units, order
// and errors stand in sennit.h, under the name in the comment beside it. It is long, as sennit.h is.
#ifndef SENNIT_SENNIT_HPP
#define SENNIT_SENNIT_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "sennit/sennit.h"

namespace sennit {
inline namespace face {

/// Says how a call went: SENNIT_OK, or a kind of failure with its text for people.
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// To be made on the thread of the call, directly after it.
  explicit Status(sennit_result result) : result_(result), text_(result == SENNIT_OK ? "" : sennit_last_error()) {}

  bool ok() const { return result_ == SENNIT_OK; }
  explicit operator bool() const { return ok(); }
  sennit_result result() const { return result_; }
  const std::string& text() const { return text_; }

 private:
  sennit_result result_ = SENNIT_OK;
  std::string text_;
};

/// A T, or the Status that says why there is none. Taking the value of a failure ends the process (std::abort): ask
/// ok() first.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return ok() ? *std::get_if<0>(&state_) : fail(); }
  T&& value() && { return std::move(value()); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  Status status() const { return ok() ? Status() : *std::get_if<1>(&state_); }

 private:
  [[noreturn]] T& fail() { __builtin_trap(); }
  std::variant<T, Status> state_;
};

/// Text of the library's, taken over.
inline std::string take_text(char* text) {
  std::string taken(text);
  sennit_text_free(text);
  return taken;
}

/// A machine. Movable; frees itself.
class Machine {
 public:
  /// sennit_machine_load
  static Result<Machine> load(const std::string& name_or_file) {
    sennit_machine* made = nullptr;
    const sennit_result result = sennit_machine_load(name_or_file.c_str(), &made);
    return result == SENNIT_OK ? Result<Machine>(Machine(made)) : Status(result);
  }
  /// sennit_machine_discover
  static Result<Machine> discover() {
    sennit_machine* made = nullptr;
    const sennit_result result = sennit_machine_discover(&made);
    return result == SENNIT_OK ? Result<Machine>(Machine(made)) : Status(result);
  }
  /// sennit_machine_json
  Result<std::string> json() const {
    char* text = nullptr;
    const sennit_result result = sennit_machine_json(handle(), &text);
    return result == SENNIT_OK ? Result<std::string>(take_text(text)) : Status(result);
  }
  /// sennit_explain_put
  Result<std::string> explain_put(const std::string& from, const std::string& to, std::uint64_t bytes) const {
    char* text = nullptr;
    const sennit_result result = sennit_explain_put(handle(), from.c_str(), to.c_str(), bytes, &text);
    return result == SENNIT_OK ? Result<std::string>(take_text(text)) : Status(result);
  }
  const sennit_machine* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(sennit_machine* machine) const { (void)sennit_machine_free(machine); }
  };
  explicit Machine(sennit_machine* made) : handle_(made) {}
  std::unique_ptr<sennit_machine, Free> handle_;
};

/// The program's own way to talk between ranks; see sennit_exchange.
struct Exchange {
  int rank = 0;
  int size = 1;
  /// (send, receive, bytes); true when every rank's bytes have arrived.
  std::function<bool(const void*, void*, std::size_t)> all_gather;
};

/// See sennit_options.
struct Options {
  int device = -1;
  double timeout_seconds = 0;
  const Machine* machine = nullptr;
  std::optional<Exchange> exchange;
  bool messages = false;
  int most_blocks = 0;
};

/// Memory of a communicator. Movable; frees itself. To be destroyed before its communicator.
class Memory {
 public:
  Memory() = default;
  Memory(sennit_comm* comm, void* data, std::uint64_t bytes) : data_(data, Free{comm}), bytes_(bytes) {}
  void* data() const { return data_.get(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    sennit_comm* comm;  // no default here: clang 14 to 17 would find that Memory has no default constructor
    void operator()(void* data) const { (void)sennit_memory_free(comm, data); }
  };
  std::unique_ptr<void, Free> data_;
  std::uint64_t bytes_ = 0;
};

/// Registered memory. Movable. Its end is collective: destroy or close() windows in the same order on every rank,
/// before their communicator.
class Window {
 public:
  explicit Window(sennit_window* made) : handle_(made) {}

  /// sennit_put
  Status put(int peer, std::uint64_t offset, const void* src, std::uint64_t bytes, void* stream = nullptr) {
    return Status(sennit_put(handle(), peer, offset, src, bytes, stream));
  }
  /// sennit_get
  Status get(int peer, std::uint64_t offset, void* dst, std::uint64_t bytes, void* stream = nullptr) {
    return Status(sennit_get(handle(), peer, offset, dst, bytes, stream));
  }
  /// sennit_window_bytes
  Result<std::uint64_t> bytes(int rank) const {
    std::uint64_t found = 0;
    const sennit_result result = sennit_window_bytes(handle_.get(), rank, &found);
    return result == SENNIT_OK ? Result<std::uint64_t>(found) : Status(result);
  }
  /// sennit_deregister
  Status close() { return Status(sennit_deregister(handle_.release())); }
  sennit_window* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(sennit_window* window) const { (void)sennit_deregister(window); }
  };
  std::unique_ptr<sennit_window, Free> handle_;
};

/// An end of a partitioned message. Movable; frees itself, also with a start that is not over once its communicator
/// has failed. To be destroyed before its communicator. Ranges have both their ends.
class Partitioned {
 public:
  explicit Partitioned(sennit_partitioned* made) : handle_(made) {}

  /// sennit_partitioned_start
  Status start() {
    sennit_partitioned* const one = handle();
    return Status(sennit_partitioned_start(&one, 1));
  }
  /// sennit_partitioned_test
  Result<bool> test() {
    sennit_partitioned* const one = handle();
    int done = 0;
    const sennit_result result = sennit_partitioned_test(&one, 1, &done);
    return result == SENNIT_OK ? Result<bool>(done == 1) : Status(result);
  }
  /// sennit_partitioned_wait
  Status wait() {
    sennit_partitioned* const one = handle();
    return Status(sennit_partitioned_wait(&one, 1));
  }
  /// sennit_partitioned_free; where that fails, the end goes with its communicator.
  Status close() { return Status(sennit_partitioned_free(handle_.release())); }
  sennit_partitioned* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(sennit_partitioned* one) const { (void)sennit_partitioned_free(one); }
  };
  std::unique_ptr<sennit_partitioned, Free> handle_;
};

/// The end that sends.
class PartitionedSend : public Partitioned {
 public:
  using Partitioned::Partitioned;

  /// sennit_partitioned_ready
  Status ready(std::uint32_t first, std::uint32_t last) {
    return Status(sennit_partitioned_ready(handle(), first, last));
  }
  Status ready(std::uint32_t partition) { return ready(partition, partition); }
  /// sennit_partitioned_ready_list
  Status ready_list(const std::uint32_t* which, std::uint32_t count) {
    return Status(sennit_partitioned_ready_list(handle(), which, count));
  }
  /// sennit_partitioned_enqueue_ready
  Status enqueue_ready(std::uint32_t first, std::uint32_t last, void* stream = nullptr) {
    return Status(sennit_partitioned_enqueue_ready(handle(), first, last, stream));
  }
};

/// The end that receives.
class PartitionedReceive : public Partitioned {
 public:
  using Partitioned::Partitioned;

  /// sennit_partitioned_arrived
  Result<bool> arrived(std::uint32_t first, std::uint32_t last) {
    int have = 0;
    const sennit_result result = sennit_partitioned_arrived(handle(), first, last, &have);
    return result == SENNIT_OK ? Result<bool>(have == 1) : Status(result);
  }
  /// sennit_partitioned_enqueue_await
  Status enqueue_await(std::uint32_t first, std::uint32_t last, void* stream = nullptr) {
    return Status(sennit_partitioned_enqueue_await(handle(), first, last, stream));
  }
};

/// The ranks of a job. Movable. Its end is collective: destroy or close() communicators in the same order on every
/// rank. It has more than 25 functions: all that sennit.h has of a communicator.
class Communicator {
 public:
  /// sennit_comm_create
  static Result<Communicator> create(const Options& options = {}) {
    sennit_options asked = SENNIT_OPTIONS_INIT;
    asked.device = options.device;
    asked.timeout_seconds = options.timeout_seconds;
    asked.messages = options.messages ? 1 : 0;
    asked.most_blocks = options.most_blocks;
    if (options.machine != nullptr) asked.machine = options.machine->handle();
    std::unique_ptr<Exchange> exchange;
    sennit_exchange talk{};
    if (options.exchange) {
      exchange = std::make_unique<Exchange>(*options.exchange);
      talk = {exchange->rank, exchange->size, all_gather, exchange.get()};
      asked.exchange = &talk;
    }
    sennit_comm* made = nullptr;
    const sennit_result result = sennit_comm_create(&asked, &made);
    return result == SENNIT_OK ? Result<Communicator>(Communicator(made, std::move(exchange))) : Status(result);
  }

  /// sennit_comm_split; none for a rank with a negative color.
  Result<std::optional<Communicator>> split(int color, int key = 0) {
    sennit_comm* made = nullptr;
    if (const sennit_result result = sennit_comm_split(handle(), color, key, &made); result != SENNIT_OK)
      return Status(result);
    if (made == nullptr) return std::optional<Communicator>();
    return std::optional<Communicator>(Communicator(made, nullptr));
  }

  Communicator(Communicator&&) noexcept = default;
  /// The communicator that was here ends first, and may still talk through its own exchange.
  Communicator& operator=(Communicator&& other) noexcept {
    handle_ = std::move(other.handle_);
    exchange_ = std::move(other.exchange_);
    return *this;
  }

  int rank() const { return sennit_comm_rank(handle()); }
  int size() const { return sennit_comm_size(handle()); }
  int device() const { return sennit_comm_device(handle()); }
  int node_size() const { return sennit_comm_node_size(handle()); }
  bool same_node(int rank) const { return sennit_comm_same_node(handle(), rank) == 1; }
  Status check() const { return Status(sennit_comm_check(handle())); }
  Status abort(const std::string& why) { return Status(sennit_comm_abort(handle(), why.c_str())); }
  Status barrier() { return Status(sennit_comm_barrier(handle())); }

  /// sennit_memory_allocate
  Result<Memory> allocate(std::uint64_t bytes) { return allocate(sennit_memory_allocate, bytes); }
  /// sennit_memory_allocate_pinned
  Result<Memory> allocate_pinned(std::uint64_t bytes) { return allocate(sennit_memory_allocate_pinned, bytes); }
  /// sennit_register
  Result<Window> open(void* data, std::uint64_t bytes) { return open(sennit_register, data, bytes); }
  /// sennit_register_symmetric
  Result<Window> open_symmetric(void* data, std::uint64_t bytes) {
    return open(sennit_register_symmetric, data, bytes);
  }
  /// sennit_copy
  Status copy(void* dst, const void* src, std::uint64_t bytes, void* stream = nullptr) {
    return Status(sennit_copy(handle(), dst, src, bytes, stream));
  }
  /// sennit_allreduce
  Status allreduce(const void* input, void* output, std::uint64_t count, sennit_type type,
                   sennit_operator op = SENNIT_SUM, const void* scale = nullptr, void* stream = nullptr) {
    return Status(sennit_allreduce(handle(), input, output, count, type, op, scale, stream));
  }
  /// sennit_reduce
  Status reduce(const void* input, void* output, std::uint64_t count, sennit_type type, int root,
                sennit_operator op = SENNIT_SUM, const void* scale = nullptr, void* stream = nullptr) {
    return Status(sennit_reduce(handle(), input, output, count, type, op, scale, root, stream));
  }
  /// sennit_reduce_scatter
  Status reduce_scatter(const void* input, void* output, std::uint64_t count, sennit_type type,
                        sennit_operator op = SENNIT_SUM, const void* scale = nullptr, void* stream = nullptr) {
    return Status(sennit_reduce_scatter(handle(), input, output, count, type, op, scale, stream));
  }
  /// sennit_allgather
  Status allgather(const void* input, void* output, std::uint64_t count, sennit_type type, void* stream = nullptr) {
    return Status(sennit_allgather(handle(), input, output, count, type, stream));
  }
  /// sennit_broadcast
  Status broadcast(const void* input, void* output, std::uint64_t count, sennit_type type, int root,
                   void* stream = nullptr) {
    return Status(sennit_broadcast(handle(), input, output, count, type, root, stream));
  }
  /// sennit_gather
  Status gather(const void* input, void* output, std::uint64_t count, sennit_type type, int root,
                void* stream = nullptr) {
    return Status(sennit_gather(handle(), input, output, count, type, root, stream));
  }
  /// sennit_scatter
  Status scatter(const void* input, void* output, std::uint64_t count, sennit_type type, int root,
                 void* stream = nullptr) {
    return Status(sennit_scatter(handle(), input, output, count, type, root, stream));
  }
  /// sennit_all_to_all
  Status all_to_all(const void* input, void* output, std::uint64_t count, sennit_type type, void* stream = nullptr) {
    return Status(sennit_all_to_all(handle(), input, output, count, type, stream));
  }
  /// sennit_all_to_all_v
  Status all_to_all_v(const void* input, const std::uint64_t* send_counts, const std::uint64_t* send_offsets,
                      void* output, const std::uint64_t* receive_counts, const std::uint64_t* receive_offsets,
                      sennit_type type, void* stream = nullptr) {
    return Status(sennit_all_to_all_v(handle(), input, send_counts, send_offsets, output, receive_counts,
                                      receive_offsets, type, stream));
  }
  /// sennit_barrier
  Status stream_barrier(void* stream = nullptr) { return Status(sennit_barrier(handle(), stream)); }
  /// sennit_send_receive
  Status send_receive(const sennit_message* messages, int count, void* stream = nullptr) {
    return Status(sennit_send_receive(handle(), messages, count, stream));
  }
  /// sennit_send_partitioned
  Result<PartitionedSend> send_partitioned(const void* data, std::uint32_t partitions, std::uint64_t bytes_each,
                                           int peer, int tag) {
    sennit_partitioned* made = nullptr;
    const sennit_result result = sennit_send_partitioned(handle(), data, partitions, bytes_each, peer, tag, &made);
    return result == SENNIT_OK ? Result<PartitionedSend>(PartitionedSend(made)) : Status(result);
  }
  /// sennit_receive_partitioned
  Result<PartitionedReceive> receive_partitioned(void* data, std::uint32_t partitions, std::uint64_t bytes_each,
                                                 int peer, int tag) {
    sennit_partitioned* made = nullptr;
    const sennit_result result = sennit_receive_partitioned(handle(), data, partitions, bytes_each, peer, tag, &made);
    return result == SENNIT_OK ? Result<PartitionedReceive>(PartitionedReceive(made)) : Status(result);
  }
  /// sennit_synchronize
  Status synchronize(void* stream = nullptr) { return Status(sennit_synchronize(handle(), stream)); }
  /// sennit_comm_destroy
  Status close() { return Status(sennit_comm_destroy(handle_.release())); }
  sennit_comm* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(sennit_comm* comm) const { (void)sennit_comm_destroy(comm); }
  };
  Communicator(sennit_comm* made, std::unique_ptr<Exchange> exchange)
      : exchange_(std::move(exchange)), handle_(made) {}

  static int all_gather(void* context, const void* send, void* receive, std::size_t bytes) {
    return static_cast<Exchange*>(context)->all_gather(send, receive, bytes) ? 0 : 1;
  }
  Result<Window> open(sennit_result (*how)(sennit_comm*, void*, std::uint64_t, sennit_window**) noexcept, void* data,
                      std::uint64_t bytes) {
    sennit_window* made = nullptr;
    const sennit_result result = how(handle(), data, bytes, &made);
    return result == SENNIT_OK ? Result<Window>(Window(made)) : Status(result);
  }
  Result<Memory> allocate(sennit_result (*how)(sennit_comm*, std::uint64_t, void**) noexcept, std::uint64_t bytes) {
    void* data = nullptr;
    const sennit_result result = how(handle(), bytes, &data);
    return result == SENNIT_OK ? Result<Memory>(Memory(handle(), data, bytes)) : Status(result);
  }

  std::unique_ptr<Exchange> exchange_;  // outlives the handle, whose end still talks
  std::unique_ptr<sennit_comm, Free> handle_;
};

}  // namespace face
}  // namespace sennit

#endif  // SENNIT_SENNIT_HPP
