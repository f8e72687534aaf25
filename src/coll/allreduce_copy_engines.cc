#include "coll/allreduce_copy_engines.h"

#include "coll/copy_engines_windows.h"

#include <algorithm>

#include "base/units.h"
#include "device/joined.h"
#include "device/launch.h"

namespace sennit::coll {

namespace {

/// Defaults: a call begins and ends with a chunk that travels alone, so it has some; each costs some 11 µs beside its
/// bytes (2 × H200), so they are few.
constexpr std::uint64_t kLeastChunks = 4, kLeastChunk = 1 * MiB;

}  // namespace

Result<std::unique_ptr<CopyEngines>> CopyEngines::create(device::Executor& executor, int device, const Team& team) {
  std::unique_ptr<CopyEngines> made(new CopyEngines(executor, device, team));
  if (auto status = load(executor, device); !status) return status;
  auto engine = made->make_engine();
  if (!engine) return engine.status();
  auto memory = executor.allocate(device, sizeof(Tickets));
  if (!memory) return memory.status();
  made->memory_ = std::move(*memory);
  made->tickets_ = reinterpret_cast<Tickets*>(made->memory_.data());
  const Tickets none{};
  if (auto status = engine->lane->copy(made->tickets_, &none, sizeof none); !status) return status;
  if (auto status = engine->lane->synchronize(); !status) return status;
  made->engines_.push_back(std::make_unique<Engine>(std::move(*engine)));
  return made;
}

Status CopyEngines::load(device::Executor& executor, int device) {
  for (const device::Program* program :
       {&device::program_of<EngineStart>(), &device::program_of<EngineReduce>(), &device::program_of<EngineKeep>(),
        &device::program_of<EngineEnd>(), &device::program_of<EngineReduced>(), &device::program_of<WindowsEnd>()})
    if (auto status = executor.load(*program, device); !status) return status;
  return {};
}

Result<CopyEngines::Engine> CopyEngines::make_engine() {
  const device::SetUp set_up(&executor_);
  Engine made;
  auto lane = executor_.lane(device_);
  if (!lane) return lane.status();
  made.lane = std::move(*lane);
  made.reduced.resize(EngineShape::kDepth + 1);
  made.kept.resize(EngineShape::kDepth + 1);
  std::vector<std::unique_ptr<device::Event>*> wanted = {&made.fork, &made.sent};
  for (auto* events : {&made.reduced, &made.kept})
    for (auto& each : *events) wanted.push_back(&each);
  for (auto* const to : wanted) {
    auto event = executor_.event(device_);
    if (!event) return event.status();
    *to = std::move(*event);
  }
  return made;
}

Result<CopyEngines::Engine*> CopyEngines::engine_for(device::Lane& lane) {
  if (Engine* const engine = device::joined_or_free(engines_, lane.capture())) return engine;
  auto made = make_engine();
  if (!made) return made.status();
  engines_.push_back(std::make_unique<Engine>(std::move(*made)));
  return engines_.back().get();
}

std::uint64_t CopyEngines::most_bytes(const Team& team, unsigned) {
  return EngineShape::of(team).room * Tickets::kMost * static_cast<unsigned>(team.size);
}

Status CopyEngines::send(const ReduceCall& call, Engine& engine, device::Lane& lane, News kind, unsigned chunk,
                         std::uint64_t most, device::Event* after) {
  const SliceChunks slices = engine_chunks(call, team_, most);
  const EngineShape shape = EngineShape::of(team_);
  if (after != nullptr)
    if (auto status = engine.lane->wait(*after); !status) return status;
  for (int step = 1; step < team_.size; ++step) {
    const int peer = team_.after(step);
    const auto part = slices.of(kind == kScattered ? peer : team_.rank, chunk);
    const std::byte* const from = (kind == kScattered ? call.input : call.output) + part.begin;
    if (auto status = engine.lane->copy(shape.arrival(team_, peer, team_.rank, kind, chunk), from, part.bytes());
        !status)
      return status;
    if (auto status = engine.lane->post(team_.news(peer, team_.rank, kind), &tickets_->ticket[chunk]); !status)
      return status;
  }
  if (auto status = engine.lane->record(*engine.sent); !status) return status;
  return lane.wait(*engine.sent);
}

Status CopyEngines::run(const ReduceCall& call, device::Lane& lane, unsigned blocks) {
  auto found = engine_for(lane);
  if (!found) return found.status();
  Engine& engine = **found;
  const std::uint64_t room = EngineShape::of(team_).room;
  const std::uint64_t slice = device::part_of(call.bytes, 0, static_cast<unsigned>(team_.size)).end;
  const std::uint64_t most = std::min(room, std::max(kLeastChunk, slice / kLeastChunks));
  const unsigned chunks = engine_chunks(call, team_, most).count();
  const auto at = [](const auto& events, unsigned chunk) -> device::Event& { return *events[chunk % events.size()]; };
  if (auto status = device::launch(lane, EngineStart{team_, tickets_, chunks}, 1); !status) return status;  // 1.
  if (auto status = lane.record(*engine.fork); !status) return status;
  if (auto status = engine.lane->wait(*engine.fork); !status) return status;
  for (unsigned i = 0; i <= chunks; ++i) {
    if (i < chunks) {
      device::Event* const room_made = i < EngineShape::kDepth ? nullptr : &at(engine.kept, i - EngineShape::kDepth);
      if (auto status = send(call, engine, lane, kScattered, i, most, room_made); !status) return status;  // 2.
      const EngineReduce reduce{{call, team_, &tickets_->ticket[i], most, i}};
      if (auto status = device::launch(lane, reduce, blocks); !status) return status;  // 3.
      if (auto status = device::launch(lane, EngineReduced{tickets_, i}, 1, 32); !status) return status;
      if (auto status = lane.record(at(engine.reduced, i)); !status) return status;
    }
    if (i > 0) {
      if (auto status = send(call, engine, lane, kGathered, i - 1, most, &at(engine.reduced, i - 1)); !status)
        return status;  // 4.
      const EngineKeep keep{{call, team_, &tickets_->ticket[i - 1], most, i - 1}};
      if (auto status = device::launch(lane, keep, blocks); !status) return status;  // 5.
      if (auto status = lane.record(at(engine.kept, i - 1)); !status) return status;
    }
  }
  return device::launch(lane, EngineEnd{team_, tickets_, chunks}, 1);  // 6.
}

}  // namespace sennit::coll
