// The wrappers of functions that complete, start and free requests: what GPU memory a request wrote comes back to it when
// the request completes, whichever function says so.
#pragma once

#include <algorithm>
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
  Batch(int count, const Request* requests, Status* statuses) : statuses_(statuses) {
    OpenRequests& table = drop_in<Abi>().requests();
    for (int i = 0; i < count; ++i) {
      handles_.push_back(to_handle(requests[i]));
      open_.push_back(table.find(handles_.back()));
      any_ = any_ || open_.back() != nullptr;
    }
    const bool ignored = reinterpret_cast<std::intptr_t>(statuses) == Abi::kStatusIgnore;
    if (any_ && ignored) {
      own_.resize(static_cast<std::size_t>(count));
      statuses_ = own_.data();
    }
  }

  /// Whether the drop-in has to do with any of them.
  bool any() const { return any_; }
  /// The program's statuses, or some to look at where it ignores them.
  Status* statuses() const { return statuses_; }

  /// Request `index` has completed, with this status. MPI's code for the program.
  int complete(int index, const Status& status) {
    const auto& open = open_[static_cast<std::size_t>(index)];
    if (open == nullptr || !open->active) return 0;
    DropIn& here = drop_in<Abi>();
    if (open->persistent)
      open->active = false;
    else
      here.requests().remove(handles_[static_cast<std::size_t>(index)]);
    if (open->shadows == nullptr) return 0;
    const auto given = here.end(*open->shadows, open->receives ? received<Abi>(status) : -1);
    return given.ok() ? 0 : here.fail("completing a request", kNoHandle, given);
  }
  int complete_all(const Status* statuses) {
    int code = 0;
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (const int one = complete(static_cast<int>(i), statuses[i]); one != 0) code = one;
    return code;
  }
  int complete_some(int count, const int* indices, const Status* statuses) {
    int code = 0;
    for (int i = 0; i < count; ++i)
      if (const int one = complete(indices[i], statuses[i]); one != 0) code = one;
    return code;
  }

 private:
  std::vector<Handle> handles_;
  std::vector<std::shared_ptr<OpenRequest>> open_;
  bool any_ = false;
  Status* statuses_;
  std::vector<Status> own_;
};

template <class Abi>
int Wait(typename Abi::Request* request, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Wait<Abi>, Entry::Wait);
  if (drop_in<Abi>().requests().none()) return real(request, status);
  Batch<Abi> batch(1, request, status);
  const int code = real(request, batch.statuses());
  return code != 0 || !batch.any() ? code : batch.complete(0, *batch.statuses());
}

template <class Abi>
int Test(typename Abi::Request* request, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Test<Abi>, Entry::Test);
  if (drop_in<Abi>().requests().none()) return real(request, flag, status);
  Batch<Abi> batch(1, request, status);
  const int code = real(request, flag, batch.statuses());
  return code != 0 || *flag == 0 || !batch.any() ? code : batch.complete(0, *batch.statuses());
}

template <class Abi>
int Waitall(int count, typename Abi::Request* requests, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Waitall<Abi>, Entry::Waitall);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, statuses);
  Batch<Abi> batch(count, requests, statuses);
  const int code = real(count, requests, batch.statuses());
  return code != 0 || !batch.any() ? code : batch.complete_all(batch.statuses());
}

template <class Abi>
int Testall(int count, typename Abi::Request* requests, int* flag, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Testall<Abi>, Entry::Testall);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, flag, statuses);
  Batch<Abi> batch(count, requests, statuses);
  const int code = real(count, requests, flag, batch.statuses());
  return code != 0 || *flag == 0 || !batch.any() ? code : batch.complete_all(batch.statuses());
}

template <class Abi>
int Waitany(int count, typename Abi::Request* requests, int* index, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Waitany<Abi>, Entry::Waitany);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, index, status);
  Batch<Abi> batch(count, requests, status);
  const int code = real(count, requests, index, batch.statuses());
  if (code != 0 || !batch.any() || *index == Abi::kUndefined) return code;
  return batch.complete(*index, *batch.statuses());
}

template <class Abi>
int Testany(int count, typename Abi::Request* requests, int* index, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Testany<Abi>, Entry::Testany);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, index, flag, status);
  Batch<Abi> batch(count, requests, status);
  const int code = real(count, requests, index, flag, batch.statuses());
  if (code != 0 || *flag == 0 || !batch.any() || *index == Abi::kUndefined) return code;
  return batch.complete(*index, *batch.statuses());
}

template <class Abi>
int Waitsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Waitsome<Abi>, Entry::Waitsome);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, done, indices, statuses);
  Batch<Abi> batch(count, requests, statuses);
  const int code = real(count, requests, done, indices, batch.statuses());
  if (code != 0 || !batch.any() || *done == Abi::kUndefined) return code;
  return batch.complete_some(*done, indices, batch.statuses());
}

template <class Abi>
int Testsome(int count, typename Abi::Request* requests, int* done, int* indices, typename Abi::Status* statuses) {
  const auto real = Real<Abi>::of(&Testsome<Abi>, Entry::Testsome);
  if (drop_in<Abi>().requests().none() || count <= 0) return real(count, requests, done, indices, statuses);
  Batch<Abi> batch(count, requests, statuses);
  const int code = real(count, requests, done, indices, batch.statuses());
  if (code != 0 || !batch.any() || *done == Abi::kUndefined) return code;
  return batch.complete_some(*done, indices, batch.statuses());
}

template <class Abi>
int Request_get_status(typename Abi::Request request, int* flag, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(&Request_get_status<Abi>, Entry::Request_get_status);
  if (drop_in<Abi>().requests().none()) return real(request, flag, status);
  Batch<Abi> batch(1, &request, status);
  const int code = real(request, flag, batch.statuses());
  if (code != 0 || *flag == 0 || !batch.any()) return code;
  // The program may use the memory from now on; the request remains, and is completed once more without effect.
  return batch.complete(0, *batch.statuses());
}

/// Persistent requests begin anew: what they read is looked at now.
template <class Abi>
int refill(int count, const typename Abi::Request* requests) {
  DropIn& here = drop_in<Abi>();
  for (int i = 0; i < count; ++i) {
    const auto open = here.requests().find(to_handle(requests[i]));
    if (open == nullptr) continue;
    open->active = true;
    if (open->shadows == nullptr) continue;
    if (auto status = open->shadows->fill(); !status) return here.fail("MPI_Start", kNoHandle, status);
  }
  return 0;
}

template <class Abi>
int Start(typename Abi::Request* request) {
  const auto real = Real<Abi>::of(&Start<Abi>, Entry::Start);
  if (!drop_in<Abi>().requests().none())
    if (const int code = refill<Abi>(1, request); code != 0) return code;
  return real(request);
}

template <class Abi>
int Startall(int count, typename Abi::Request* requests) {
  const auto real = Real<Abi>::of(&Startall<Abi>, Entry::Startall);
  if (!drop_in<Abi>().requests().none())
    if (const int code = refill<Abi>(count, requests); code != 0) return code;
  return real(count, requests);
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
    typename Abi::Status status{};
    typename Abi::Request waited = *request;
    const auto wait = Real<Abi>::of(&Wait<Abi>, Entry::Wait);
    Batch<Abi> batch(1, &waited, &status);
    if (const int code = wait(&waited, &status); code != 0) return code;
    if (const int code = batch.complete(0, status); code != 0) return code;
    if (!open->persistent) {
      *request = waited;
      return 0;
    }
  }
  table.remove(handle);
  return real(request);
}

}  // namespace sennit::shim::mpi::wrappers
