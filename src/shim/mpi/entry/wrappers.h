// Wraps functions that take memory: one line each, generated from functions.txt, over entering.h. Calls that are made
// as two are here as well.
#pragma once

#include "shim/mpi/entry/entering.h"
#include "shim/mpi/entry/substitutes.h"

namespace sennit::shim::mpi::wrappers {

#include "wrappers.inc"

/// Ends a receive that the program knows nothing of, and that would take the next message of its own.
template <class Abi>
void give_up(typename Abi::Request& receive) {
  if (Process<Abi>::instance().library->call().cancel(&receive) == 0) (void)Wait<Abi>(&receive, ignored<Abi>());
}

/// Sends a message each way at the same time, by two requests: neither waits for the other.
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

/// Sends and receives likewise by one buffer: what is sent is a copy.
template <class Abi, class Int>
int send_and_receive_in_place(void* buf, Int count, typename Abi::Datatype datatype, int dest, int sendtag,
                              int source, int recvtag, typename Abi::Comm comm, typename Abi::Status* status) {
  DropIn& here = drop_in<Abi>();
  Call call(mpi<Abi>(), Family::Sendrecv_replace, Form::blocking, to_handle(comm));
  Part sent;
  sent.address = buf;
  sent.elements.count = count;
  sent.elements.type = to_handle(datatype);
  call.add(sent);
  if (buf == nullptr && !call.parts[0].absolute) {  // what to copy is not known
    if constexpr (std::is_same_v<Int, int>)
      return Real<Abi>::of(&Sendrecv_replace<Abi>, Entry::Sendrecv_replace)(buf, count, datatype, dest, sendtag,
                                                                            source, recvtag, comm, status);
    else
      return Real<Abi>::of(&Sendrecv_replace_c<Abi>, Entry::Sendrecv_replace_c)(buf, count, datatype, dest, sendtag,
                                                                                source, recvtag, comm, status);
  }
  try {
    const auto copy = here.staging.copy(call);
    if (!copy) return here.reporting.fail(call, copy.status());
    const auto type = copy->type == kNoHandle ? datatype : from_handle<typename Abi::Datatype>(copy->type);
    return send_and_receive<Abi, Int>(copy->address, count, type, dest, sendtag, buf, count, datatype, source,
                                      recvtag, comm, status);
  } catch (const std::bad_alloc&) {
    return here.reporting.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

}  // namespace sennit::shim::mpi::wrappers
