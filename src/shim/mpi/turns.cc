#include "shim/mpi/turns.h"

#include <utility>

namespace sennit::shim::mpi {

void Turns::say(TurnsTable& table) {
  for (; said_ < waiting_.size(); ++said_) {
    Turn& next = *waiting_[said_];
    if (next.kind == Turn::Kind::passed) table.pass();
    if (next.kind != Turn::Kind::offered) continue;
    const auto number = table.begin(next.signature);
    if (!number) return;
    next.number = *number;
  }
}

Result<std::optional<bool>> Turns::decide(Turn& first, TurnsTable& table) {
  if (first.kind != Turn::Kind::offered) return std::optional(false);
  if (!first.all) {
    const auto answer = table.answer(first.number);
    if (!answer.ok()) table.looked(first.number);  // it is over, and its place is free
    if (!answer.ok() || !*answer) return answer;
    first.all = *answer;
    table.looked(first.number);
  }
  if (!*first.all) return std::optional(false);
  return table.able(first);
}

void Turns::move(TurnsTable& table, Mover mover) {
  if (doing_ != nullptr)
    if (const auto ended = doing_->ended(); !ended.ok() || *ended)
      std::exchange(doing_, nullptr)->end(ended.status());
  for (;;) {
    say(table);
    if (said_ == 0) return;
    Turn& first = *waiting_.front();
    const auto ours = decide(first, table);
    if (ours.ok() && (!*ours || (**ours ? doing_ != nullptr : mover == Mover::helper))) return;
    const std::shared_ptr<Turn> turn = std::move(waiting_.front());
    waiting_.pop_front();
    --said_;
    if (!ours.ok()) {
      turn->end(ours.status());
    } else if (!**ours) {
      turn->call_real();
    } else if (auto status = turn->begin(); !status) {
      turn->end(status);
    } else {
      doing_ = turn;
    }
  }
}

}  // namespace sennit::shim::mpi
