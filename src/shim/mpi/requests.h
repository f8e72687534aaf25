// The wrappers of functions that complete, start and free requests: what GPU memory a request wrote comes back to it
// when the request completes, whichever function says so.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shim/mpi/batch.h"
#include "shim/mpi/wrappers.h"

namespace sennit::shim::mpi::wrappers {

/// What a wait for some requests needs.
struct Need {
  bool real = false;         ///< nothing but the real function
  OpenRequests::Shared own;  ///< the first that the drop-in has to do with; null: others of this rank are to go on
};

template <class Abi>
Need need_of(const Batch<Abi>& batch) {
  return {batch.plain(), batch.first()};
}
template <class Abi>
Need need_of(int count, typename Abi::Request* requests, typename Abi::Status* statuses) {
  return need_of(Batch<Abi>(count, requests, statuses));
}

/// Waits until `look` has something to tell the program: MPI's code. A rank that died never sends; who waits for host
/// memory alone waits as under MPI alone.
template <class Abi, class Look>
int wait_until(std::string_view function, const Need& need, const Look& look) {
  for (Patience patience;; patience.wait()) {
    if (const std::optional<int> code = look()) return *code;
    if (need.own == nullptr) continue;
    if (const auto code = drop_in<Abi>().in_vain(function, need.own->comm())) return *code;
  }
}

template <class Abi>
int Test(typename Abi::Request* request, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Test<Abi>, Entry::Test);
  DropIn& here = drop_in<Abi>();
  if (here.requests().none()) return real(request, flag, status);
  here.progress();
  const int code = Batch<Abi>(1, request, status).test(0, *request, *flag);
  if (code == 0 && *flag == 0) here.mpi().progress();
  return code;
}

template <class Abi>
int Wait(typename Abi::Request* request, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Wait<Abi>, Entry::Wait);
  if (drop_in<Abi>().requests().none()) return real(request, status);
  Batch<Abi> batch(1, request, status);
  if (batch.plain()) return real(request, status);
  batch.watch();
  return wait_until<Abi>("MPI_Wait", need_of(batch), [&]() -> std::optional<int> {
    int flag = 0;
    const int code = Test<Abi>(request, &flag, status);
    return code != 0 || flag != 0 ? std::optional(code) : std::nullopt;
  });
}

template <class Abi>
int Testall(int count, typename Abi::Request* requests, int* flag, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Testall<Abi>, Entry::Testall);
  DropIn& here = drop_in<Abi>();
  if (here.requests().none() || count <= 0) return real(count, requests, flag, statuses);
  here.progress();
  Batch<Abi> batch(count, requests, statuses);
  if (!batch.all_ready()) {
    *flag = 0;
    here.mpi().progress();
    return 0;
  }
  auto some = batch.unfinished(requests);
  batch.claim();
  const int code = real(count, some.data(), flag, batch.statuses());
  batch.take_back(requests, some);
  if (code != 0) return batch.fail(code, requests);
  return *flag == 0 || !batch.any() ? code : batch.complete_all(batch.statuses());
}

/// One by one, since MPICH 5.0's MPI_Testall fails with persistent collectives among others; codes are MPI_Waitall's.
template <class Abi>
int Waitall(int count, typename Abi::Request* requests, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Waitall<Abi>, Entry::Waitall);
  DropIn& here = drop_in<Abi>();
  if (here.requests().none() || count <= 0) return real(count, requests, statuses);
  Batch<Abi> batch(count, requests, statuses);
  if (batch.plain()) return real(count, requests, statuses);
  std::vector<int> codes(static_cast<std::size_t>(count));
  std::vector<int> left(static_cast<std::size_t>(count));
  std::iota(left.begin(), left.end(), 0);
  batch.watch();
  batch.gather();
  return wait_until<Abi>("MPI_Waitall", need_of(batch), [&]() -> std::optional<int> {
    here.progress();
    const auto over = [&] {
      const Together together;
      return std::erase_if(left, [&](int i) {
        int flag = 0;
        int& code = codes[static_cast<std::size_t>(i)];
        code = batch.test(i, requests[i], flag);
        return code != 0 || flag != 0;
      });
    }();
    // While it waits for more, what has come is copied.
    if (over == 0 || left.empty())
      if (const int code = batch.bring(); code != 0) return code;
    if (!left.empty()) return std::nullopt;
    return batch.tell_errors(codes);
  });
}

template <class Abi>
int Testany(int count, typename Abi::Request* requests, int* index, int* flag, typename Abi::Status* status);
template <class Abi>
int Testsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses);

/// As MPI_Testany. `again`: nothing has completed, and something still may: whoever waits asks again.
template <class Abi>
int test_any(int count, typename Abi::Request* requests, int* index, int* flag, typename Abi::Status* status,
             bool& again) {
  DropIn& here = drop_in<Abi>();
  here.progress();
  Batch<Abi> batch(count, requests, status);
  again = false;
  for (int i = 0; i < count; ++i)
    if (batch.finished(i)) {
      *flag = 1;
      *index = i;
      return batch.complete(i, *batch.statuses());
    }
  auto visible = batch.visible(requests);
  const auto real = Real<Abi>::of(&Testany<Abi>, Entry::Testany);
  batch.claim();
  const int code = real(count, visible.data(), index, flag, batch.statuses());
  batch.take_back(requests, visible);
  if (code != 0) return batch.fail(code, requests);
  again = *flag == 0 || (*index == Abi::kUndefined && batch.any_awaited());
  if (again) {
    *flag = 0;
    *index = Abi::kUndefined;
  }
  if (*flag == 0 || *index == Abi::kUndefined || !batch.any()) return code;
  return batch.complete(*index, *batch.statuses());
}

template <class Abi>
int Testany(int count, typename Abi::Request* requests, int* index, int* flag, typename Abi::Status* status) {
  if (drop_in<Abi>().requests().none() || count <= 0)
    return Real<Abi>::of(&Testany<Abi>, Entry::Testany)(count, requests, index, flag, status);
  bool again = false;
  return test_any<Abi>(count, requests, index, flag, status, again);
}

template <class Abi>
int Waitany(int count, typename Abi::Request* requests, int* index, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Waitany<Abi>, Entry::Waitany);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, index, status);
  const auto need = need_of<Abi>(count, requests, status);
  if (need.real) return real(count, requests, index, status);
  return wait_until<Abi>("MPI_Waitany", need, [&]() -> std::optional<int> {
    int flag = 0;
    bool again = false;
    const int code = test_any<Abi>(count, requests, index, &flag, status, again);
    return code != 0 || !again ? std::optional(code) : std::nullopt;
  });
}

/// As MPI_Testsome; `again` as of test_any().
template <class Abi>
int test_some(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses,
              bool& again) {
  DropIn& here = drop_in<Abi>();
  here.progress();
  Batch<Abi> batch(count, requests, statuses);
  again = false;
  *done = 0;
  for (int i = 0; i < count; ++i)
    if (batch.finished(i)) indices[(*done)++] = i;
  if (*done != 0) return batch.complete_some(*done, indices, batch.statuses());
  auto visible = batch.visible(requests);
  const auto real = Real<Abi>::of(&Testsome<Abi>, Entry::Testsome);
  batch.claim();
  const int code = real(count, visible.data(), done, indices, batch.statuses());
  batch.take_back(requests, visible);
  if (code != 0) return batch.fail_some(code, requests, *done, indices);
  again = *done == 0 || (*done == Abi::kUndefined && batch.any_awaited());
  if (again) *done = 0;
  if (*done == 0 || *done == Abi::kUndefined || !batch.any()) return code;
  return batch.complete_some(*done, indices, batch.statuses());
}

template <class Abi>
int Testsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses) {
  if (drop_in<Abi>().requests().none() || count <= 0)
    return Real<Abi>::of(&Testsome<Abi>, Entry::Testsome)(count, requests, done, indices, statuses);
  bool again = false;
  return test_some<Abi>(count, requests, done, indices, statuses, again);
}

template <class Abi>
int Waitsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Waitsome<Abi>, Entry::Waitsome);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, done, indices, statuses);
  const auto need = need_of<Abi>(count, requests, statuses);
  if (need.real) return real(count, requests, done, indices, statuses);
  return wait_until<Abi>("MPI_Waitsome", need, [&]() -> std::optional<int> {
    bool again = false;
    const int code = test_some<Abi>(count, requests, done, indices, statuses, again);
    return code != 0 || !again ? std::optional(code) : std::nullopt;
  });
}

template <class Abi>
int Request_get_status(typename Abi::Request request, int* flag, typename Abi::Status* status);

/// As MPI_Request_get_status, of a request that the drop-in has to do with: one that is active, found as `open`.
template <class Abi>
int get_status(typename Abi::Request request, const OpenRequests::Shared& open, int* flag,
               typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Request_get_status<Abi>, Entry::Request_get_status);
  DropIn& here = drop_in<Abi>();
  if (!here.ready(to_handle(request), *open)) {
    *flag = 0;
    return 0;
  }
  typename Abi::Status own{};
  const bool no_status = reinterpret_cast<std::intptr_t>(status) == Abi::kStatusIgnore;
  typename Abi::Status* const told = no_status ? &own : status;
  if (open->finished) {
    *flag = 1;
    std::memcpy(told, open->status.data(), sizeof *told);
    if (open->begun != nullptr || open->let_go) *told = Process<Abi>::instance().library->empty_status();
  } else if (const int code = real(request, flag, told); code != 0 || *flag == 0) {
    return code;
  }
  if (open->begun != nullptr) {  // what completes it says what went wrong
    const std::lock_guard lock(open->mutex);
    return open->begun->give_back().ok() ? 0 : Abi::kErrOther;
  }
  // The program may use the memory from now on; the request stays until it is completed, which brings nothing more.
  std::int64_t bytes = open->receives ? received<Abi>(*told) : -1;
  if (open->receive != nullptr && open->receive->incoming != nullptr) {
    tell<Abi>(*told, static_cast<std::int64_t>(open->receive->incoming->bytes()));
    return 0;
  }
  const std::lock_guard lock(open->mutex);
  if (open->shadows == nullptr || open->brought) return 0;
  const auto given = open->shadows->give_back(bytes);
  open->brought = given.ok();
  return given.ok() ? 0 : here.fail("MPI_Request_get_status", open->comm(), given);
}

template <class Abi>
int Request_get_status(typename Abi::Request request, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Request_get_status<Abi>, Entry::Request_get_status);
  DropIn& here = drop_in<Abi>();
  if (here.requests().none()) return real(request, flag, status);
  here.progress();
  const auto open = here.requests().find(to_handle(request));
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
      auto open = drop_in<Abi>().requests().find(to_handle(requests[i]));
      if (open == nullptr || (!open->active && open->repeated == nullptr)) continue;
      others_[static_cast<std::size_t>(i)] = from_handle<Request>(drop_in<Abi>().mpi().request_null());
      // One of sennit's that is not started is as one that is none, whatever the real library thinks of it.
      if (open->active) own_.emplace_back(i, std::move(open));
    }
  }

  /// Whether the drop-in has to do with any.
  bool any() const { return !own_.empty(); }
  const Request* others() const { return others_.data(); }
  /// The program's status at a place, or what it gave to ignore it.
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
  std::vector<std::pair<int, OpenRequests::Shared>> own_;
};

template <class Abi>
int Request_get_status_all(int count, const typename Abi::Request* requests, int* flag,
                           typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Request_get_status_all<Abi>, Entry::Request_get_status_all);
  DropIn& here = drop_in<Abi>();
  if (here.requests().none() || count <= 0) return real(count, requests, flag, statuses);
  here.progress();
  const Asked<Abi> asked(count, requests, statuses);
  // First the others, which are given every status.
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
  if (here.requests().none() || count <= 0) return real(count, requests, index, flag, status);
  here.progress();
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
  if (here.requests().none() || count <= 0) return real(count, requests, done, indices, statuses);
  here.progress();
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

// The same where the library has none of the three, which are MPI 4.1's: a program that looks for the symbol finds
// ours.

template <class Abi>
bool is_none(typename Abi::Request request) {
  return to_handle(request) == drop_in<Abi>().mpi().request_null();
}

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
  table[std::size_t(Entry::Request_get_status_all)] = reinterpret_cast<void*>(&get_status_of_all<Abi>);
  table[std::size_t(Entry::Request_get_status_any)] = reinterpret_cast<void*>(&get_status_of_any<Abi>);
  table[std::size_t(Entry::Request_get_status_some)] = reinterpret_cast<void*>(&get_status_of_some<Abi>);
}

/// Persistent requests begin anew: what they read is looked at now.
template <class Abi>
int refill(int count, const typename Abi::Request* requests) {
  DropIn& here = drop_in<Abi>();
  for (int i = 0; i < count; ++i) {
    const auto open = here.requests().find(to_handle(requests[i]));
    if (open == nullptr) continue;
    here.requests().start(*open);
    if (open->shadows == nullptr) continue;
    if (auto status = open->shadows->fill(); !status) return here.fail("MPI_Start", open->comm(), status);
  }
  return 0;
}

/// Whether sennit does what the request stands for: then it has begun.
template <class Abi>
bool start_again(typename Abi::Request request) {
  const auto open = drop_in<Abi>().requests().find(to_handle(request));
  return open != nullptr && open->repeated != nullptr && drop_in<Abi>().start_again(*open);
}

/// Has them started, those that sennit does by sennit, and lets others look at them again.
template <class Abi, class CallReal>
int start(int count, typename Abi::Request* requests, const CallReal& real) {
  OpenRequests& table = drop_in<Abi>().requests();
  if (table.none() || count <= 0) return real(count, requests);
  std::vector<typename Abi::Request> others;
  for (int i = 0; i < count; ++i)
    if (!start_again<Abi>(requests[i])) others.push_back(requests[i]);
  const int left = static_cast<int>(others.size());
  if (left == 0) return 0;
  int code = refill<Abi>(left, others.data());
  if (code == 0) code = real(left, others.data());
  for (const auto& request : others)
    if (const auto open = table.find(to_handle(request)); open != nullptr) table.started(*open);
  return code;
}

template <class Abi>
int Start(typename Abi::Request* request) {
  return start<Abi>(1, request,
                    [](int, typename Abi::Request* one) { return Real<Abi>::of(&Start<Abi>, Entry::Start)(one); });
}

template <class Abi>
int Startall(int count, typename Abi::Request* requests) {
  return start<Abi>(count, requests, Real<Abi>::of(&Startall<Abi>, Entry::Startall));
}

template <class Abi>
int Request_free(typename Abi::Request* request) {
  const auto real = Real<Abi>::of(&Request_free<Abi>, Entry::Request_free);
  OpenRequests& table = drop_in<Abi>().requests();
  const Handle handle = to_handle(*request);
  const auto open = table.none() ? nullptr : table.find(handle);
  if (open == nullptr) return real(request);
  if (open->active && open->message && !open->persistent) {
    // MPI goes on with the message, and with it its memory is still used: the drop-in looks after it. The program may
    // free a send whose receiver waits for something else before, so this waits for nobody.
    table.leave(handle, open);
    *request = from_handle<typename Abi::Request>(drop_in<Abi>().mpi().request_null());
    drop_in<Abi>().progress();
    return 0;
  }
  if (open->active) {
    // Waiting is the one way to bring what it writes to where the program expects it.
    if (const int code = Wait<Abi>(request, ignored<Abi>()); code != 0 || !open->persistent) return code;
  }
  table.remove(handle);
  return real(request);
}

}  // namespace sennit::shim::mpi::wrappers
