// Shows the program's MPI library, of one ABI, as far as windows go.
#pragma once

#include <algorithm>
#include <cstring>

#include "shim/mpi/abi/library.h"
#include "shim/mpi/rma/window_mpi.h"

namespace sennit::shim::mpi {

template <class Abi>
class WindowLibrary final : public WindowMpi {
 public:
  using Comm = typename Abi::Comm;
  using Datatype = typename Abi::Datatype;
  using Group = typename Abi::Group;
  using Op = typename Abi::Op;
  using Request = typename Abi::Request;
  using Status = typename Abi::Status;
  using Win = typename Abi::Win;

  /// `library`: as dlopen() names it.
  WindowLibrary(void* library, const Library<Abi>& rest) : rest_(rest) {
    complete_ = find(library, call_);
    for (const Predefined& one : kPredefined) {
      if (one.name == "MPI_REPLACE") replace_ = Library<Abi>::predefined(one, library);
      if (one.name == "MPI_NO_OP") no_op_ = Library<Abi>::predefined(one, library);
    }
  }
  /// Returns whether the library has all functions of MPI 3.0 that are needed.
  bool complete() const { return complete_; }

  int err_range() const override { return Abi::kErrRmaRange; }
  int err_attach() const override { return Abi::kErrRmaAttach; }
  int fail(Handle window, int code) const override {
    const auto win = from_handle<Win>(window);
    typename Abi::Errhandler handler;
    if (call_.win_get_errhandler(win, &handler) == 0) rest_.end_if_fatal(handler, code);
    (void)call_.win_call_errhandler(win, code);
    return code;
  }

  int check(Handle window, int rank) const override {
    char nothing = 0;
    const auto win = from_handle<Win>(window);
    return quietly(win, [&] { return call_.put(&nothing, 0, rest_.byte(), rank, 0, 0, rest_.byte(), win); });
  }
  int check(Handle window, int rank, Handle type, Handle op) const override {
    if (op == no_op_) return check(window, rank);  // which is none of MPI_Accumulate's
    char nothing = 0;
    const auto win = from_handle<Win>(window);
    const auto element = from_handle<Datatype>(type);
    return quietly(
        win, [&] { return call_.accumulate(&nothing, 0, element, rank, 0, 0, element, from_handle<Op>(op), win); });
  }
  int hold(Handle window, int rank) const override {
    std::uint64_t unused = 0;
    const auto win = from_handle<Win>(window);
    const int code = quietly(win, [&] {
      const int got = call_.get(&unused, sizeof unused, rest_.byte(), rank, 0, sizeof unused, rest_.byte(), win);
      return got == 0 ? call_.win_flush(rank, win) : got;
    });
    return code == 0 ? 0 : fail(window, code);
  }
  int begin_nothing(Handle window, int rank, void* request) const override {
    static char nothing = 0;
    const auto win = from_handle<Win>(window);
    const int code = quietly(win, [&] {
      return call_.rput(&nothing, 0, rest_.byte(), rank, 0, 0, rest_.byte(), win, static_cast<Request*>(request));
    });
    return code == 0 ? 0 : fail(window, code);
  }
  int wait(void* request) const override {
    return call_.wait(static_cast<Request*>(request), reinterpret_cast<Status*>(Abi::kStatusIgnore));
  }

  int ranks(Handle group, Handle comm, std::vector<int>& ranks) const override {
    const auto some = from_handle<Group>(group);
    Group all;
    int size = 0;
    int code = rest_.call().comm_group(from_handle<Comm>(comm), &all);
    if (code != 0) return code;
    code = rest_.call().group_size(some, &size);
    std::vector<int> own(static_cast<std::size_t>(size));
    std::iota(own.begin(), own.end(), 0);
    ranks.assign(own.size(), -1);
    if (code == 0) code = rest_.call().group_translate_ranks(some, size, own.data(), all, ranks.data());
    (void)rest_.call().group_free(&all);
    return code;
  }
  int post(Handle comm, int rank) const override {
    static char nothing = 0;
    Request request;
    const int code = call_.isend(&nothing, 0, rest_.byte(), rank, 0, from_handle<Comm>(comm), &request);
    return code == 0 ? call_.request_free(&request) : code;
  }
  int begin_await(Handle comm, int rank, Handle& request) const override {
    static char nothing = 0;
    Request made;
    const int code = call_.irecv(&nothing, 0, rest_.byte(), rank, 0, from_handle<Comm>(comm), &made);
    request = to_handle(made);
    return code;
  }

  Handle element_of(Handle handle) const override {
    const auto type = from_handle<Datatype>(handle);
    Shape shape;
    if (rest_.shape(handle, shape) != 0) return handle;
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    if (rest_.call().type_get_envelope(type, &integers, &addresses, &types, &combiner) != 0 ||
        combiner == Abi::kCombinerNamed || types == 0)
      return handle;
    std::vector<int> numbers(static_cast<std::size_t>(integers));
    std::vector<Aint> places(static_cast<std::size_t>(addresses));
    std::vector<Datatype> inner(static_cast<std::size_t>(types));
    if (rest_.call().type_get_contents(type, integers, addresses, types, numbers.data(), places.data(),
                                       inner.data()) != 0)
      return handle;
    // The first that has data.
    Handle found = kNoHandle;
    for (Datatype& one : inner) {
      Count size = 0;
      if (found == kNoHandle && rest_.call().type_size_x(one, &size) == 0 && size > 0)
        found = element_of(to_handle(one));
      int named = 0;
      if (rest_.call().type_get_envelope(one, &integers, &addresses, &types, &named) == 0 &&
          named != Abi::kCombinerNamed && to_handle(one) != found)
        (void)rest_.call().type_free(&one);
    }
    return found != kNoHandle ? found : handle;
  }
  int reduce(const void* in, void* inout, std::int64_t count, Handle type, Handle op) const override {
    if (op == no_op_) return 0;
    Shape shape;
    if (const int code = rest_.shape(type, shape); code != 0) return code;
    const auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(inout);
    if (op == replace_) {
      std::memcpy(to, from, static_cast<std::size_t>(count * shape.extent));
      return 0;
    }
    const bool reduces = rest_.numbers(type, op).has_value() || rest_.accepts(type, op);  // the first is soon told
    // MPI_Reduce_local is called for runs of elements that an int counts.
    constexpr std::int64_t kMost = 1 << 30;
    for (std::int64_t done = 0; done < count; done += kMost) {
      const auto* const piece = from + done * shape.extent;
      auto* const into = to + done * shape.extent;
      const auto now = static_cast<int>(std::min(kMost, count - done));
      const auto element = from_handle<Datatype>(type);
      const int code = reduces ? rest_.call().reduce_local(piece, into, now, element, from_handle<Op>(op))
                               : accumulate(piece, into, now * shape.extent, now, element, from_handle<Op>(op));
      if (code != 0) return code;
    }
    return 0;
  }
  bool is_no_op(Handle op) const override { return op == no_op_; }
  bool is_replace(Handle op) const override { return op == replace_; }

 private:
  /// Calls `call` on `win`; its error is a code alone. Only a function of the program's must be kept from it: MPICH
  /// returns success for what such a function has heard of.
  template <class Function>
  int quietly(Win win, const Function& call) const {
    typename Abi::Errhandler handler;
    if (call_.win_get_errhandler(win, &handler) != 0) return call();
    const bool set = !rest_.is_fatal_or_returns(handler) && call_.win_set_errhandler(win, rest_.errors_return()) == 0;
    const int code = call();
    if (set) (void)call_.win_set_errhandler(win, handler);
    (void)rest_.call().errhandler_free(&handler);
    return code;
  }
  /// Has the MPI accumulate a pair that it does not reduce: MPICH does all pairs in windows that it has code for.
  int accumulate(const void* in, void* inout, std::int64_t bytes, int count, Datatype type, Op op) const {
    const auto alone = rest_.alone();
    Win own;
    int code = call_.win_create(inout, bytes, 1, rest_.info_null(), alone.comm, &own);
    if (code != 0) return code;
    code = call_.win_fence(0, own);
    if (code == 0) code = call_.accumulate(in, count, type, 0, 0, count, type, op, own);
    if (code == 0) code = call_.win_fence(0, own);
    const int freed = call_.win_free(&own);
    return code != 0 ? code : freed;
  }

  const Library<Abi>& rest_;
  bool complete_ = false;
  Handle replace_ = 0, no_op_ = 0;
  WindowFunctions<Abi> call_;
};

}  // namespace sennit::shim::mpi
