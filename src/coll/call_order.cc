#include "coll/call_order.h"

namespace sennit::coll {

CallOrder::CallOrder(device::Executor& executor) : executor_(executor) {}
CallOrder::~CallOrder() = default;

Result<CallOrder::Turn*> CallOrder::turn_of(std::uint64_t capture, int device) {
  Turn& turn = turns_[capture];
  if (turn.end == nullptr) {
    const device::SetUp set_up(&executor_);
    auto event = executor_.event(device);
    if (!event) return event.status();
    turn.end = std::move(*event);
    turn.capture = capture;
  }
  return &turn;
}

bool CallOrder::is_behind(const device::Queue& queue, const Turn& turn) const {
  const bool may_be_replayed = turn.capture == 0 && has_captured_;
  return may_be_replayed || (turn.queue && !turn.queue->is_same_stream(queue));
}

Result<CallOrder::Taken> CallOrder::take(device::Lane& lane) {
  const device::Queue queue = lane.queue();
  const std::uint64_t capture = queue.capture;
  // Captures are numbered as they begin; no program keeps so many open that the oldest is not over.
  constexpr std::size_t kMostTurns = 64;
  if (turns_.size() > kMostTurns && !turns_.contains(capture)) turns_.erase(turns_.upper_bound(0));
  auto turn = turn_of(capture, lane.device());
  if (!turn) return turn.status();
  if (capture != 0 && !(*turn)->queue) {
    // A capture cannot wait inside for what was enqueued outside of it; each replay can.
    const device::SetUp set_up(&executor_);
    auto at_once = turn_of(0, lane.device());
    if (!at_once) return at_once.status();
    if (auto status = lane.keep_in_replays(graphs_); !status) return status;
    has_captured_ = true;
    if (auto status = lane.wait_in_replays(*(*at_once)->end); !status) return status;
  } else if (is_behind(queue, **turn)) {
    if (auto status = lane.wait(*(*turn)->end); !status) return status;
    // The wait was for the replays of graphs that are all gone by now.
    if (capture == 0 && !has_graphs()) has_captured_ = false;
  }
  return Taken{*turn, queue};
}

Status CallOrder::end(device::Lane& lane, const Taken& taken) {
  Turn& turn = *taken.turn;
  turn.queue = taken.queue;
  if (auto status = lane.record(*turn.end); !status) return status;
  if (turn.capture == 0) return {};
  const device::SetUp set_up(&executor_);
  return lane.record_in_replays(*turns_.at(0).end, turn.replayed);
}

Status CallOrder::follow(device::Lane& lane) {
  const device::Queue queue = lane.queue();
  const auto latest = turns_.find(queue.capture);
  const bool waits = latest != turns_.end() && latest->second.end != nullptr && is_behind(queue, latest->second);
  return waits ? lane.wait(*latest->second.end) : Status();
}

Result<bool> CallOrder::idle() {
  const auto latest = turns_.find(0);
  return latest == turns_.end() || latest->second.end == nullptr ? Result<bool>(true) : latest->second.end->done();
}

}  // namespace sennit::coll
