// The wrappers of functions that complete, start and free requests: what GPU memory a request wrote comes back to it
// when the request completes, whichever function says so.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shim/mpi/wrappers.h"

namespace sennit::shim::mpi::wrappers {

/// The requests of one call, and which of them the drop-in has to do with.
template <class Abi>
class Batch {
 public:
  using Request = typename Abi::Request;
  using Status = typename Abi::Status;

  /// As they are before the call: what completes is forgotten by MPI, and its handle given to another one.
  Batch(int count, const Request* requests, Status* statuses)
      : no_statuses_(reinterpret_cast<std::intptr_t>(statuses) == Abi::kStatusIgnore), statuses_(statuses) {
    OpenRequests& table = drop_in<Abi>().requests();
    for (int i = 0; i < count; ++i) {
      handles_.push_back(to_handle(requests[i]));
      open_.push_back(table.find(handles_.back()));
      any_ = any_ || open_.back() != nullptr;
    }
    if (any_ && no_statuses_) {
      own_.resize(static_cast<std::size_t>(count));
      statuses_ = own_.data();
    }
  }

  ~Batch() {
    (void)bring();  // where a rank was lost meanwhile, which the program hears of
    put_back();
    if (watched_) count_watchers(-1);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// These requests are looked at by this wait until it ends, and by no other's progress: a look takes the driver a
  /// microsecond.
  void watch() {
    watched_ = true;
    count_watchers(1);
  }

  /// Before the real function may end those that are not hidden.
  void claim() {
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (hidden_.empty() || !hidden_[i]) claim(i);
  }

  /// MPI_Test of request `index`; to be asked until it says that this one has completed, or an error.
  int test(int index, Request& request, int& flag) {
    Status* const status = no_statuses_ && !any_ ? statuses_ : &statuses_[index];
    flag = 0;
    if (!ready(index)) return 0;
    flag = 1;
    if (idle(index)) {
      *status = Process<Abi>::instance().library->empty_status();
      return 0;
    }
    if (finished(index)) return complete(index, *status);
    claim(static_cast<std::size_t>(index));
    const int code = Real<Abi>::of(&Test<Abi>, Entry::Test)(&request, &flag, status);
    if (code != 0)
      end(index);
    else if (flag != 0)
      return complete(index, *status);
    put_back();
    return code;
  }
  /// What each ended with, to the program's statuses.
  void tell_errors(std::span<const int> codes) {
    for (std::size_t i = 0; !no_statuses_ && i < codes.size(); ++i) statuses_[i].error = codes[i];
  }

  /// Whether the drop-in has to do with any of them.
  bool any() const { return any_; }
  /// Whether nothing but the real function is needed.
  bool plain() const { return !any_ && !drop_in<Abi>().busy(); }
  /// The program's statuses, or some to look at where it ignores them.
  Status* statuses() const { return statuses_; }

  bool ready(int index) const {
    const auto& open = open_[static_cast<std::size_t>(index)];
    return open == nullptr || drop_in<Abi>().ready(handles_[static_cast<std::size_t>(index)], *open);
  }
  bool all_ready() const {
    bool all = true;
    for (int i = 0; i < static_cast<int>(open_.size()); ++i) {
      all = ready(i) && all;
      if (const auto at = static_cast<std::size_t>(i); open_.size() > 1 && open_[at] != nullptr)
        drop_in<Abi>().bring(handles_[at], *open_[at]);
    }
    return all;
  }

  /// What completes from now on may leave few bytes to bring(), which copies them together.
  void gather() { gathers_ = open_.size() > 1; }
  /// To be called before the program hears of it. MPI's code.
  int bring() {
    if (!bringing_) return 0;
    const auto brought = bringing_->end();
    return brought.ok() ? 0 : drop_in<Abi>().fail("completing requests", kNoHandle, brought);
  }

  /// The requests without those that are not ready, or not the real function's: what it may complete. take_back()
  /// brings what it made of them to the program.
  std::vector<Request> visible(const Request* requests) {
    return some(requests, [&](int i) { return !ready(i) || not_for_real(i); });
  }
  /// The same where all are ready.
  std::vector<Request> unfinished(const Request* requests) {
    return some(requests, [&](int i) { return not_for_real(i); });
  }
  /// Whether one that was hidden is still to complete.
  bool any_awaited() const {
    for (std::size_t i = 0; i < hidden_.size(); ++i)
      if (hidden_[i] && !idle(static_cast<int>(i))) return true;
    return false;
  }
  void take_back(Request* requests, const std::vector<Request>& some) const {
    for (std::size_t i = 0; i < some.size(); ++i)
      if (!hidden_[i]) requests[i] = some[i];
  }

  /// Whether the real library has completed the request before, and knows no more of it.
  bool finished(int index) const {
    const auto& open = open_[static_cast<std::size_t>(index)];
    return open != nullptr && open->active && open->finished && ready(index);
  }

  /// Whether it is a persistent call of sennit's that is not started. The real library never starts it, and MPICH 4.0
  /// takes one that was never started for one under way.
  bool idle(int index) const {
    const auto& open = open_[static_cast<std::size_t>(index)];
    return open != nullptr && open->repeated != nullptr && !open->active;
  }

  /// Request `index` has completed, with this status. MPI's code for the program.
  int complete(int index, Status& status) {
    const auto at = static_cast<std::size_t>(index);
    const OpenRequests::Shared open = open_[at];
    if (open == nullptr || !open->active) return 0;
    DropIn& here = drop_in<Abi>();
    if (open->finished) std::memcpy(&status, open->status.data(), sizeof status);
    std::int64_t bytes = open->receives ? received<Abi>(status) : -1;
    here.requests().end(*open);
    if (open->begun != nullptr) {
      tell_nothing(status);
      return here.complete(*open->begun);
    }
    if (!open->lost.ok()) return here.fail("sending a message", kNoHandle, open->lost);
    if (open->brought) return 0;
    if (open->receive != nullptr) {
      const bool fetched = open->receive->incoming != nullptr;
      const int code = here.complete(*open->receive, open->shadows.get(), bytes, bringing_of(open->shadows.get()));
      if (fetched && code == 0) tell<Abi>(status, bytes);
      return code;
    }
    if (open->shadows == nullptr) return 0;
    const auto given = open->shadows->give_back(bytes, bringing_of(open->shadows.get()));
    return given.ok() ? 0 : here.fail("completing a request", kNoHandle, given);
  }
  int complete_all(Status* statuses) {
    gather();
    int code = 0;
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (const int one = complete(static_cast<int>(i), statuses[i]); one != 0) code = one;
    const int brought = bring();
    return code != 0 ? code : brought;
  }
  int complete_some(int count, const int* indices, Status* statuses) {
    gather();
    int code = 0;
    for (int i = 0; i < count; ++i)
      if (const int one = complete(indices[i], statuses[i]); one != 0) code = one;
    const int brought = bring();
    return code != 0 ? code : brought;
  }

  /// The real function has failed with `code`, and left the requests like this: what it ended is over, since its
  /// handle may go to another request, and has brought nothing. Returns the code.
  int fail(int code, const Request* requests) {
    if (!any_) return code;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (code == Abi::kErrInStatus)
        end_as_told(static_cast<int>(i), statuses_[i]);
      else if (open_.size() == 1 || to_handle(requests[i]) != handles_[i])
        end(static_cast<int>(i));
    }
    return code;
  }
  /// The same where statuses are those of the requests at `indices` alone.
  int fail_some(int code, const Request* requests, int count, const int* indices) {
    if (!any_ || code != Abi::kErrInStatus || count < 0) return fail(code, requests);
    for (int i = 0; i < count; ++i) end_as_told(indices[i], statuses_[i]);
    return code;
  }

 private:
  /// What the real library has completed before, or never began.
  bool not_for_real(int index) const { return finished(index) || idle(index); }

  template <class Hides>
  std::vector<Request> some(const Request* requests, const Hides& hides) {
    std::vector<Request> left(requests, requests + open_.size());
    hidden_.assign(open_.size(), false);
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (hides(static_cast<int>(i))) {
        left[i] = from_handle<Request>(drop_in<Abi>().mpi().request_null());
        hidden_[i] = true;
      }
    return left;
  }

  Bringing* bringing_of(const Shadows* shadows) {
    if (!gathers_ || shadows == nullptr) return nullptr;
    if (!bringing_) bringing_.emplace(shadows->begin_bringing());
    return &*bringing_;
  }

  void claim(std::size_t index) {
    if (open_[index] == nullptr) return;
    if (auto one = drop_in<Abi>().requests().claim(handles_[index], *open_[index]); !one.empty())
      claimed_.push_back(std::move(one));
  }
  void put_back() {
    for (auto& one : claimed_)
      if (one.mapped()->persistent || one.mapped()->active) drop_in<Abi>().requests().put_back(std::move(one));
    claimed_.clear();
  }

  void count_watchers(int more) const {
    for (const auto& open : open_)
      if (open != nullptr) open->watchers += more;
  }

  void end(int index) {
    const OpenRequests::Shared open = open_[static_cast<std::size_t>(index)];
    if (open != nullptr && open->active) drop_in<Abi>().requests().end(*open);
  }
  /// One of several, as its status says: done, failed, or neither.
  void end_as_told(int index, Status& status) {
    if (status.error == 0)
      (void)complete(index, status);
    else if (status.error != Abi::kErrPending)
      end(index);
  }

  /// A collective call's status says nothing; its error stays as it is.
  static void tell_nothing(Status& status) {
    const int error = status.error;
    status = Process<Abi>::instance().library->empty_status();
    status.error = error;
  }

  std::vector<Handle> handles_;
  std::vector<OpenRequests::Shared> open_;
  std::vector<bool> hidden_;
  std::vector<OpenRequests::Claimed> claimed_;
  bool any_ = false, watched_ = false, gathers_ = false;
  std::optional<Bringing> bringing_;
  const bool no_statuses_;
  Status* statuses_;
  std::vector<Status> own_;
};

/// What a wait for some requests needs.
enum class Need : std::uint8_t {
  real,    ///< nothing but the real function
  others,  ///< that others of this rank, which the drop-in has to do with, go on meanwhile
  own,     ///< the drop-in has to do with some of them
};

template <class Abi>
Need need_of(int count, typename Abi::Request* requests, typename Abi::Status* statuses) {
  const Batch<Abi> batch(count, requests, statuses);
  return batch.plain() ? Need::real : batch.any() ? Need::own : Need::others;
}

/// Waits until `look` has something to tell the program: MPI's code. A rank that died never sends; who waits for host
/// memory alone waits as under MPI alone.
template <class Abi, class Look>
int wait_until(std::string_view function, Need need, const Look& look) {
  for (Patience patience;; patience.wait()) {
    if (const std::optional<int> code = look()) return *code;
    if (need != Need::own) continue;
    if (const auto code = drop_in<Abi>().in_vain(function)) return *code;
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
  return wait_until<Abi>("MPI_Wait", batch.any() ? Need::own : Need::others, [&]() -> std::optional<int> {
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
  return wait_until<Abi>("MPI_Waitall", batch.any() ? Need::own : Need::others, [&]() -> std::optional<int> {
    here.progress();
    const auto over = std::erase_if(left, [&](int i) {
      int flag = 0;
      int& code = codes[static_cast<std::size_t>(i)];
      code = batch.test(i, requests[i], flag);
      return code != 0 || flag != 0;
    });
    // While it waits for more, what has come is copied.
    if (over == 0 || left.empty())
      if (const int code = batch.bring(); code != 0) return code;
    if (!left.empty()) return std::nullopt;
    if (std::ranges::all_of(codes, [](int code) { return code == 0; })) return 0;
    batch.tell_errors(codes);
    return Abi::kErrInStatus;
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
  if (need == Need::real) return real(count, requests, index, status);
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
    if (batch.finished(i)) {
      const int at = (*done)++;
      indices[at] = i;
      if (const int code = batch.complete(i, batch.statuses()[at]); code != 0) return code;
    }
  if (*done != 0) return 0;
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
  if (need == Need::real) return real(count, requests, done, indices, statuses);
  return wait_until<Abi>("MPI_Waitsome", need, [&]() -> std::optional<int> {
    bool again = false;
    const int code = test_some<Abi>(count, requests, done, indices, statuses, again);
    return code != 0 || !again ? std::optional(code) : std::nullopt;
  });
}

template <class Abi>
int Request_get_status(typename Abi::Request request, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Request_get_status<Abi>, Entry::Request_get_status);
  DropIn& here = drop_in<Abi>();
  if (here.requests().none()) return real(request, flag, status);
  here.progress();
  const auto open = here.requests().find(to_handle(request));
  if (open == nullptr || !open->active) return real(request, flag, status);
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
    if (open->begun != nullptr) *told = Process<Abi>::instance().library->empty_status();
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
  return given.ok() ? 0 : here.fail("MPI_Request_get_status", kNoHandle, given);
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
    if (auto status = open->shadows->fill(); !status) return here.fail("MPI_Start", kNoHandle, status);
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
  if (open->active) {
    // MPI goes on with the message, and with it its memory is still used: nobody will say when that ends. Waiting is
    // the one way to bring a message to where the program expects it.
    if (const int code = Wait<Abi>(request, ignored<Abi>()); code != 0 || !open->persistent) return code;
  }
  table.remove(handle);
  return real(request);
}

}  // namespace sennit::shim::mpi::wrappers
