// The wrappers of functions that take memory: generated, over the few words defined here.
#pragma once

#include <functional>
#include <new>

#include <fmt/format.h>

#include "shim/mpi/arrays.h"
#include "shim/mpi/narrow.h"
#include "shim/mpi/process.h"
#include "shim/mpi/unmatched.h"

namespace sennit::shim::mpi::wrappers {

inline Integers integers(const int* values) {
  return {values, false};
}
inline Integers integers(const std::int64_t* values) {
  return {values, true};
}

inline Part part(const void* address, Access access, bool significant, const Elements& elements) {
  return {address, access, significant, elements};
}
template <class Type>
Elements elements(std::int64_t count, Type type, int blocks) {
  Elements made;
  made.blocks = blocks;
  made.count = count;
  made.type = to_handle(type);
  return made;
}
inline Elements raw_bytes(std::int64_t count) {
  Elements made;
  made.count = count;
  return made;
}
template <class Int, class Type>
Elements elements_of_all(const Int* counts, const Call& call, Type type) {
  Elements made;
  made.blocks = call.place().size;
  made.counts = integers(counts);
  made.type = to_handle(type);
  return made;
}
template <class Int, class Type>
Elements elements_at(const Int* counts, const Call& call, Type type) {
  return elements(counts[call.place().rank], type, 1);
}
template <class Int, class Place, class Type>
Elements placed(const Int* counts, const Place* places, Type type, int blocks) {
  Elements made;
  made.blocks = blocks;
  made.counts = integers(counts);
  made.places = integers(places);
  made.type = to_handle(type);
  return made;
}
template <class Int, class Place, class Type>
Elements placed(const Int* counts, const Place* places, const Type* types,
                int blocks) requires(!std::is_same_v<Type, void>) {
  Elements made;
  made.blocks = blocks;
  made.counts = integers(counts);
  made.places = integers(places);
  made.types = types;
  made.types_are_pointers = std::is_pointer_v<Type>;
  return made;
}

/// What the program has for a request before a call that is to make one. Some MPIs return success for a call that
/// they have refused (Mpi::hides_errors()): then it still has that.
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

/// Bytes that a status tells of. -1: it does not say.
template <class Abi>
std::int64_t told(const typename Abi::Status& status) {
  const auto& library = *Process<Abi>::instance().library;
  Count bytes = 0;
  return library.call().get_elements_x(&status, library.byte(), &bytes) == 0 && bytes >= 0 ? bytes : -1;
}

/// Bytes of the message that a status tells of; none of a cancelled one.
template <class Abi>
std::int64_t received(const typename Abi::Status& status) {
  int cancelled = 0;
  const int code = Process<Abi>::instance().library->call().test_cancelled(&status, &cancelled);
  return code != 0 || cancelled != 0 ? 0 : told<Abi>(status);
}

/// Blocking calls without a status.
template <class Abi>
int perform(const Call& call, const RealCall& real, std::nullptr_t, std::string_view why = "no such call on GPUs") {
  try {
    return drop_in<Abi>().perform(call, real, why);
  } catch (const std::bad_alloc&) {
    return drop_in<Abi>().fail(call, Status(Code::out_of_memory, "no memory"));
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
  for (Patience patience;; patience.wait()) {
    int flag = 0;
    if (const int code = test(request, &flag, status); code != 0 || flag != 0) return code;
    drop_in<Abi>().progress();
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
    auto shadows = here.begin(call);
    if (!shadows) return here.fail(call, shadows.status());
    const int code = real((*shadows)->memory(), tail);
    return code != 0 ? code : then(std::move(*shadows), since);
  } catch (const std::bad_alloc&) {
    return here.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Calls that end in a request. `why`: one that is no message is staged; empty: it is not.
template <class Abi>
int perform(const Call& call, const RealCall& real, typename Abi::Request* request,
            std::string_view why = "ends in a request") {
  make_none<Abi>(request);
  return stage<Abi>(call, real, request, [&](std::shared_ptr<Shadows> shadows, auto since) {
    if (is_none<Abi>(*request)) return 0;
    DropIn& here = drop_in<Abi>();
    auto open = std::make_shared<OpenRequest>();
    open->persistent = call.form == Form::persistent;
    open->active = !open->persistent;
    open->receives = receives(call.family);
    open->message = is_message(call.family);
    if (receives(call.family) && here.looks_at_receives(true)) open->receive = here.receive_of(call, *shadows);
    if (shadows->bytes() != 0) {
      open->shadows = std::move(shadows);
      if (open->receive != nullptr)
        here.count(call, "into GPU memory", since);
      else if (!why.empty())
        here.count_staged(call, *open->shadows, receives(call.family) ? here.why_not_looked_at() : why, since);
    }
    if (open->shadows != nullptr || open->receive != nullptr)
      here.requests().add(to_handle(*request), open, call.comm);
    here.look_at_first();
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
    const auto begun = here.take_turn(call, why);
    if (begun == nullptr)
      return perform<Abi>(
          call, [&](const StandIns& memory, void* tail) { return real(memory, tail, arrays); }, request, why);
    arrays.keep(begun->call);
    begun->real = [real, arrays](const StandIns& memory, Handle& hidden) {
      auto made = no_request<Abi>();
      const int code = real(memory, &made, arrays);
      if (code == 0) hidden = to_handle(made);
      return code;
    };
    Handle placeholder = kNoHandle;
    if (const int code = here.wait_for_turn(begun, placeholder); code != 0) return code;
    auto open = std::make_shared<OpenRequest>();
    open->begun = begun;
    begun->took = std::chrono::steady_clock::now() - since;
    here.requests().add(placeholder, std::move(open), call.comm);
    *request = from_handle<typename Abi::Request>(placeholder);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Persistent collective calls. The real function's request is what the program has, whoever does the call.
template <class Abi>
int repeat(const Call& call, const RealCall& real, typename Abi::Request* request) {
  DropIn& here = drop_in<Abi>();
  try {
    std::string_view why;
    auto repeated = here.repeat(call, why);
    const int code = perform<Abi>(call, real, request, repeated != nullptr ? std::string_view() : why);
    if (code != 0 || repeated == nullptr || is_none<Abi>(*request)) return code;
    auto open = here.requests().find(to_handle(*request));
    if (open == nullptr) {
      open = std::make_shared<OpenRequest>();
      open->persistent = true;
      open->active = false;
      here.requests().add(to_handle(*request), open, call.comm);
    }
    open->repeated = std::move(repeated);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Blocking calls with a status: of a message, or a file.
template <class Abi>
int perform(const Call& call, const RealCall& real, typename Abi::Status* status) {
  typename Abi::Status own{};
  const bool no_status = reinterpret_cast<std::intptr_t>(status) == Abi::kStatusIgnore;
  typename Abi::Status* const told = no_status ? &own : status;
  return stage<Abi>(call, real, told, [&](const std::shared_ptr<Shadows>& shadows, auto since) {
    DropIn& here = drop_in<Abi>();
    if (!receives(call.family)) {
      if (auto given = shadows->give_back(-1); !given) return here.fail(call, given);
      here.count_staged(call, *shadows, "no such call on GPUs", since);
      return 0;
    }
    std::int64_t bytes = received<Abi>(*told);
    const auto receive = here.looks_at_receives(false) ? here.receive_of(call, *shadows) : nullptr;
    if (receive == nullptr) {
      if (auto given = shadows->give_back(bytes); !given) return here.fail(call, given);
      const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
      here.count_staged(call, length, *shadows, here.why_not_looked_at(), since);
      return 0;
    }
    here.look(*receive, bytes);
    for (Patience patience; !here.arrived(*receive, call.comm); patience.wait()) {
      if (const auto lost = here.in_vain("MPI_Recv", call.comm, receive->incoming->peer())) return *lost;
      here.progress();
    }
    const bool fetched = receive->incoming != nullptr;
    if (const int failed = here.complete(*receive, call.comm, shadows.get(), bytes); failed != 0) return failed;
    if (fetched) tell<Abi>(*told, bytes);
    if (shadows->bytes() != 0)
      here.count(call, static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)),
                 fetched ? receive->incoming->plan() : "staged: small, or from host memory", since);
    return 0;
  });
}

/// Messages in parts: persistent requests, whose memory is looked at part by part (partitioned.h).
template <class Abi>
int begin_partitioned(const Call& call, const RealCall& real, int partitions, typename Abi::Request* request) {
  if (const int code = perform<Abi>(call, real, request, "in parts"); code != 0 || is_none<Abi>(*request))
    return code;
  try {
    const auto open = drop_in<Abi>().requests().find(to_handle(*request));
    if (open == nullptr || partitions <= 0) return 0;
    Elements one = call.parts[0].elements;
    one.blocks = 1;
    Shape shape;
    const auto span = span_of(call.mpi, one);
    auto data = runs_of(call.mpi, one);
    if (!span || !data || call.mpi.shape(one.type, shape) != 0) return 0;
    const bool receives = call.parts[0].access != Access::in;
    open->partitions =
        std::make_unique<Partitions>(receives, partitions, one.count * shape.extent, span->bytes(), std::move(*data));
    return 0;
  } catch (const std::bad_alloc&) {
    return drop_in<Abi>().fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Collective operations on files that another function ends (split_io.h).
template <class Abi>
int begin_split(const Call& call, const RealCall& real, typename Abi::File file) {
  return stage<Abi>(call, real, nullptr, [&](std::shared_ptr<Shadows> shadows, auto since) {
    DropIn& here = drop_in<Abi>();
    here.count_staged(call, *shadows, "no such call on GPUs", since);
    here.halves().put(to_handle(file), std::move(shadows));
    return 0;
  });
}

/// A send of an announcement in the place of the program's message.
using CallCard = FunctionRef<int(const void* card, int length, void* tail)>;

/// Sends of GPU memory. `call_card`: the same send, of an announcement.
template <class Abi>
int send(const Call& call, const RealCall& real, const CallCard& call_card, typename Abi::Request* request) {
  DropIn& here = drop_in<Abi>();
  try {
    const auto since = std::chrono::steady_clock::now();
    std::string_view why;
    auto outgoing = here.announce(call, why);
    if (outgoing == nullptr) {
      return request != nullptr ? perform<Abi>(call, real, request, why) : here.perform(call, real, why);
    }
    const std::uint64_t bytes = outgoing->bytes();
    const std::string_view plan = outgoing->plan();
    make_none<Abi>(request);
    const int sent = call_card(outgoing->sent(), outgoing->length(), request);
    if (sent != 0 || (request != nullptr && is_none<Abi>(*request))) return sent;
    if (request == nullptr) {
      const int code = here.wait_until_taken(*outgoing, call);
      here.count(call, bytes, plan, since);
      return code;
    }
    auto open = std::make_shared<OpenRequest>();
    open->outgoing = std::move(outgoing);
    open->message = true;
    open->function = call.function();
    here.requests().add(to_handle(*request), std::move(open), call.comm);
    here.look_at_first();
    here.hear_first();
    here.count(call, bytes, plan, since);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.fail(call, Status(Code::out_of_memory, "no memory"));
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
    const auto open = drop_in<Abi>().requests().find(to_handle(*request));
    if (open == nullptr) return 0;
    // The program may free its type before a start.
    auto bytes = std::make_unique<Call>(call);
    bytes->parts[0].elements.count *= uniform->count * bytes_of(uniform->meaning);
    bytes->parts[0].elements.type = to_handle(Process<Abi>::instance().library->byte());
    open->sends = std::move(bytes);
    return 0;
  } catch (const std::bad_alloc&) {
    return drop_in<Abi>().fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Whether no announcement fits into what a receive has room for.
template <class Abi>
bool too_short(std::int64_t count, typename Abi::Datatype type) {
  if (count <= 0) return true;
  const auto size = Process<Abi>::instance().library->size(to_handle(type));
  return !size || count * *size < static_cast<std::int64_t>(kLeastLookedAt);  // what has no size the MPI refuses
}

/// Before a send: see DropIn::note().
template <class Abi>
LookAlikes::Sending note(std::int64_t count, typename Abi::Datatype type, int dest, int tag, typename Abi::Comm comm,
                         Form form) {
  if (count <= 0 || count > static_cast<std::int64_t>(kLongestAnnouncement)) return {};
  if (!drop_in<Abi>().may_announce()) return {};
  const auto size = Process<Abi>::instance().library->size(to_handle(type));
  if (!size) return {};
  return drop_in<Abi>().note(count * *size, dest, tag, to_handle(comm), form == Form::persistent);
}

/// Whether no receive is looked at now, whatever its length, which takes a call of the MPI to know.
template <class Abi>
bool overlooks_receives(bool request) {
  return drop_in<Abi>().overlooks_receives(request);
}

/// Whether what a receive brings must be looked at.
template <class Abi>
bool looks_at_receives(bool request) {
  return drop_in<Abi>().looks_at_receives(request);
}
template <class Abi>
bool busy() {
  return drop_in<Abi>().busy();
}

/// Before a call, of function `what`, that may wait for other ranks of a communicator: what waits there for its turn
/// begins. What the program is told where that was in vain.
template <class Abi>
std::optional<int> settle(std::string_view what, typename Abi::Comm comm) {
  return drop_in<Abi>().any_waits() ? drop_in<Abi>().settle(what, to_handle(comm)) : std::nullopt;
}

/// What a call returned that makes a file or a window of all ranks of a communicator.
template <class Abi, class Made>
int name_made(int code, Shared kind, const Made* made, typename Abi::Comm comm) {
  if (code == 0) drop_in<Abi>().name(kind, to_handle(*made), to_handle(comm));
  return code;
}

template <class Abi>
bool is_device(const void* address) {
  return Process<Abi>::instance().memories->is_device(address);
}

/// Whether data of elements whose address is no GPU's is in memory of one all the same.
template <class Abi>
[[gnu::noinline]] bool goes_on_elsewhere(const void* address, std::int64_t count, Handle type) {
  const auto& process = Process<Abi>::instance();
  if (count <= 0 || process.library->is_in_place(address)) return false;
  const auto* const at = static_cast<const std::byte*>(address);
  const auto places = process.library->far(type);
  Shape shape;
  if (places.empty()) return false;
  for (const std::int64_t place : places)
    if (is_device<Abi>(at + place)) return true;
  if (count == 1 || process.library->shape(type, shape) != 0) return false;
  return is_device<Abi>(at + (count - 1) * shape.extent + shape.true_lower) ||
         is_device<Abi>(at + (count - 1) * shape.extent + places.back());
}
/// Whether a type may have data elsewhere than at the address: asked in every call, also of host memory.
template <class Abi, class Type>
bool may_go_on(Type type) {
  const auto& process = Process<Abi>::instance();
  return process.memories->awake() && !process.library->is_predefined(to_handle(type));
}
/// Whether any of the data is in memory of a GPU.
template <class Abi, class Type>
bool touches(const void* address, std::int64_t count, Type type) {
  if (is_device<Abi>(address)) return true;
  return may_go_on<Abi>(type) && goes_on_elsewhere<Abi>(address, count, to_handle(type));
}
/// The same of what counts at the root alone: elsewhere a type may be anything.
template <class Abi, class Type>
bool touches_at(int root, const void* address, std::int64_t count, Type type, typename Abi::Comm comm) {
  if (is_device<Abi>(address)) return true;
  if (!may_go_on<Abi>(type)) return false;
  const Call call(mpi<Abi>(), Family::Bcast, Form::blocking, to_handle(comm));
  return call.at_root(root) && goes_on_elsewhere<Abi>(address, count, to_handle(type));
}
/// Blocks at places. Of a type that begins at the address the first place tells, where there is one.
template <class Abi, class Int, class Place, class Type>
bool touches_placed(const void* address, const Int* counts, const Place* places, Type type) {
  if (is_device<Abi>(address)) return true;
  const auto& process = Process<Abi>::instance();
  if (!process.memories->awake() || process.library->is_in_place(address) || counts == nullptr) return false;
  if (may_go_on<Abi>(type) && goes_on_elsewhere<Abi>(address, 1, to_handle(type))) return true;
  Shape shape;
  if (places == nullptr || places[0] == 0 || counts[0] <= 0) return false;
  if (process.library->shape(to_handle(type), shape) != 0) return false;
  return is_device<Abi>(static_cast<const std::byte*>(address) + places[0] * shape.extent + shape.true_lower);
}
/// Each block of a type of its own, `blocks()` of them.
template <class Abi, class Int, class Place, class Type, class Blocks>
bool touches_typed(const void* address, const Int* counts, const Place* places, const Type* types,
                   const Blocks& blocks) {
  if (is_device<Abi>(address)) return true;
  const auto& process = Process<Abi>::instance();
  if (!process.memories->awake() || process.library->is_in_place(address) || counts == nullptr) return false;
  const int all = blocks();
  for (int i = 0; i < all; ++i) {
    if (counts[i] <= 0) continue;
    const auto* const at = static_cast<const std::byte*>(address) + places[i];
    if (may_go_on<Abi>(types[i]) ? goes_on_elsewhere<Abi>(at, counts[i], to_handle(types[i]))
                                 : address == nullptr && is_device<Abi>(at))
      return true;
  }
  return false;
}
/// A buffer's type as the real function gets it.
template <class Type>
Type type_in(const StandIns& memory, std::size_t index, Type own) {
  return memory.types[index] == kNoHandle ? own : from_handle<Type>(memory.types[index]);
}

template <class Abi>
typename Abi::Datatype byte() {
  return Process<Abi>::instance().library->byte();
}

template <class Abi>
int Wait(typename Abi::Request* request, typename Abi::Status* status);
template <class Abi>
int wait_for_two(typename Abi::Request* requests, typename Abi::Status* statuses, std::span<int> codes);
/// The communicator of a message that a probe has found: whose error handler hears of its receive.
template <class Abi>
Handle comm_of(const typename Abi::Message* message) {
  return message != nullptr ? drop_in<Abi>().comm_of(to_handle(*message)) : kNoHandle;
}
template <class Abi, class Int>
int send_and_receive(const void* sendbuf, Int sendcount, typename Abi::Datatype sendtype, int dest, int sendtag,
                     void* recvbuf, Int recvcount, typename Abi::Datatype recvtype, int source, int recvtag,
                     typename Abi::Comm comm, typename Abi::Status* status);

/// One-sided calls.
template <class Abi>
int one_sided(Call& call, const Remote& remote, const RealCall& real, void* request) {
  auto& process = Process<Abi>::instance();
  if (!process.windows->complete())
    return process.drop_in->fail(call, Status(Code::unsupported, "the MPI lacks functions of MPI 3.0"));
  try {
    return process.drop_in->one_sided(*process.windows, call, remote, real, request);
  } catch (const std::bad_alloc&) {
    return process.drop_in->fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

template <class Abi, class Int>
int send_and_receive_in_place(void* buf, Int count, typename Abi::Datatype datatype, int dest, int sendtag,
                              int source, int recvtag, typename Abi::Comm comm, typename Abi::Status* status);

#include "wrappers.inc"

/// Ends a receive that the program knows nothing of, and that would take the next message of its own.
template <class Abi>
void give_up(typename Abi::Request& receive) {
  if (Process<Abi>::instance().library->call().cancel(&receive) == 0) (void)Wait<Abi>(&receive, ignored<Abi>());
}

/// A message each way at the same time, by two requests: neither waits for the other.
template <class Abi, class Int>
int send_and_receive(const void* sendbuf, Int sendcount, typename Abi::Datatype sendtype, int dest, int sendtag,
                     void* recvbuf, Int recvcount, typename Abi::Datatype recvtype, int source, int recvtag,
                     typename Abi::Comm comm, typename Abi::Status* status) {
  typename Abi::Request requests[2] = {no_request<Abi>(), no_request<Abi>()};
  typename Abi::Status statuses[2]{};
  int code;
  if constexpr (std::is_same_v<Int, int>) {
    code = Irecv<Abi>(recvbuf, recvcount, recvtype, source, recvtag, comm, &requests[0]);
    if (code == 0 && !is_none<Abi>(requests[0]))
      code = Isend<Abi>(sendbuf, sendcount, sendtype, dest, sendtag, comm, &requests[1]);
  } else {
    code = Irecv_c<Abi>(recvbuf, recvcount, recvtype, source, recvtag, comm, &requests[0]);
    if (code == 0 && !is_none<Abi>(requests[0]))
      code = Isend_c<Abi>(sendbuf, sendcount, sendtype, dest, sendtag, comm, &requests[1]);
  }
  if (code != 0 || is_none<Abi>(requests[1])) {
    if (!is_none<Abi>(requests[0])) give_up<Abi>(requests[0]);
    return code;
  }
  int codes[2] = {};
  code = wait_for_two<Abi>(requests, statuses, codes);
  if (code != 0) return code;
  code = codes[0] != 0 ? codes[0] : codes[1];
  if (source == Abi::kProcNull) {
    // MPICH 4.0's MPI_Irecv does not say so.
    statuses[0] = {};
    statuses[0].source = Abi::kProcNull;
    statuses[0].tag = Abi::kAnyTag;
  }
  if (reinterpret_cast<std::intptr_t>(status) != Abi::kStatusIgnore) {
    const int error = status->error;  // which calls with one status leave as it is
    *status = statuses[0];
    status->error = error;
  }
  return code;
}

/// The same by one buffer: what is sent is a copy.
template <class Abi, class Int>
int send_and_receive_in_place(void* buf, Int count, typename Abi::Datatype datatype, int dest, int sendtag,
                              int source, int recvtag, typename Abi::Comm comm, typename Abi::Status* status) {
  DropIn& here = drop_in<Abi>();
  Call call(mpi<Abi>(), Family::Sendrecv_replace, Form::blocking, to_handle(comm));
  call.add(part(buf, Access::in, true, elements(count, datatype, 1)));
  if (buf == nullptr && !call.parts[0].absolute) {  // nobody knows what to copy
    if constexpr (std::is_same_v<Int, int>)
      return Real<Abi>::of(&Sendrecv_replace<Abi>, Entry::Sendrecv_replace)(buf, count, datatype, dest, sendtag,
                                                                            source, recvtag, comm, status);
    else
      return Real<Abi>::of(&Sendrecv_replace_c<Abi>, Entry::Sendrecv_replace_c)(buf, count, datatype, dest, sendtag,
                                                                                source, recvtag, comm, status);
  }
  try {
    const auto copy = here.copy(call);
    if (!copy) return here.fail(call, copy.status());
    const auto type = copy->type == kNoHandle ? datatype : from_handle<typename Abi::Datatype>(copy->type);
    return send_and_receive<Abi, Int>(copy->address, count, type, dest, sendtag, buf, count, datatype, source,
                                      recvtag, comm, status);
  } catch (const std::bad_alloc&) {
    return here.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

}  // namespace sennit::shim::mpi::wrappers
