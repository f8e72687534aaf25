// Wraps functions that ask how far requests have come, and complete no request: MPI_Request_get_status and, of MPI
// 4.1, those that ask for several.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
int Request_get_status(typename Abi::Request request, int* flag, typename Abi::Status* status);

/// Does what MPI_Request_get_status does, for a request that the drop-in has to do with: an active one, found as
/// `open`.
template <class Abi>
int get_status(typename Abi::Request request, const RequestTable::Shared& open, int* flag,
               typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Request_get_status<Abi>, Entry::Request_get_status);
  DropIn& here = drop_in<Abi>();
  if (!here.progress.ready(to_handle(request), *open)) {
    *flag = 0;
    return 0;
  }
  typename Abi::Status own{};
  const bool no_status = reinterpret_cast<std::intptr_t>(status) == Abi::kStatusIgnore;
  typename Abi::Status* const told = no_status ? &own : status;
  if (open->finished) {
    *flag = 1;
    std::memcpy(told, open->status.data(), sizeof *told);
    if (open->pending != nullptr || open->outgoing != nullptr || open->sends != nullptr)
      *told = Process<Abi>::instance().library->empty_status();
  } else if (const int code = real(request, flag, told); code != 0 || *flag == 0) {
    return code;
  }
  if (open->pending != nullptr) {  // what completes it says what went wrong
    const std::lock_guard lock(open->mutex);
    return open->pending->copy_out().ok() ? 0 : Abi::kErrOther;
  }
  // The program may use the memory from now on; the request stays until it is completed, which brings nothing more.
  std::int64_t bytes = open->receives ? received<Abi>(*told) : -1;
  const std::lock_guard lock(open->mutex);
  if (open->receive != nullptr && open->receive->error != 0) return 0;  // what completes it says so
  if (open->receive != nullptr && open->receive->incoming != nullptr) {
    if (!open->brought && (open->receive->type != kNoHandle || open->receive->goes_on))
      if (const int code = here.receives.complete(*open->receive, open->comm(), open->staged.get(), bytes); code != 0)
        return code;
    open->brought = true;
    tell<Abi>(*told, static_cast<std::int64_t>(open->receive->incoming->bytes()));
    return 0;
  }
  if (open->staged == nullptr || open->brought) return 0;
  const auto given =
      open->partitions != nullptr ? open->partitions->finish(*open->staged) : open->staged->copy_out(bytes);
  open->brought = given.ok();
  return given.ok() ? 0 : here.reporting.fail("MPI_Request_get_status", open->comm(), given);
}

template <class Abi>
int Request_get_status(typename Abi::Request request, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Request_get_status<Abi>, Entry::Request_get_status);
  DropIn& here = drop_in<Abi>();
  if (here.requests.none()) return real(request, flag, status);
  here.progress.make();
  const auto open = here.requests.find(to_handle(request));
  return open == nullptr || !open->active ? real(request, flag, status)
                                          : get_status<Abi>(request, open, flag, status);
}

/// The requests of a call that asks for several, split: the active ones that the drop-in has to do with, and what the
/// real function is asked of.
template <class Abi>
class Asked {
 public:
  using Request = typename Abi::Request;
  using Status = typename Abi::Status;

  Asked(int count, const Request* requests, Status* statuses)
      : requests_(requests),
        statuses_(statuses),
        no_statuses_(reinterpret_cast<std::intptr_t>(statuses) == Abi::kStatusIgnore),
        others_(requests, requests + count) {
    for (int i = 0; i < count; ++i) {
      auto open = drop_in<Abi>().requests.find(to_handle(requests[i]));
      if (open == nullptr || (!open->active && open->persistent_call == nullptr)) continue;
      others_[static_cast<std::size_t>(i)] = from_handle<Request>(drop_in<Abi>().mpi->request_null());
      // A persistent call of sennit's that is not started counts as a null request, whatever the real library thinks
      // of it.
      if (open->active) own_.emplace_back(i, std::move(open));
    }
  }

  /// Returns whether the drop-in has to do with any of the requests.
  bool any() const { return !own_.empty(); }
  const Request* others() const { return others_.data(); }
  /// Returns the program's status at a place, or what it gave to ignore it.
  Status* status(int at) const { return no_statuses_ ? statuses_ : &statuses_[at]; }
  /// Asks for the drop-in's own, in their order, until take(index, done) says that it is enough, of a status at the
  /// place that at(index) says. MPI's code.
  template <class At, class Take>
  int ask(const At& at, const Take& take) const {
    for (const auto& [index, open] : own_) {
      int done = 0;
      if (const int code = get_status<Abi>(requests_[index], open, &done, status(at(index))); code != 0) return code;
      if (take(index, done != 0)) return 0;
    }
    return 0;
  }

 private:
  const Request* const requests_;
  Status* const statuses_;
  const bool no_statuses_;
  std::vector<Request> others_;
  std::vector<std::pair<int, RequestTable::Shared>> own_;
};

template <class Abi>
int Request_get_status_all(int count, const typename Abi::Request* requests, int* flag,
                           typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Request_get_status_all<Abi>, Entry::Request_get_status_all);
  DropIn& here = drop_in<Abi>();
  if (here.requests.none() || count <= 0) return real(count, requests, flag, statuses);
  here.progress.make();
  const Asked<Abi> asked(count, requests, statuses);
  // The others come first; they are given every status.
  if (const int code = real(count, asked.others(), flag, statuses); code != 0 || *flag == 0) return code;
  return asked.ask([](int index) { return index; },
                   [&](int, bool done) {
                     if (!done) *flag = 0;
                     return !done;
                   });
}

template <class Abi>
int Request_get_status_any(int count, const typename Abi::Request* requests, int* index, int* flag,
                           typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Request_get_status_any<Abi>, Entry::Request_get_status_any);
  DropIn& here = drop_in<Abi>();
  if (here.requests.none() || count <= 0) return real(count, requests, index, flag, status);
  here.progress.make();
  const Asked<Abi> asked(count, requests, status);
  bool found = false;
  const int code = asked.ask([](int) { return 0; },
                             [&](int at, bool done) {
                               if (done) *index = at;
                               return found = done;
                             });
  if (code != 0) return code;
  if (found) {
    *flag = 1;
    return 0;
  }
  if (const int others = real(count, asked.others(), index, flag, status); others != 0) return others;
  if (asked.any() && *index == Abi::kUndefined) *flag = 0;  // some are active
  return 0;
}

template <class Abi>
int Request_get_status_some(int count, const typename Abi::Request* requests, int* done, int* indices,
                            typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Request_get_status_some<Abi>, Entry::Request_get_status_some);
  DropIn& here = drop_in<Abi>();
  if (here.requests.none() || count <= 0) return real(count, requests, done, indices, statuses);
  here.progress.make();
  const Asked<Abi> asked(count, requests, statuses);
  int own = 0, others = 0;
  const int code = asked.ask([&](int) { return own; },
                             [&](int at, bool is_done) {
                               if (is_done) indices[own++] = at;
                               return false;
                             });
  if (code != 0) return code;
  if (const int failed = real(count, asked.others(), &others, indices + own, asked.status(own)); failed != 0)
    return failed;
  *done = others == Abi::kUndefined ? (asked.any() ? own : others) : own + others;
  return 0;
}

// These three stand in where the library has none of the functions, which are MPI 4.1's: a program that looks for the
// symbol finds ours.

template <class Abi>
int get_status_of_all(int count, const typename Abi::Request* requests, int* flag, typename Abi::Status* statuses) {
  const bool no_statuses = reinterpret_cast<std::intptr_t>(statuses) == Abi::kStatusIgnore;
  *flag = 1;
  for (int i = 0; i < count && *flag != 0; ++i)
    if (const int code = Request_get_status<Abi>(requests[i], flag, no_statuses ? statuses : &statuses[i]); code != 0)
      return code;
  return 0;
}

template <class Abi>
int get_status_of_any(int count, const typename Abi::Request* requests, int* index, int* flag,
                      typename Abi::Status* status) {
  *index = Abi::kUndefined;
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    if (is_none<Abi>(requests[i])) continue;
    if (const int code = Request_get_status<Abi>(requests[i], flag, status); code != 0) return code;
    if (*flag == 0) continue;
    *index = i;
    return 0;
  }
  if (*flag != 0 && reinterpret_cast<std::intptr_t>(status) != Abi::kStatusIgnore)
    *status = Process<Abi>::instance().library->empty_status();
  return 0;
}

template <class Abi>
int get_status_of_some(int count, const typename Abi::Request* requests, int* done, int* indices,
                       typename Abi::Status* statuses) {
  const bool no_statuses = reinterpret_cast<std::intptr_t>(statuses) == Abi::kStatusIgnore;
  int ended = 0;
  *done = Abi::kUndefined;
  for (int i = 0; i < count; ++i) {
    if (is_none<Abi>(requests[i])) continue;
    int flag = 0;
    const int code = Request_get_status<Abi>(requests[i], &flag, no_statuses ? statuses : &statuses[ended]);
    if (code != 0) return code;
    if (flag != 0) indices[ended++] = i;
    *done = ended;
  }
  return 0;
}

template <class Abi>
void fill_get_status(void** table) {
  table[std::size_t(Entry::Request_get_status_all)] =
      guarded<Abi, &get_status_of_all<Abi>, decltype(&get_status_of_all<Standard>)>();
  table[std::size_t(Entry::Request_get_status_any)] =
      guarded<Abi, &get_status_of_any<Abi>, decltype(&get_status_of_any<Standard>)>();
  table[std::size_t(Entry::Request_get_status_some)] =
      guarded<Abi, &get_status_of_some<Abi>, decltype(&get_status_of_some<Standard>)>();
}

}  // namespace sennit::shim::mpi::wrappers
