// Holds the requests of one call of the program's, beside what the drop-in knows of them: what the real function may
// complete, and what is to be done when it has.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
int Request_free(typename Abi::Request* request);

/// Fills in the codes that several requests ended with, in the order of statuses, and returns MPI's code for the
/// program. Its error handlers have been called.
template <class Abi>
int tell_errors(std::span<const int> codes, typename Abi::Status* statuses) {
  if (std::ranges::all_of(codes, [](int code) { return code == 0; })) return 0;
  for (std::size_t i = 0; !is_ignored<Abi>(statuses) && i < codes.size(); ++i) statuses[i].error = codes[i];
  return Abi::kErrInStatus;
}

/// The requests of one call, and which of them the drop-in has to do with.
template <class Abi>
class RequestSet {
 public:
  using Request = typename Abi::Request;
  using Status = typename Abi::Status;

  /// Takes the requests as they are before the call: MPI forgets one that completes, and gives its handle to another.
  RequestSet(int count, Request* requests, Status* statuses)
      : requests_(requests),
        no_statuses_(reinterpret_cast<std::intptr_t>(statuses) == Abi::kStatusIgnore),
        statuses_(statuses) {
    RequestTable& table = drop_in<Abi>().requests;
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

  ~RequestSet() {
    (void)bring();  // where a rank was lost meanwhile, which the program hears of
    put_back();
    if (watched_) count_watchers(-1);
  }
  RequestSet(const RequestSet&) = delete;
  RequestSet& operator=(const RequestSet&) = delete;

  /// These requests are looked at by this wait until it ends, and by no other's progress: a look takes the driver a
  /// microsecond.
  void watch() {
    watched_ = true;
    count_watchers(1);
  }

  /// Claims the requests that are not hidden, before the real function may end them.
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
    if (code != 0 && !drop_in<Abi>().mpi->goes_on_after_death(code))
      end(index);
    else if (code == 0 && flag != 0 && any_)
      return complete(index, *status);
    put_back();
    return code;
  }
  /// Returns whether the drop-in has to do with any of the requests.
  bool any() const { return any_; }
  /// Returns the first such request; null: there is none.
  RequestTable::Shared first() const {
    const auto found = std::ranges::find_if(open_, [](const auto& open) { return open != nullptr; });
    return found != open_.end() ? *found : nullptr;
  }
  /// Returns whether nothing but the real function is needed.
  bool plain() const { return !any_ && !drop_in<Abi>().requests.busy(); }
  /// Returns the program's statuses, or some to look at where it ignores them.
  Status* statuses() const { return statuses_; }

  bool ready(int index) const {
    const auto& open = open_[static_cast<std::size_t>(index)];
    return open == nullptr || drop_in<Abi>().progress.ready(handles_[static_cast<std::size_t>(index)], *open);
  }
  bool all_ready() const {
    const msg::CopyBatch set;
    bool all = true;
    for (int i = 0; i < static_cast<int>(open_.size()); ++i) {
      all = ready(i) && all;
      if (const auto at = static_cast<std::size_t>(i); open_.size() > 1 && open_[at] != nullptr)
        drop_in<Abi>().progress.bring(handles_[at], *open_[at]);
    }
    return all;
  }

  /// Lets requests that complete from now on leave few bytes to bring(), which copies them together.
  void gather() { gathers_ = open_.size() > 1; }
  /// Copies what was collected, before the program hears of it. Returns MPI's code.
  int bring() {
    if (!copies_) return 0;
    const auto brought = copies_->end();
    return brought.ok() ? 0 : drop_in<Abi>().reporting.fail("completing requests", brought_first_->comm(), brought);
  }

  /// Returns the requests without those that are not ready, or not the real function's: what it may complete.
  /// take_back() brings what it made of them to the program.
  std::vector<Request> visible(const Request* requests) {
    return some(requests, [&](int i) { return !ready(i) || not_for_real(i); });
  }
  /// Hides likewise, where all requests are ready.
  std::vector<Request> unfinished(const Request* requests) {
    return some(requests, [&](int i) { return not_for_real(i); });
  }
  /// Returns whether a request that was hidden is still to complete.
  bool any_awaited() const {
    for (std::size_t i = 0; i < hidden_.size(); ++i)
      if (hidden_[i] && !idle(static_cast<int>(i))) return true;
    return false;
  }
  void take_back(Request* requests, const std::vector<Request>& some) const {
    for (std::size_t i = 0; i < some.size(); ++i)
      if (!hidden_[i]) requests[i] = some[i];
  }

  /// Returns whether the request is over whatever the real library may say: that has completed it before or is not
  /// asked.
  bool finished(int index) const {
    const auto& open = open_[static_cast<std::size_t>(index)];
    // A send that is over without the real library is asked once more: it may have been cancelled meanwhile.
    return open != nullptr && open->active && open->finished && ready(index) && open->finished;
  }

  /// Returns whether the request is a persistent call of sennit's that is not started. The real library never starts
  /// it, and MPICH 4.0 takes one that was never started for one under way.
  bool idle(int index) const {
    const auto& open = open_[static_cast<std::size_t>(index)];
    return open != nullptr && open->persistent_call != nullptr && !open->active;
  }

  /// Request `index` has completed, with this status. MPI's code for the program.
  int complete(int index, Status& status) {
    const auto at = static_cast<std::size_t>(index);
    const RequestTable::Shared open = open_[at];
    if (open == nullptr || !open->active) return 0;
    DropIn& here = drop_in<Abi>();
    if (open->sent != nullptr) return complete_sent(*open, status);
    if (open->finished) std::memcpy(&status, open->status.data(), sizeof status);
    std::int64_t bytes = open->receives ? received<Abi>(status) : -1;
    here.requests.end(*open);
    if (open->gone) {
      here.requests.remove(handles_[at]);
      requests_[at] = no_request<Abi>();
    }
    if (open->pending != nullptr) {
      tell_nothing(status);
      return here.queue.complete(*open->pending, open->comm());
    }
    // Whoever looks at it may meanwhile have seen its receiver come, so that the real library has ended it too: what
    // counts is that it was not asked.
    if (open->outgoing != nullptr && to_handle(requests_[at]) == handles_[at]) {
      here.requests.remove(handles_[at]);
      tell_nothing(status);
      return Real<Abi>::of(&Request_free<Abi>, Entry::Request_free)(&requests_[at]);
    }
    if (!open->lost.ok()) return here.reporting.fail("sending a message", open->comm(), open->lost);
    if (open->brought) {
      if (open->receive != nullptr && open->receive->incoming != nullptr)
        tell<Abi>(status, static_cast<std::int64_t>(open->receive->incoming->bytes()));
      return 0;
    }
    if (open->receive != nullptr) {
      const bool fetched = open->receive->incoming != nullptr;
      const int code =
          here.receives.complete(*open->receive, open->comm(), open->staged.get(), bytes, copies_of(open));
      if (fetched && code == 0) tell<Abi>(status, bytes);
      return code;
    }
    if (open->staged == nullptr) return 0;
    const auto given = open->partitions != nullptr ? open->partitions->finish(*open->staged)
                                                   : open->staged->copy_out(bytes, copies_of(open));
    return given.ok() ? 0 : here.reporting.fail("completing a request", open->comm(), given);
  }
  int complete_all(Status* statuses) {
    std::vector<int> indices(open_.size());
    std::iota(indices.begin(), indices.end(), 0);
    return complete_some(static_cast<int>(indices.size()), indices.data(), statuses);
  }
  int complete_some(int count, const int* indices, Status* statuses) {
    gather();
    std::vector<int> codes;
    for (int i = 0; i < count; ++i) codes.push_back(complete(indices[i], statuses[i]));
    const int brought = bring();
    const int code = tell_errors<Abi>(codes, statuses);
    return code != 0 ? code : brought;
  }

  /// The real function has failed with `code`, and left the requests like this: what it ended is over, since its
  /// handle may go to another request, and has brought nothing. Returns the code.
  int fail(int code, const Request* requests) {
    if (!any_ || drop_in<Abi>().mpi->goes_on_after_death(code)) return code;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (code == Abi::kErrInStatus)
        end_as_told(static_cast<int>(i), statuses_[i]);
      else if (open_.size() == 1 || to_handle(requests[i]) != handles_[i])
        end(static_cast<int>(i));
    }
    return code;
  }
  /// Ends requests likewise, where statuses are those of the requests at `indices` alone.
  int fail_some(int code, const Request* requests, int count, const int* indices) {
    if (!any_ || code != Abi::kErrInStatus || count < 0) return fail(code, requests);
    for (int i = 0; i < count; ++i) end_as_told(indices[i], statuses_[i]);
    return code;
  }

 private:
  /// Returns whether the real library has completed the request before, is not asked for it, or never began it.
  bool not_for_real(int index) const { return finished(index) || idle(index); }

  template <class Hides>
  std::vector<Request> some(const Request* requests, const Hides& hides) {
    std::vector<Request> left(requests, requests + open_.size());
    hidden_.assign(open_.size(), false);
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (hides(static_cast<int>(i))) {
        left[i] = from_handle<Request>(drop_in<Abi>().mpi->request_null());
        hidden_[i] = true;
      }
    return left;
  }

  /// Completes the start of a persistent send that is over. MPI's code.
  int complete_sent(OpenRequest& open, Status& status) {
    auto rts = from_handle<Request>(open.rts_request);
    const int code = Wait<Abi>(&rts, &status);
    const std::lock_guard lock(open.mutex);
    open.sent.reset();
    open.active = false;
    return code;
  }

  stage::SmallCopyBatch* copies_of(const RequestTable::Shared& open) {
    if (!gathers_ || open->staged == nullptr) return nullptr;
    if (!copies_) {
      copies_.emplace(open->staged->begin_copies());
      brought_first_ = open;
    }
    return &*copies_;
  }

  void claim(std::size_t index) {
    if (open_[index] == nullptr) return;
    // Other threads may give its parts meanwhile, and have to find it; the program keeps its handle.
    if (open_[index]->partitions != nullptr) return;
    if (auto one = drop_in<Abi>().requests.claim(handles_[index], *open_[index]); !one.empty())
      claimed_.push_back(std::move(one));
  }
  void put_back() {
    for (auto& one : claimed_)
      if (one.mapped()->active || (one.mapped()->persistent && !is_gone(one.key())))
        drop_in<Abi>().requests.put_back(std::move(one));
    claimed_.clear();
  }

  /// Returns whether the real library has ended a persistent request: Open MPI 4.1 frees those that have failed.
  bool is_gone(Handle handle) const {
    const auto at = std::ranges::find(handles_, handle) - handles_.begin();
    return is_none<Abi>(requests_[at]);
  }

  void count_watchers(int more) const {
    for (const auto& open : open_)
      if (open != nullptr) open->watchers += more;
  }

  void end(int index) {
    const RequestTable::Shared open = open_[static_cast<std::size_t>(index)];
    if (open != nullptr && open->active) drop_in<Abi>().requests.end(*open);
  }
  /// Ends one of several requests as its status says: done, failed, or neither.
  void end_as_told(int index, Status& status) {
    if (status.error == 0)
      status.error = complete(index, status);
    else if (status.error != Abi::kErrPending && !drop_in<Abi>().mpi->goes_on_after_death(status.error))
      end(index);
  }

  /// A collective call's status says nothing; its error stays as it is.
  static void tell_nothing(Status& status) {
    const int error = status.error;
    status = Process<Abi>::instance().library->empty_status();
    status.error = error;
  }

  std::vector<Handle> handles_;
  std::vector<RequestTable::Shared> open_;
  std::vector<bool> hidden_;
  std::vector<RequestTable::Claimed> claimed_;
  bool any_ = false, watched_ = false, gathers_ = false;
  std::optional<stage::SmallCopyBatch> copies_;
  RequestTable::Shared brought_first_;  // of those that are brought together
  Request* const requests_;
  const bool no_statuses_;
  Status* statuses_;
  std::vector<Status> own_;
};

}  // namespace sennit::shim::mpi::wrappers
