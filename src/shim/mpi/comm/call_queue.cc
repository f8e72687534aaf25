#include "shim/mpi/comm/call_queue.h"

#include <utility>

namespace sennit::shim::mpi {

void CallQueue::say(QueueVotes& table) {
  for (; said_ < waiting_.size(); ++said_) {
    QueuedCall& next = *waiting_[said_];
    if (next.kind == QueuedCall::Kind::passed) table.vote_no();
    if (next.kind != QueuedCall::Kind::offered) continue;
    const auto number = table.begin(next.signature);
    if (!number) return;
    next.number = *number;
  }
}

Result<std::optional<bool>> CallQueue::decide(QueuedCall& first, QueueVotes& table) {
  if (first.kind != QueuedCall::Kind::offered) return std::optional(false);
  if (!first.all) {
    const auto answer = table.outcome(first.number);
    if (!answer.ok()) table.looked(first.number);  // it is over, and its place is free
    if (!answer.ok() || !*answer) return answer;
    first.all = *answer;
    table.looked(first.number);
  }
  if (!*first.all) return std::optional(false);
  return table.able(first);
}

void CallQueue::move(QueueVotes& table, Mover mover) {
  if (doing_ != nullptr)
    if (const auto ended = doing_->ended(); !ended.ok() || *ended)
      std::exchange(doing_, nullptr)->end(ended.status());
  for (;;) {
    say(table);
    if (said_ == 0) return;
    QueuedCall& first = *waiting_.front();
    const auto ours = decide(first, table);
    if (ours.ok() && (!*ours || (**ours ? doing_ != nullptr : mover == Mover::progress_thread))) return;
    const std::shared_ptr<QueuedCall> call = std::move(waiting_.front());
    waiting_.pop_front();
    --said_;
    if (!ours.ok()) {
      call->end(ours.status());
    } else if (!**ours) {
      call->call_real();
    } else if (auto status = call->begin(); !status) {
      call->end(status);
    } else {
      doing_ = call;
    }
  }
}

}  // namespace sennit::shim::mpi
