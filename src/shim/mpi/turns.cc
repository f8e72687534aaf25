#include "shim/mpi/turns.h"

#include <utility>

namespace sennit::shim::mpi {

void Turns::say(TurnsTable& table) {
  for (; said_ < waiting_.size(); ++said_) {
    Turn& next = *waiting_[said_];
    if (next.kind == Turn::Kind::passed) table.pass();
    if (next.kind != Turn::Kind::offered) continue;
    const auto number = table.begin();
    if (!number) return;
    next.number = *number;
  }
}

std::optional<bool> Turns::decide(Turn& first, TurnsTable& table) {
  if (first.kind != Turn::Kind::offered) return false;
  if (!first.all) {
    first.all = table.answer(first.number);
    if (!first.all) return std::nullopt;
    table.looked(first.number);
  }
  return *first.all ? table.able(first) : false;
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
    if (!ours || (*ours && doing_ != nullptr) || (!*ours && mover == Mover::helper)) return;
    const std::shared_ptr<Turn> turn = std::move(waiting_.front());
    waiting_.pop_front();
    --said_;
    if (!*ours) {
      turn->call_real();
    } else if (auto status = turn->begin(); !status) {
      turn->end(status);
    } else {
      doing_ = turn;
    }
  }
}

}  // namespace sennit::shim::mpi
