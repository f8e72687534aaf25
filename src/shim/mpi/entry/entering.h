// Takes a call of any function that takes memory on its way, over its description (description.h).
//
// 1. An entry point makes a Frame of its arguments. Sends and receives of host memory, whose time counts, are left to
//    the MPI before that.
// 2. All ranks come first to a call that only the MPI carries out (maker, file, neighbor …).
// 3. Where no buffer has to do with GPU memory, the call is left to the MPI (pass_on): by the program's own function,
//    or, while requests move that the drop-in looks after, by one that does not block.
// 4. Else the frame becomes a Call, and performing.h carries that out.
#pragma once

#include <array>
#include <new>
#include <stdexcept>

#include "shim/mpi/call/frame.h"
#include "shim/mpi/entry/performing.h"
#include "shim/mpi/entry/reordering.h"
#include "shim/mpi/entry/touching.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
int Wait(typename Abi::Request* request, typename Abi::Status* status);
template <class Abi>
int wait_for_two(typename Abi::Request* requests, typename Abi::Status* statuses, std::span<int> codes);
template <class Abi, class Int>
int send_and_receive(const void* sendbuf, Int sendcount, typename Abi::Datatype sendtype, int dest, int sendtag,
                     void* recvbuf, Int recvcount, typename Abi::Datatype recvtype, int source, int recvtag,
                     typename Abi::Comm comm, typename Abi::Status* status);
template <class Abi, class Int>
int send_and_receive_in_place(void* buf, Int count, typename Abi::Datatype datatype, int dest, int sendtag,
                              int source, int recvtag, typename Abi::Comm comm, typename Abi::Status* status);

/// MPI_Sendrecv and MPI_Sendrecv_replace by a send and a receive that end in requests.
template <class Abi, class Int>
int exchange_by_two_requests(const Frame& frame) {
  using Type = typename Abi::Datatype;
  using Comm = typename Abi::Comm;
  using Status = typename Abi::Status;
  if (frame.of->family == Family::Sendrecv) {
    const auto all = &call_with_bits<const void*, Int, Type, int, int, void*, Int, Type, int, int, Comm, Status*>;
    return all(reinterpret_cast<void*>(&send_and_receive<Abi, Int>), frame.bits.data());
  }
  const auto all = &call_with_bits<void*, Int, Type, int, int, int, int, Comm, Status*>;
  return all(reinterpret_cast<void*>(&send_and_receive_in_place<Abi, Int>), frame.bits.data());
}

/// Makes a send or a receive that blocks, by the function that ends in a request, so that requests that the drop-in
/// looks after move while it waits.
template <class Abi, class Int>
int message_by_request(const Frame& frame) {
  auto request = no_request<Abi>();
  Frame pending = frame;
  // The request stands in the place of the status, or behind the last argument.
  pending.bits[6] = to_bits(&request);
  pending.function = own_function<Abi>(frame.of->nonblocking);
  pending.caller =
      &call_with_bits<void*, Int, typename Abi::Datatype, int, int, typename Abi::Comm, typename Abi::Request*>;
  const int code = pending.call();
  if (code != 0 || is_none<Abi>(request)) return code;
  const bool receives = frame.of->status != kAbsent;
  auto* const status = receives ? frame.pointer<typename Abi::Status>(frame.of->status) : ignored<Abi>();
  return wait_moving<Abi>(&request, status);
}

/// Leaves a call to the MPI.
template <class Abi>
int pass_on(const Frame& frame) {
  DropIn& here = drop_in<Abi>();
  const Description& of = *frame.of;
  if (of.blocks_all()) {
    // Requests of GPU memory move until all ranks have come that may wait for one: the MPI would not move them.
    const auto hold_rts = here.arrivals.hold_rts();
    if (const auto code = here.arrivals.wait_for_all(of.name, frame.handle(of.comm))) return *code;
    return frame.call();
  }
  const bool may_block = of.nonblocking != kNoEntry || (of.kind == Kind::exchange && of.form == Form::blocking);
  if (!may_block || !here.requests.busy()) return frame.call();
  if (of.kind == Kind::exchange)
    return of.large ? exchange_by_two_requests<Abi, Count>(frame) : exchange_by_two_requests<Abi, int>(frame);
  return of.large ? message_by_request<Abi, Count>(frame) : message_by_request<Abi, int>(frame);
}

/// MPICH's files are pointers, unlike its other handles.
template <class Abi>
Handle file_of(const Frame& frame) {
  return to_handle(from_bits<typename Abi::File>(frame.bits[frame.of->file]));
}

/// Does what comes before a call of all ranks that is the MPI's alone: calls that wait for their turn begin, as the
/// MPI may match both in one order, and requests of GPU memory move until each rank has come. Returns what the
/// program is told where a rank was lost.
template <class Abi>
std::optional<int> let_all_come_first(const Frame& frame) {
  DropIn& here = drop_in<Abi>();
  const Description& of = *frame.of;
  if (of.all_of_file) {
    const bool is_closed = of.family == Family::File_close;
    return here.arrivals.arrive(
        of.name, Shared::file,
        is_closed ? to_handle(*frame.pointer<typename Abi::File>(of.file)) : file_of<Abi>(frame));
  }
  const Handle comm = frame.handle(of.comm);
  if (of.kind == Kind::grouped)
    return here.arrivals.arrive(of.name, comm, frame.handle(of.group), frame.number(of.tag));
  if (of.peer_comm == kAbsent) return here.arrivals.arrive(of.name, comm);
  return here.arrivals.arrive(of.name, comm,
                              {frame.number(of.local_leader), frame.handle(of.peer_comm),
                               frame.number(of.remote_leader), frame.number(of.tag)});
}

/// Calls of all ranks without memory, such as those that make communicators, files and windows.
template <class Abi>
int make(const Frame& frame) {
  DropIn& here = drop_in<Abi>();
  const Description& of = *frame.of;
  if (of.family == Family::File_close)
    here.arrivals.forget(Shared::file, to_handle(*frame.pointer<typename Abi::File>(of.file)));
  if (here.job.reorder)
    if (const auto made = make_reordered<Abi>(frame)) return *made;
  const int code = frame.call();
  if (code != 0 || of.kind != Kind::maker) return code;
  const Handle comm = frame.handle(of.comm);
  if (of.file != kAbsent)
    here.arrivals.name(Shared::file, to_handle(*frame.pointer<typename Abi::File>(of.file)), comm);
  if (of.window != kAbsent)
    here.arrivals.name(Shared::window, to_handle(*frame.pointer<typename Abi::Win>(of.window)), comm);
  return code;
}

/// Calls of all ranks that end in a request: they may have to be made later, and then keep copies of what they need.
template <class Abi>
int begin_in_turn(const Call& call, const Frame& frame) {
  Arrays given;
  std::array<Argument, kMostArguments> which{};
  std::size_t count = 0;
  frame.visit_arrays(call, [&](Argument argument, std::size_t bytes, bool known, int elements) {
    given.add(frame.pointer(argument), bytes, known, elements);
    which[count++] = argument;
  });
  const auto real = [frame, which, count](const StandIns& memory, void* tail, const Arrays& arrays) {
    Frame later = frame;
    for (std::size_t i = 0; i < count; ++i) later[which[i]] = to_bits(arrays.get(i));
    return later.call(memory, tail);
  };
  return begin<Abi>(call, real, std::move(given), frame.pointer<typename Abi::Request>(frame.of->request));
}

template <class Abi>
int send_by(const Call& call, const Frame& frame, const RealCall& real) {
  const Description& of = *frame.of;
  auto* const request = frame.pointer<typename Abi::Request>(of.request);
  if (of.family == Family::Bsend)
    return request != nullptr ? perform<Abi>(call, real, request, "buffered")
                              : perform<Abi>(call, real, nullptr, "buffered");
  if (of.form == Form::persistent) return send_again_and_again<Abi>(call, real, request);
  // A send that is done at once may have a handle that stands for all such sends.
  void* const how = of.synchronous != kNoEntry ? own_function<Abi>(of.synchronous) : nullptr;
  const auto send_rts = [&](const void* rts, int length, void* tail) {
    return frame.send(how, rts, length, to_handle(byte<Abi>()), tail);
  };
  return send<Abi>(call, real, send_rts, request);
}

/// Carries out a call that has to do with GPU memory.
template <class Abi>
[[gnu::noinline]] int carry_out(const Frame& frame) {
  const Description& of = *frame.of;
  auto* const request = frame.pointer<typename Abi::Request>(of.request);
  Handle comm = frame.handle(of.comm);
  if (of.message != kAbsent) comm = comm_of<Abi>(frame.pointer<const typename Abi::Message>(of.message));
  Call call = frame.describe(mpi<Abi>(), comm);
  const auto real = [&](const StandIns& memory, void* tail) { return frame.call(memory, tail); };
  switch (of.kind) {
    case Kind::rma: {
      const bool has_count = of.target_count != kAbsent;
      const Remote remote{frame.handle(of.window),
                          frame.number(of.target_rank),
                          frame.integer(of.target_place),
                          has_count ? frame.integer(of.target_count) : 1,
                          has_count ? frame.handle(of.target_type) : frame.handle(of.buffer[0].elements.type),
                          frame.handle(of.op)};
      if (of.request != kAbsent) make_none<Abi>(request);
      return one_sided<Abi>(call, remote, real, request);
    }
    case Kind::collective:
    case Kind::neighbor:
      if (of.takes_turns()) return begin_in_turn<Abi>(call, frame);
      if (of.kind == Kind::collective && of.form == Form::persistent) return repeat<Abi>(call, real, request);
      break;
    case Kind::send: return send_by<Abi>(call, frame, real);
    case Kind::partitioned: return begin_partitioned<Abi>(call, real, frame.number(of.partitions), request);
    case Kind::split: return begin_split<Abi>(call, real, from_handle<typename Abi::File>(file_of<Abi>(frame)));
    default: break;
  }
  if (of.request != kAbsent) return perform<Abi>(call, real, request);
  if (of.status != kAbsent) return perform<Abi>(call, real, frame.pointer<typename Abi::Status>(of.status));
  return perform<Abi>(call, real, nullptr);
}

/// Returns whether the call is left to the MPI, where its memory is the host's.
template <class Abi>
bool is_left(const Frame& frame) {
  DropIn& here = drop_in<Abi>();
  const Description& of = *frame.of;
  if (touches<Abi>(frame)) return false;
  if (of.kind == Kind::rma) return here.rma.windows() == nullptr;
  if (of.kind == Kind::receive || of.kind == Kind::exchange) {
    const bool request = of.request != kAbsent;
    const ElementsOf& received = of.buffer[of.buffers - 1u].elements;
    // Its length, which takes a call of the MPI to know, is asked for only where receives are looked at.
    return here.receives.ignores(request) ||
           too_short<Abi>(frame.integer(received.count), frame.handle(received.type)) ||
           !here.receives.begin_to_watch(request);
  }
  if (!of.takes_turns()) return true;
  const Handle comm = frame.handle(of.comm);
  return of.kind == Kind::collective ? here.queue.vote_no_at_once(comm) : !here.queue.waits(comm);
}

/// Makes one call of any function.
template <class Abi>
int enter_unguarded(const Frame& frame) {
  DropIn& here = drop_in<Abi>();
  const Description& of = *frame.of;
  const auto hold_rts = of.comes_first() ? here.arrivals.hold_rts() : PeerQuery::RtsHold();
  if (of.comes_first())
    if (const auto code = let_all_come_first<Abi>(frame)) return *code;
  if (of.is_without_memory()) return make<Abi>(frame);
  const ElementsOf& first = of.buffer[0].elements;
  const auto sending = of.kind == Kind::exchange
                           ? note<Abi>(frame.integer(first.count), frame.handle(first.type), frame.number(of.dest),
                                       frame.number(of.send_tag), frame.handle(of.comm), of.form)
                           : msg::LookAlikes::Sending();
  if (is_left<Abi>(frame)) {
    if (of.blocks_all())
      if (const auto code = here.arrivals.vote_no(of.name, frame.handle(of.comm))) return *code;
    if (of.kind == Kind::collective && of.form == Form::persistent)
      here.persistent.init_of_host(frame.handle(of.comm));
    return pass_on<Abi>(frame);
  }
  if (of.kind == Kind::exchange && of.form == Form::blocking)
    return of.large ? exchange_by_two_requests<Abi, Count>(frame) : exchange_by_two_requests<Abi, int>(frame);
  return carry_out<Abi>(frame);
}

/// Calls function(frame); no exception of the drop-in's own reaches the program, which may be in C (guarded.h).
template <class Abi, class Function>
int guard(const Frame& frame, const Function& function) {
  try {
    return function(frame);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more than any memory has
  }
  const Description& of = *frame.of;
  if (of.comm != kAbsent) return Teller<Abi>::fail(Handler::communicator, frame.handle(of.comm));
  if (of.window != kAbsent) return Teller<Abi>::fail(Handler::window, frame.handle(of.window));
  return Teller<Abi>::fail(Handler::none, kNoHandle);
}

template <class Abi>
[[gnu::noinline]] int enter_frame(const Frame& frame) {
  return guard<Abi>(frame, &enter_unguarded<Abi>);
}

template <class Abi, Entry entry, class... A>
Frame frame_of(A... a) {
  static_assert(sizeof...(A) <= kMostArguments);
  Frame frame;
  frame.of = &description_of(entry);
  frame.bits = {to_bits(a)...};
  frame.function = own_function<Abi>(entry);
  frame.caller = &call_with_bits<A...>;
  frame.pass = &pass_on<Abi>;
  frame.handles_are_pointers = std::is_pointer_v<typename Abi::Comm>;
  return frame;
}

/// Returns whether memory is the host's, by a quick look: false where that takes a closer one.
template <class Abi>
bool is_plain_host(const void* address, typename Abi::Datatype type) {
  const auto& process = Process<Abi>::instance();
  if (is_device<Abi>(address)) return false;
  return !process.memories->cuda_initialized() || process.library->is_predefined(to_handle(type));
}

/// Returns whether an element of a predefined type is on the program's heap: then it is the host's, and the driver
/// need not be asked, which is half of what such a call takes.
template <class Abi>
bool is_on_heap(const void* address, typename Abi::Datatype type) {
  const auto& process = Process<Abi>::instance();
  return process.memories->is_on_heap(address) && process.library->is_predefined(to_handle(type));
}

/// Calls the program's own function with the program's arguments.
template <class Abi, Entry entry, class... A>
int call_own(A... a) {
  return reinterpret_cast<int (*)(A...)>(own_function<Abi>(entry))(a...);
}

/// Sends with a note that lasts as long as the call (Transports::note), or memory that is not plainly the host's.
template <class Abi, Entry entry, class Int, class... Request>
[[gnu::noinline]] int enter_noted_send(bool is_left, const void* data, Int count, typename Abi::Datatype type,
                                       int dest, int tag, typename Abi::Comm comm, Request... request) {
  try {
    const auto sending = note<Abi>(count, to_handle(type), dest, tag, to_handle(comm), description_of(entry).form);
    if (is_left) return call_own<Abi, entry>(data, count, type, dest, tag, comm, request...);
    return enter_frame<Abi>(frame_of<Abi, entry>(data, count, type, dest, tag, comm, request...));
  } catch (const std::bad_alloc&) {
    return Teller<Abi>::fail(Handler::communicator, to_handle(comm));
  }
}

/// Enters a send. Most are left to the MPI by a jump, since 10 ns are much beside a message of few bytes.
template <class Abi, Entry entry, class Int, class... Request>
int enter_send(const void* data, Int count, typename Abi::Datatype type, int dest, int tag, typename Abi::Comm comm,
               Request... request) {
  constexpr bool blocks = description_of(entry).form == Form::blocking;
  const bool is_left =
      (is_on_heap<Abi>(data, type) || is_plain_host<Abi>(data, type)) && (!blocks || !drop_in<Abi>().requests.busy());
  if (is_left && needs_no_note<Abi>(count, to_handle(type)))
    return call_own<Abi, entry>(data, count, type, dest, tag, comm, request...);
  return enter_noted_send<Abi, entry>(is_left, data, count, type, dest, tag, comm, request...);
}

/// Enters a receive. `tail`: its request or status.
template <class Abi, Entry entry, class Int, class Tail>
int enter_receive(void* data, Int count, typename Abi::Datatype type, int source, int tag, typename Abi::Comm comm,
                  Tail tail) {
  constexpr bool request = description_of(entry).request != kAbsent;
  DropIn& here = drop_in<Abi>();
  const bool may_begin = request || !here.requests.busy();
  // A receive that ends in a request has this process watch from now on, or never (begin_to_watch): so whether CUDA
  // has started is asked first.
  if (!request && may_begin && here.receives.ignores(request) && is_on_heap<Abi>(data, type))
    return call_own<Abi, entry>(data, count, type, source, tag, comm, tail);
  if (may_begin && is_plain_host<Abi>(data, type) &&
      (here.receives.ignores(request) || too_short<Abi>(count, to_handle(type)) ||
       !here.receives.begin_to_watch(request)))
    return call_own<Abi, entry>(data, count, type, source, tag, comm, tail);
  return enter_frame<Abi>(frame_of<Abi, entry>(data, count, type, source, tag, comm, tail));
}

/// Enters a function that functions.txt describes: the entry points lead here.
template <class Abi, Entry entry, class... A>
int enter(A... a) {
  constexpr const Description& of = description_of(entry);
  if constexpr (of.kind == Kind::send) {
    return enter_send<Abi, entry>(a...);
  } else if constexpr (of.kind == Kind::receive && of.message == kAbsent) {
    return enter_receive<Abi, entry>(a...);
  } else {
    return enter_frame<Abi>(frame_of<Abi, entry>(a...));
  }
}

}  // namespace sennit::shim::mpi::wrappers
