#include "coll/copy_engines_windows.h"

#include "device/launch.h"

namespace sennit::coll {

Status CopyEngines::exchange(std::span<const WindowMessage> messages, device::Lane& lane,
                             const std::function<Status()>& before) {
  auto found = engine_for(lane);
  if (!found) return found.status();
  Engine& engine = **found;
  if (auto status = device::launch(lane, EngineStart{team_, tickets_, 1}, 1, 32); !status) return status;  // 1.
  if (before) {                                                                                            // 2.
    if (auto status = before(); !status) return status;
    if (auto status = device::launch(lane, EngineReduced{tickets_, 0}, 1, 32); !status) return status;
  }
  if (auto status = lane.record(*engine.fork); !status) return status;
  if (auto status = engine.lane->wait(*engine.fork); !status) return status;
  for (int step = 1; step < team_.size; ++step) {  // 3.
    const int peer = team_.after(step);
    const WindowMessage& message = messages[static_cast<std::size_t>(peer)];
    if (auto status = engine.lane->copy(message.to, message.from, message.bytes); !status) return status;
    if (auto status = engine.lane->post(team_.news(peer, team_.rank, kGathered), &tickets_->ticket[0]); !status)
      return status;
  }
  if (auto status = engine.lane->record(*engine.sent); !status) return status;
  if (const WindowMessage& own = messages[static_cast<std::size_t>(team_.rank)]; own.from != own.to)  // 4.
    if (auto status = lane.copy(own.to, own.from, own.bytes); !status) return status;
  if (auto status = lane.wait(*engine.sent); !status) return status;
  return device::launch(lane, WindowsEnd{team_, tickets_}, 1, 32);  // 5.
}

}  // namespace sennit::coll
