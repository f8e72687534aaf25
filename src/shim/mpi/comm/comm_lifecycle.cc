// Makes sennit's communicator beside one of the program's, and ends it.
#include <algorithm>

#include <fmt/format.h>

#include "base/backoff.h"
#include "base/log.h"
#include "base/thread.h"
#include "shim/mpi/comm/comm_registry.h"
#include "shim/mpi/comm/handshake.h"

namespace sennit::shim::mpi {

Status CommRegistry::take(CommState& one, Result<std::unique_ptr<OneNode>> made) {
  if (!made) return made.status();
  one.on_node = made->get();
  one.communicator = std::move(*made);
  return {};
}

void CommRegistry::say_unmatched(const CommState& one, const Status& status) const {
  if (one.shape.rank == 0)
    log(LogLevel::warning, fmt::format("collectives of a communicator of {} ranks go through host memory: {}",
                                       one.shape.size, status.text()));
}

void CommRegistry::match(Handle comm, CommState& one, Result<std::shared_ptr<device::Executor>> executor,
                         int device) {
  one.tried = true;
  Status status;
  if (one.nodes) {
    auto made = SeveralNodes::create(mpi_, comm, one.shape, *one.nodes, way(*one.nodes), std::move(executor), device);
    status = made.status();
    if (made) one.communicator = std::move(*made);
  } else {
    status = take(one, OneNode::create(exchange_over(mpi_, comm, one.shape), std::move(executor), device));
  }
  if (status.ok()) return;
  one.why_not = status.what();
  say_unmatched(one, status);
}

void CommRegistry::begin_to_match(CommState& one, Result<std::shared_ptr<device::Executor>> executor, int device) {
  one.tried = true;
  auto exchange = control_exchanges_->open(one.key, one.ranks, one.shape.rank);
  auto make = [&one, device, with = std::move(exchange), on = std::move(executor)]() mutable {
    one.result = OneNode::create(std::move(with), std::move(on), device);
    one.made.store(true, std::memory_order_release);
  };
  const auto shared = std::make_shared<decltype(make)>(std::move(make));
  // The other ranks are waited for here where no thread can be had: all have come to the call, or will.
  if (auto started = start_thread([shared] { (*shared)(); }))
    one.making = std::move(*started);
  else
    (*shared)();
}

std::optional<bool> CommRegistry::matched(CommState& one) {
  if (one.communicator != nullptr) return true;
  if (!one.tried || (one.making.joinable() && !one.made.load(std::memory_order_acquire))) return std::nullopt;
  if (!one.made.exchange(false)) return false;  // it has been seen before
  if (one.making.joinable()) one.making.join();
  const Status status = take(one, std::move(one.result));
  if (status.ok()) return true;
  one.why_not = status.what();
  say_unmatched(one, status);
  return false;
}

void CommRegistry::close(Handle comm, CommState& one, const Meanwhile& meanwhile) {
  for (const auto& persistent_calls : one.persistent_calls) close(comm, *persistent_calls, meanwhile);
  if (one.communicator == nullptr) return;
  (void)one.communicator->close();
  (void)all_come(comm, meanwhile);  // no rank takes the end of another for its death
  one.on_node = nullptr;
  one.communicator.reset();
}

void CommRegistry::forget(Handle comm, const Meanwhile& meanwhile) {
  {
    const std::unique_lock lock(mutex_);
    members_.erase(comm);
  }
  CommState* const one = find(comm);
  if (one == nullptr) return;
  close(comm, *one, meanwhile);
  // Peers may still look at this rank's last answer, and other nodes ask for it.
  if (one->vote != nullptr) (void)all_come(comm, meanwhile);
  if (one->nodes) node_vote_->leave(one->key);
  peer_query_->leave(one->key);
  for (const auto& persistent_calls : one->persistent_calls) peer_query_->leave(persistent_calls->key);
  const std::unique_lock lock(mutex_);
  for (const auto& persistent_calls : one->persistent_calls) slots_.give_back(persistent_calls->slot);
  slots_.give_back(one->slot);
  all_.erase(comm);
  changed();
}

void CommRegistry::forget_freed(Handle comm) {
  const std::unique_lock lock(mutex_);
  members_.erase(comm);
  const auto found = all_.find(comm);
  if (found == all_.end() || found->second->why_not != kBeingFreed) return;
  peer_query_->leave(found->second->key);
  slots_.give_back(found->second->slot);
  all_.erase(found);
  changed();
}

void CommRegistry::await_node() {
  for (const int rank : group_->node_ranks())
    for (Backoff backoff; group_->slots(rank).presence.at_end.load(std::memory_order_acquire) == 0; backoff.wait()) {
      if (group_->has_left(rank) || !group_->check({&rank, 1}).ok()) break;
      mpi_.progress();
    }
}

bool CommRegistry::forget_all() {
  group_->slots(group_->rank()).presence.at_end.store(1, std::memory_order_release);
  // The ranks' handshakes may not have been looked at, where all calls ended in requests and none was of GPU memory.
  for (auto& [handle, one] : all_) {
    for (Backoff backoff; !ready(handle, *one) && !group_->failed(); backoff.wait()) {
    }
    if (!one->ready) keep_for_ever(std::move(one->handshake));
  }
  std::vector<std::pair<std::uint64_t, Handle>> order;
  for (const auto& [handle, one] : all_)
    if (one->communicator != nullptr || !one->persistent_calls.empty()) order.emplace_back(one->key, handle);
  // Every rank closes them in the same order, since each waits for the others of its communicator.
  std::ranges::sort(order);
  for (const auto& [key, handle] : order) close(handle, *all_[handle], [] {});
  const bool came = all_come(mpi_.comm_world(), [] {});
  if (!came) await_node();
  if (came && beside_ != kNoHandle) (void)mpi_.free(beside_);
  peer_query_->leave_all();
  node_vote_->leave_all();
  all_.clear();
  changed();
  return came;
}

}  // namespace sennit::shim::mpi
