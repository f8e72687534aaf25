#include "msg/rndv_pipeline.h"

#include "msg/pipeline_end.h"

namespace sennit::msg {

namespace {

/// Keeps memory for as long as the process lives.
void keep_for_ever(device::Memory memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<device::Memory>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

}  // namespace

Result<stage::CopyQueue*> Pipeline::queue(int device, bool up) {
  const std::lock_guard lock(mutex_);
  auto& queue = queues_[{device, up}];
  if (queue == nullptr) {
    auto made = stage::CopyQueue::create(gpus_.executor(), device);
    if (!made) return made.status();
    queue = std::move(*made);
  }
  return queue.get();
}

void Pipeline::note_received(const Rts& rts) {
  const std::lock_guard lock(mutex_);
  received_[{rts.sender, rts.slot}] = rts.number;
}

void Pipeline::answer(const Rts& rts, std::uint64_t what) {
  const std::lock_guard lock(mutex_);
  while (!answers_.empty()) {
    const auto over = carrier_.sent(answers_.front()->request);
    if (over.ok() && !*over) break;
    answers_.pop_front();
  }
  auto answer = std::make_unique<Answer>(Answer{what, 0});
  const auto request = carrier_.send(&answer->what, sizeof answer->what, rts.sender, answer_tag(rts.slot));
  if (!request) return;  // a rank that this fails for has died, which ends more than this message
  answer->request = *request;
  answers_.push_back(std::move(answer));
}

void Pipeline::refuse(const Rts& rts) {
  note_received(rts);
  answer(rts, kNotWanted);
}

std::optional<std::uint64_t> Pipeline::announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes,
                                                 bool taken) {
  const auto slot = msg::Rts::step_of(bytes);
  if (!slot) return std::nullopt;
  const auto told = carrier_.published(sender, *slot);
  if (!told || told->dest != rank_ || told->tag != tag || told->members != members) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto& latest = received_[{sender, *slot}];
  if (latest == told->number) return std::nullopt;
  if (taken) latest = told->number;
  return told->bytes;
}

// ---- both ends ----------------------------------------------------------------------------------------------------

Status Pipeline::End::take_buffers() {
  for (device::Memory& buffer : buffers_) {
    auto taken = all_.host_.acquire(kChunk, stage::PinnedPool::Use::certain);
    if (!taken) return taken.status();
    buffer = std::move(*taken);
  }
  return {};
}

void Pipeline::End::give_buffers() {
  // Else something failed: the carrier or a GPU may still use them.
  const bool used = stages_.under_way(ChunkStages::kFirst) || stages_.under_way(ChunkStages::kSecond);
  for (device::Memory& buffer : buffers_) {
    if (buffer.data() == nullptr) continue;
    if (used)
      keep_for_ever(std::move(buffer));
    else
      all_.host_.release(std::move(buffer));
  }
}

Result<bool> Pipeline::End::move() {
  for (bool moved = true; moved;) {
    moved = false;
    for (const int stage : {ChunkStages::kSecond, ChunkStages::kFirst}) {
      if (const auto chunk = stages_.under_way(stage)) {
        auto over = ended(stage, *chunk);
        if (!over) return over;
        if (*over) stages_.end(stage);
        moved = moved || *over;
      }
      if (const auto chunk = stages_.next(stage)) {
        if (auto status = begin(stage, *chunk); !status) return status;
        stages_.begin(stage);
        moved = true;
      }
    }
  }
  return stages_.over();
}

}  // namespace sennit::msg
