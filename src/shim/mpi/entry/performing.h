// Carries out calls that have to do with GPU memory, by how they end: at once, in a request, or in a status.
#pragma once

#include <functional>
#include <new>

#include "base/backoff.h"
#include "shim/mpi/call/arrays.h"
#include "shim/mpi/entry/process.h"

namespace sennit::shim::mpi::wrappers {

/// Returns the value that a program's request has before a call that is to make one. Some MPIs return success for a
/// call that they have refused (Mpi::hides_errors()): then the request still has it.
template <class Abi>
typename Abi::Request no_request() {
  return from_handle<typename Abi::Request>(Process<Abi>::instance().library->request_null());
}
template <class Abi>
void make_none(typename Abi::Request* request) {
  if (request != nullptr) *request = no_request<Abi>();
}
template <class Abi>
bool is_none(typename Abi::Request request) {
  return to_handle(request) == Process<Abi>::instance().library->request_null();
}

/// Returns the bytes that a status tells of. -1: it does not say.
template <class Abi>
std::int64_t told(const typename Abi::Status& status) {
  const auto& library = *Process<Abi>::instance().library;
  Count bytes = 0;
  return library.call().get_elements_x(&status, library.byte(), &bytes) == 0 && bytes >= 0 ? bytes : -1;
}

/// Returns the bytes of the message that a status tells of; 0 for a cancelled one.
template <class Abi>
std::int64_t received(const typename Abi::Status& status) {
  int cancelled = 0;
  const int code = Process<Abi>::instance().library->call().test_cancelled(&status, &cancelled);
  return code != 0 || cancelled != 0 ? 0 : told<Abi>(status);
}

/// Carries out a blocking call without a status. `why` it is staged, where it is no collective.
template <class Abi>
int perform(const Call& call, const RealCall& real, std::nullptr_t, std::string_view why = "no such call on GPUs") {
  DropIn& here = drop_in<Abi>();
  try {
    if (is_collective(call.family))
      if (const auto done = here.collectives.perform(call, why)) return *done;
    return here.staging.perform(call, real, why);
  } catch (const std::bad_alloc&) {
    return here.reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

template <class Abi>
int Test(typename Abi::Request* request, int* flag, typename Abi::Status* status);

/// Lets a status tell of a message that came otherwise.
template <class Abi>
void tell(typename Abi::Status& status, std::int64_t bytes) {
  const auto& library = *Process<Abi>::instance().library;
  (void)library.call().status_set_elements_x(&status, library.byte(), bytes);
}

/// Waits for a request that the drop-in made itself, while the program's own move on.
template <class Abi>
int wait_moving(typename Abi::Request* request, typename Abi::Status* status) {
  const auto test = Real<Abi>::of(&Test<Abi>, Entry::Test);
  for (Backoff backoff;; backoff.wait()) {
    int flag = 0;
    if (const int code = test(request, &flag, status); code != 0 || flag != 0) return code;
    drop_in<Abi>().progress.make();
  }
}
template <class Abi>
typename Abi::Status* ignored() {
  return reinterpret_cast<typename Abi::Status*>(Abi::kStatusIgnore);
}

template <class Abi>
bool is_ignored(const typename Abi::Status* status) {
  return reinterpret_cast<std::intptr_t>(status) == Abi::kStatusIgnore;
}

/// Has the real function called with host memory in the place of GPU memory, and then(that memory, since when) see to
/// what is left. `tail`: the program's request or status. MPI's code.
template <class Abi, class Then>
int stage(const Call& call, const RealCall& real, void* tail, const Then& then) {
  DropIn& here = drop_in<Abi>();
  try {
    const auto since = std::chrono::steady_clock::now();
    auto staged = here.staging.stage(call);
    if (!staged) return here.reporting.fail(call, staged.status());
    const int code = real((*staged)->memory(), tail);
    return code != 0 ? code : then(std::move(*staged), since);
  } catch (const std::bad_alloc&) {
    return here.reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Calls that end in a request. `why`: one that is no message is staged; empty: it is not.
template <class Abi>
int perform(const Call& call, const RealCall& real, typename Abi::Request* request,
            std::string_view why = "ends in a request") {
  make_none<Abi>(request);
  return stage<Abi>(call, real, request, [&](std::shared_ptr<StagedBuffers> staged, auto since) {
    if (is_none<Abi>(*request)) return 0;
    DropIn& here = drop_in<Abi>();
    auto open = std::make_shared<OpenRequest>();
    open->persistent = call.form == Form::persistent;
    open->active = !open->persistent;
    open->receives = receives(call.family);
    open->message = is_message(call.family);
    if (receives(call.family) && here.receives.begin_to_watch(true))
      open->receive = here.receives.watch(call, *staged);
    if (staged->bytes() != 0) {
      open->staged = std::move(staged);
      if (open->receive != nullptr)
        here.reporting.count(call, "into GPU memory", since);
      else if (!why.empty())
        here.staging.count(call, *open->staged, receives(call.family) ? here.receives.why_not_watched() : why, since);
    }
    if (open->staged != nullptr || open->receive != nullptr) here.requests.add(to_handle(*request), open, call.comm);
    here.progress.look_at_first_receives();
    return 0;
  });
}

/// A call of the real function that may come after the program's: it owns copies of the program's arguments.
using RealCollective = std::function<int(const StandIns& memory, void* tail, const Arrays& arrays)>;

/// Collective calls that end in a request, and what has to keep their order. `real` has copies of the program's
/// arguments, all but arrays: it is called later where it has to wait for its turn.
template <class Abi>
int begin(const Call& call, const RealCollective& real, Arrays arrays, typename Abi::Request* request) {
  DropIn& here = drop_in<Abi>();
  try {
    const auto since = std::chrono::steady_clock::now();
    std::string_view why;
    const auto pending = here.queue.prepare(call, why);
    if (pending == nullptr)
      return perform<Abi>(
          call, [&](const StandIns& memory, void* tail) { return real(memory, tail, arrays); }, request, why);
    arrays.keep(pending->call);
    pending->real = [real, arrays](const StandIns& memory, Handle& hidden) {
      auto made = no_request<Abi>();
      const int code = real(memory, &made, arrays);
      if (code == 0) hidden = to_handle(made);
      return code;
    };
    Handle placeholder = kNoHandle;
    if (const int code = here.queue.enqueue(pending, placeholder); code != 0) return code;
    auto open = std::make_shared<OpenRequest>();
    open->pending = pending;
    pending->took = std::chrono::steady_clock::now() - since;
    here.requests.add(placeholder, std::move(open), call.comm);
    *request = from_handle<typename Abi::Request>(placeholder);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Persistent collective calls. The real function's request is what the program has, whoever does the call.
template <class Abi>
int repeat(const Call& call, const RealCall& real, typename Abi::Request* request) {
  DropIn& here = drop_in<Abi>();
  try {
    std::string_view why;
    auto persistent_call = here.persistent.init(call, why);
    const int code = perform<Abi>(call, real, request, persistent_call != nullptr ? std::string_view() : why);
    if (code != 0 || persistent_call == nullptr || is_none<Abi>(*request)) return code;
    auto open = here.requests.find(to_handle(*request));
    if (open == nullptr) {
      open = std::make_shared<OpenRequest>();
      open->persistent = true;
      open->active = false;
      here.requests.add(to_handle(*request), open, call.comm);
    }
    open->persistent_call = std::move(persistent_call);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Blocking calls with a status: of a message, or a file.
template <class Abi>
int perform(const Call& call, const RealCall& real, typename Abi::Status* status) {
  typename Abi::Status own{};
  const bool no_status = reinterpret_cast<std::intptr_t>(status) == Abi::kStatusIgnore;
  typename Abi::Status* const told = no_status ? &own : status;
  return stage<Abi>(call, real, told, [&](const std::shared_ptr<StagedBuffers>& staged, auto since) {
    DropIn& here = drop_in<Abi>();
    if (!receives(call.family)) {
      if (auto given = staged->copy_out(-1); !given) return here.reporting.fail(call, given);
      here.staging.count(call, *staged, "no such call on GPUs", since);
      return 0;
    }
    std::int64_t bytes = received<Abi>(*told);
    const auto receive = here.receives.begin_to_watch(false) ? here.receives.watch(call, *staged) : nullptr;
    if (receive == nullptr) {
      if (auto given = staged->copy_out(bytes); !given) return here.reporting.fail(call, given);
      const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
      here.staging.count(call, length, *staged, here.receives.why_not_watched(), since);
      return 0;
    }
    here.receives.look(*receive, bytes);
    for (Backoff backoff; !here.receives.arrived(*receive, call.comm); backoff.wait()) {
      if (const auto lost = here.progress.fail_if_lost("MPI_Recv", call.comm, receive->incoming->peer()))
        return *lost;
      here.progress.make();
    }
    const bool fetched = receive->incoming != nullptr;
    if (const int failed = here.receives.complete(*receive, call.comm, staged.get(), bytes); failed != 0)
      return failed;
    if (fetched) tell<Abi>(*told, bytes);
    if (staged->bytes() != 0)
      here.reporting.count(call, static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)),
                           fetched ? receive->incoming->plan() : "staged: small, or from host memory", since);
    return 0;
  });
}

/// Begins messages in parts: persistent requests, whose memory is looked at part by part (partitioned.h).
template <class Abi>
int begin_partitioned(const Call& call, const RealCall& real, int partitions, typename Abi::Request* request) {
  if (const int code = perform<Abi>(call, real, request, "in parts"); code != 0 || is_none<Abi>(*request))
    return code;
  try {
    const auto open = drop_in<Abi>().requests.find(to_handle(*request));
    if (open == nullptr || partitions <= 0) return 0;
    Elements one = call.parts[0].elements;
    one.blocks = 1;
    Shape shape;
    const auto span = span_of(call.mpi, one);
    auto data = segments_of(call.mpi, one);
    if (!span || !data || call.mpi.shape(one.type, shape) != 0) return 0;
    const bool receives = call.parts[0].access != Access::in;
    open->partitions =
        std::make_unique<Partitions>(receives, partitions, one.count * shape.extent, span->bytes(), std::move(*data));
    return 0;
  } catch (const std::bad_alloc&) {
    return drop_in<Abi>().reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Collective operations on files that another function ends (split_io.h).
template <class Abi>
int begin_split(const Call& call, const RealCall& real, typename Abi::File file) {
  return stage<Abi>(call, real, nullptr, [&](std::shared_ptr<StagedBuffers> staged, auto since) {
    DropIn& here = drop_in<Abi>();
    here.staging.count(call, *staged, "no such call on GPUs", since);
    here.staging.split_files().put(to_handle(file), std::move(staged));
    return 0;
  });
}

/// A send of an RTS in the place of the program's message.
using SendRts = FunctionRef<int(const void* rts, int length, void* tail)>;

/// Sends of GPU memory. `send_rts`: the same send, of an RTS.
template <class Abi>
int send(const Call& call, const RealCall& real, const SendRts& send_rts, typename Abi::Request* request) {
  DropIn& here = drop_in<Abi>();
  try {
    const auto since = std::chrono::steady_clock::now();
    std::string_view why;
    auto outgoing = here.transports.announce(call, why);
    if (outgoing == nullptr) {
      return request != nullptr ? perform<Abi>(call, real, request, why) : here.staging.perform(call, real, why);
    }
    const std::uint64_t bytes = outgoing->bytes();
    const std::string_view plan = outgoing->plan();
    make_none<Abi>(request);
    const int sent = send_rts(outgoing->sent(), outgoing->length(), request);
    if (sent != 0 || (request != nullptr && is_none<Abi>(*request))) return sent;
    if (request == nullptr) {
      const int code = here.progress.wait_for_receiver(*outgoing, call);
      here.reporting.count(call, bytes, plan, since);
      return code;
    }
    auto open = std::make_shared<OpenRequest>();
    open->outgoing = std::move(outgoing);
    open->message = true;
    open->function = call.function();
    here.requests.add(to_handle(*request), std::move(open), call.comm);
    here.progress.look_at_first_receives();
    here.progress.serve_first_sends();
    here.reporting.count(call, bytes, plan, since);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Persistent sends of GPU memory: each start is announced, or starts the real library's request (requests.h).
template <class Abi>
int send_again_and_again(const Call& call, const RealCall& real, typename Abi::Request* request) {
  const Elements& elements = call.parts[0].elements;
  const auto uniform = elements.type != kNoHandle ? call.mpi.uniform(elements.type) : std::nullopt;
  if (!uniform) return perform<Abi>(call, real, request, "derived type with gaps");
  if (const int code = perform<Abi>(call, real, request, {}); code != 0 || is_none<Abi>(*request)) return code;
  try {
    const auto open = drop_in<Abi>().requests.find(to_handle(*request));
    if (open == nullptr) return 0;
    // The program may free its type before a start.
    auto bytes = std::make_unique<Call>(call);
    bytes->parts[0].elements.count *= uniform->count * bytes_of(uniform->meaning);
    bytes->parts[0].elements.type = to_handle(Process<Abi>::instance().library->byte());
    open->sends = std::move(bytes);
    return 0;
  } catch (const std::bad_alloc&) {
    return drop_in<Abi>().reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

template <class Abi>
typename Abi::Datatype byte() {
  return Process<Abi>::instance().library->byte();
}

/// Returns the communicator of a message that a probe has found: whose error handler hears of its receive.
template <class Abi>
Handle comm_of(const typename Abi::Message* message) {
  return message != nullptr ? drop_in<Abi>().probes.comm_of(to_handle(*message)) : kNoHandle;
}
/// One-sided calls.
template <class Abi>
int one_sided(Call& call, const Remote& remote, const RealCall& real, void* request) {
  auto& process = Process<Abi>::instance();
  if (!process.windows->complete())
    return process.drop_in->reporting.fail(call, Status(Code::unsupported, "the MPI lacks functions of MPI 3.0"));
  try {
    return process.drop_in->rma.perform(*process.windows, call, remote, real, request);
  } catch (const std::bad_alloc&) {
    return process.drop_in->reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Begins what waits for its turn on a communicator, before a call of function `what` that may wait for its other
/// ranks. Returns what the program is told where a rank was lost.
template <class Abi>
std::optional<int> settle(std::string_view what, typename Abi::Comm comm) {
  return drop_in<Abi>().arrivals.drain(what, to_handle(comm));
}

/// Names the file or window that a call of all ranks of a communicator has made. Returns the call's code.
template <class Abi, class Made>
int name_made(int code, Shared kind, const Made* made, typename Abi::Comm comm) {
  if (code == 0) drop_in<Abi>().arrivals.name(kind, to_handle(*made), to_handle(comm));
  return code;
}

}  // namespace sennit::shim::mpi::wrappers
