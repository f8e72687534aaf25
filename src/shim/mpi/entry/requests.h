// Wraps functions that complete, start and free requests: what GPU memory a request wrote comes back to it when the
// request completes, whichever function says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shim/mpi/entry/request_set.h"
#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

/// Says what a wait for some requests needs.
struct Need {
  bool real = false;         ///< nothing but the real function
  RequestTable::Shared own;  ///< the first that the drop-in has to do with; null: others of this rank are to go on
};

template <class Abi>
Need need_of(const RequestSet<Abi>& set) {
  return {set.plain(), set.first()};
}
template <class Abi>
Need need_of(int count, typename Abi::Request* requests, typename Abi::Status* statuses) {
  return need_of(RequestSet<Abi>(count, requests, statuses));
}

/// Waits until `look` has something to tell the program: MPI's code. A rank that died never sends; a wait for host
/// memory alone is as under MPI alone.
template <class Abi, class Look>
int wait_until(std::string_view function, const Need& need, const Look& look) {
  for (Backoff backoff;; backoff.wait()) {
    if (const std::optional<int> code = look()) return *code;
    if (need.own == nullptr) continue;
    if (const auto code = drop_in<Abi>().progress.fail_if_lost(function, *need.own)) return *code;
  }
}

template <class Abi>
int Test(typename Abi::Request* request, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Test<Abi>, Entry::Test);
  DropIn& here = drop_in<Abi>();
  if (here.requests.none()) return real(request, flag, status);
  here.progress.make();
  const int code = RequestSet<Abi>(1, request, status).test(0, *request, *flag);
  if (code == 0 && *flag == 0) here.progress.make_mpi();
  return code;
}

template <class Abi>
int Wait(typename Abi::Request* request, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Wait<Abi>, Entry::Wait);
  if (drop_in<Abi>().requests.none()) return real(request, status);
  RequestSet<Abi> set(1, request, status);
  if (set.plain()) return real(request, status);
  set.watch();
  return wait_until<Abi>("MPI_Wait", need_of(set), [&]() -> std::optional<int> {
    int flag = 0;
    const int code = Test<Abi>(request, &flag, status);
    return code != 0 || flag != 0 ? std::optional(code) : std::nullopt;
  });
}

template <class Abi>
int Testall(int count, typename Abi::Request* requests, int* flag, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Testall<Abi>, Entry::Testall);
  DropIn& here = drop_in<Abi>();
  if (here.requests.none() || count <= 0) return real(count, requests, flag, statuses);
  here.progress.make();
  RequestSet<Abi> set(count, requests, statuses);
  if (!set.all_ready()) {
    *flag = 0;
    here.progress.make_mpi();
    return 0;
  }
  auto some = set.unfinished(requests);
  set.claim();
  const int code = real(count, some.data(), flag, set.statuses());
  set.take_back(requests, some);
  if (code != 0) return set.fail(code, requests);
  return *flag == 0 || !set.any() ? code : set.complete_all(set.statuses());
}

/// Says whether a wait for several goes on where one of them was for a rank that has died.
enum class AfterDeath : std::uint8_t { waits, ends };

/// Waits for all of them, one by one, for the code of each. MPI's code where the wait itself fails.
template <class Abi>
int wait_for_each(std::string_view function, RequestSet<Abi>& set, typename Abi::Request* requests,
                  std::span<int> codes, AfterDeath then = AfterDeath::waits) {
  DropIn& here = drop_in<Abi>();
  const auto is_of_death = [&](int code) {
    return here.mpi->ends_by_death(code) || here.mpi->goes_on_after_death(code);
  };
  std::vector<int> left(codes.size());
  std::iota(left.begin(), left.end(), 0);
  set.watch();
  set.gather();
  return wait_until<Abi>(function, need_of(set), [&]() -> std::optional<int> {
    here.progress.make();
    const auto over = [&] {
      const msg::CopyBatch copies;
      return std::erase_if(left, [&](int i) {
        int flag = 0;
        int& code = codes[static_cast<std::size_t>(i)];
        code = set.test(i, requests[i], flag);
        return code != 0 || flag != 0;
      });
    }();
    if (over != 0 && !left.empty() && then == AfterDeath::ends && std::ranges::any_of(codes, is_of_death)) {
      for (const int i : left) codes[static_cast<std::size_t>(i)] = Abi::kErrPending;
      left.clear();
    }
    // While it waits for more, what has come is copied.
    if (over == 0 || left.empty())
      if (const int code = set.bring(); code != 0) return code;
    return left.empty() ? std::optional(0) : std::nullopt;
  });
}

/// Waits for one after the other, since MPICH 5.0's MPI_Testall fails with persistent collectives among others; codes
/// are MPI_Waitall's.
template <class Abi>
int Waitall(int count, typename Abi::Request* requests, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Waitall<Abi>, Entry::Waitall);
  if (drop_in<Abi>().requests.none() || count <= 0) return real(count, requests, statuses);
  RequestSet<Abi> set(count, requests, statuses);
  if (set.plain()) return real(count, requests, statuses);
  std::vector<int> codes(static_cast<std::size_t>(count));
  const int code = wait_for_each<Abi>("MPI_Waitall", set, requests, codes, AfterDeath::ends);
  return code != 0 ? code : tell_errors<Abi>(codes, set.statuses());
}

/// Waits for the two of an exchange, whose error is one of the two: MPI_Waitall would say that it is in a status.
template <class Abi>
int wait_for_two(typename Abi::Request* requests, typename Abi::Status* statuses, std::span<int> codes) {
  RequestSet<Abi> set(2, requests, statuses);
  return wait_for_each<Abi>("MPI_Sendrecv", set, requests, codes);
}

template <class Abi>
int Testany(int count, typename Abi::Request* requests, int* index, int* flag, typename Abi::Status* status);
template <class Abi>
int Testsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses);

/// Does what MPI_Testany does. `again`: nothing has completed, and something still may: a wait asks again.
template <class Abi>
int test_any(int count, typename Abi::Request* requests, int* index, int* flag, typename Abi::Status* status,
             bool& again) {
  DropIn& here = drop_in<Abi>();
  here.progress.make();
  RequestSet<Abi> set(count, requests, status);
  again = false;
  for (int i = 0; i < count; ++i)
    if (set.finished(i)) {
      *flag = 1;
      *index = i;
      return set.complete(i, *set.statuses());
    }
  auto visible = set.visible(requests);
  const auto real = Real<Abi>::of(&Testany<Abi>, Entry::Testany);
  set.claim();
  const int code = real(count, visible.data(), index, flag, set.statuses());
  set.take_back(requests, visible);
  if (code != 0) return set.fail(code, requests);
  again = *flag == 0 || (*index == Abi::kUndefined && set.any_awaited());
  if (again) {
    *flag = 0;
    *index = Abi::kUndefined;
  }
  // MPICH 4.0 leaves the status as it was where nothing is active.
  if (*flag != 0 && *index == Abi::kUndefined && !is_ignored<Abi>(status))
    *status = Process<Abi>::instance().library->empty_status();
  if (*flag == 0 || *index == Abi::kUndefined || !set.any()) return code;
  return set.complete(*index, *set.statuses());
}

template <class Abi>
int Testany(int count, typename Abi::Request* requests, int* index, int* flag, typename Abi::Status* status) {
  if (drop_in<Abi>().requests.none() || count <= 0)
    return Real<Abi>::of(&Testany<Abi>, Entry::Testany)(count, requests, index, flag, status);
  bool again = false;
  return test_any<Abi>(count, requests, index, flag, status, again);
}

template <class Abi>
int Waitany(int count, typename Abi::Request* requests, int* index, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Waitany<Abi>, Entry::Waitany);
  if (drop_in<Abi>().requests.none() || count <= 0) return real(count, requests, index, status);
  const auto need = need_of<Abi>(count, requests, status);
  if (need.real) return real(count, requests, index, status);
  return wait_until<Abi>("MPI_Waitany", need, [&]() -> std::optional<int> {
    int flag = 0;
    bool again = false;
    const int code = test_any<Abi>(count, requests, index, &flag, status, again);
    return code != 0 || !again ? std::optional(code) : std::nullopt;
  });
}

/// Does what MPI_Testsome does; `again` as in test_any().
template <class Abi>
int test_some(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses,
              bool& again) {
  DropIn& here = drop_in<Abi>();
  here.progress.make();
  RequestSet<Abi> set(count, requests, statuses);
  again = false;
  *done = 0;
  for (int i = 0; i < count; ++i)
    if (set.finished(i)) indices[(*done)++] = i;
  if (*done != 0) return set.complete_some(*done, indices, set.statuses());
  auto visible = set.visible(requests);
  const auto real = Real<Abi>::of(&Testsome<Abi>, Entry::Testsome);
  set.claim();
  const int code = real(count, visible.data(), done, indices, set.statuses());
  set.take_back(requests, visible);
  if (code != 0) return set.fail_some(code, requests, *done, indices);
  again = *done == 0 || (*done == Abi::kUndefined && set.any_awaited());
  if (again) *done = 0;
  if (*done == 0 || *done == Abi::kUndefined || !set.any()) return code;
  return set.complete_some(*done, indices, set.statuses());
}

template <class Abi>
int Testsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses) {
  if (drop_in<Abi>().requests.none() || count <= 0)
    return Real<Abi>::of(&Testsome<Abi>, Entry::Testsome)(count, requests, done, indices, statuses);
  bool again = false;
  return test_some<Abi>(count, requests, done, indices, statuses, again);
}

template <class Abi>
int Waitsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Waitsome<Abi>, Entry::Waitsome);
  if (drop_in<Abi>().requests.none() || count <= 0) return real(count, requests, done, indices, statuses);
  const auto need = need_of<Abi>(count, requests, statuses);
  if (need.real) return real(count, requests, done, indices, statuses);
  return wait_until<Abi>("MPI_Waitsome", need, [&]() -> std::optional<int> {
    bool again = false;
    const int code = test_some<Abi>(count, requests, done, indices, statuses, again);
    return code != 0 || !again ? std::optional(code) : std::nullopt;
  });
}

/// Persistent requests begin anew: what they read is looked at now.
template <class Abi>
int refill(std::span<const RequestTable::Shared> requests) {
  DropIn& here = drop_in<Abi>();
  for (const auto& open : requests)
    if (open != nullptr) here.requests.start(*open);
  for (const auto& open : requests) {
    if (open == nullptr || open->staged == nullptr) continue;
    if (open->partitions != nullptr) open->partitions->start();
    if (open->partitions != nullptr && !open->partitions->receives()) continue;  // MPI_Pready has each part looked at
    if (auto status = open->staged->copy_in(); !status) return here.reporting.fail("MPI_Start", open->comm(), status);
  }
  return 0;
}

/// Returns whether sennit does what the request stands for: then it has begun.
template <class Abi>
bool start_again(typename Abi::Request request) {
  const auto open = drop_in<Abi>().requests.find(to_handle(request));
  return open != nullptr && open->persistent_call != nullptr && drop_in<Abi>().persistent.start(*open);
}

/// Announces the start of a persistent send, where it can: a send of its own, which ends with it. Returns whether it
/// did.
template <class Abi>
bool announce_again(const RequestTable::Shared& open) {
  if (open == nullptr || open->sends == nullptr) return false;
  DropIn& here = drop_in<Abi>();
  const auto since = std::chrono::steady_clock::now();
  const Call& call = *open->sends;
  std::string_view why = "communicator freed";
  std::unique_ptr<msg::SendTransfer> outgoing;
  RequestTable::Shared sent;
  try {
    sent = std::make_shared<OpenRequest>();
    if (open->comm() != kNoHandle) outgoing = here.transports.announce(call, why);
  } catch (const std::bad_alloc&) {
    why = "no memory";
  }
  auto rts = no_request<Abi>();
  if (outgoing == nullptr ||
      Real<Abi>::of(&Issend<Abi>, Entry::Issend)(outgoing->sent(), outgoing->length(), byte<Abi>(), call.dest,
                                                 call.tag, from_handle<typename Abi::Comm>(call.comm), &rts) != 0 ||
      is_none<Abi>(rts)) {
    if (open->staged != nullptr)
      here.staging.count(call, *open->staged, why, std::chrono::steady_clock::now() - since);
    return false;
  }
  const std::uint64_t bytes = outgoing->bytes();
  const std::string_view plan = outgoing->plan();
  sent->outgoing = std::move(outgoing);
  sent->message = true;
  sent->function = call.function();
  here.requests.add(to_handle(rts), sent, call.comm);
  here.requests.start(*open, std::move(sent), to_handle(rts));
  here.progress.look_at_first_receives();
  here.progress.serve_first_sends();
  here.reporting.count(call, bytes, plan, since);
  return true;
}

/// Has them started, those that sennit does by sennit, and lets others look at them again.
template <class Abi, class CallReal>
int start(int count, typename Abi::Request* requests, const CallReal& real) {
  RequestTable& table = drop_in<Abi>().requests;
  if (table.none() || count <= 0) return real(count, requests);
  std::vector<typename Abi::Request> others;
  std::vector<int> indices;
  std::vector<RequestTable::Shared> open;
  for (int i = 0; i < count; ++i) {
    if (start_again<Abi>(requests[i])) continue;
    const auto found = table.find(to_handle(requests[i]));
    if (announce_again<Abi>(found)) continue;
    others.push_back(requests[i]);
    indices.push_back(i);
    open.push_back(found);
  }
  if (others.empty()) return 0;
  int code = refill<Abi>(open);
  if (code == 0) code = real(static_cast<int>(others.size()), others.data());
  for (std::size_t i = 0; i < others.size(); ++i) {
    // Open MPI gives a send that is buffered another request where it still works on the one before.
    auto& request = requests[indices[i]];
    if (to_handle(others[i]) != to_handle(request)) table.rename(to_handle(request), to_handle(others[i]));
    request = others[i];
    if (open[i] == nullptr) continue;
    if (code != 0) table.end(*open[i]);  // which of them have begun MPI does not say
    table.started(*open[i]);
  }
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

/// Cancels what the program's request stands for: the start of a persistent send that is announced is another
/// request.
template <class Abi>
int Cancel(typename Abi::Request* request) {
  const auto real = Real<Abi>::of(&Cancel<Abi>, Entry::Cancel);
  RequestTable& table = drop_in<Abi>().requests;
  const auto open = table.none() ? nullptr : table.find(to_handle(*request));
  if (open == nullptr || open->sends == nullptr) return real(request);
  const std::lock_guard lock(open->mutex);
  auto rts = from_handle<typename Abi::Request>(open->rts_request);
  return open->sent != nullptr ? real(&rts) : real(request);
}

template <class Abi>
int Request_free(typename Abi::Request* request) {
  const auto real = Real<Abi>::of(&Request_free<Abi>, Entry::Request_free);
  RequestTable& table = drop_in<Abi>().requests;
  const Handle handle = to_handle(*request);
  const auto open = table.none() ? nullptr : table.find(handle);
  if (open == nullptr) return real(request);
  if (open->active && open->message && !open->persistent) {
    // MPI goes on with the message, and with it its memory is still used: the drop-in looks after it. The program may
    // free a send whose receiver waits for something else before, so this waits for no rank.
    table.orphan(handle, open);
    *request = from_handle<typename Abi::Request>(drop_in<Abi>().mpi->request_null());
    drop_in<Abi>().progress.make();
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
