// Implements the receiver's end of rndv_pipeline.
#include <algorithm>

#include <fmt/format.h>

#include "msg/pipeline_end.h"

namespace sennit::msg {

class Pipeline::Recv final : public RecvTransfer, private Pipeline::End {
 public:
  Recv(Pipeline& all, const Rts& rts, void* to, int device)
      : End(all, rts.bytes), rts_(rts), to_(static_cast<std::byte*>(to)), device_(device) {}
  ~Recv() override {
    if (!over_) {
      cancel_requests();
      wait_for_copies();
    }
    all_.leave(*this);
  }

  int sender() const { return rts_.sender; }
  std::uint64_t bytes() const override { return rts_.bytes; }
  std::string_view plan() const override { return all_.carrier_.plan(); }
  int peer() const override { return rts_.sender; }

  Result<bool> test() override {
    if (!lost_.ok()) return lost_;
    if (over_) return true;
    if (!begun_) {
      if (!all_.admit(*this)) return false;
      begun_ = true;
      if (auto status = prepare(); !status) {
        all_.answer(rts_, kNotWanted);
        return lost_ = status;
      }
    }
    auto moved = move();
    if (!moved) {
      cancel_requests();
      wait_for_copies();
      return lost_ = moved.status();
    }
    if (std::exchange(answered_, true)) {
      over_ = *moved;
      if (!over_) return false;
      give_buffers();
      all_.leave(*this);
      if (!dropped_.ok()) return lost_ = dropped_;
      return true;
    }
    all_.answer(rts_, kRtr);  // behind the first receives
    return false;
  }

 private:
  bool is_direct() const { return device_ < 0; }
  Status prepare() {
    if (is_direct()) return {};
    if (auto status = take_buffers(); !status) return status;
    auto queue = all_.queue(device_, true);
    if (queue) queue_ = *queue;
    return queue.status();
  }
  Status begin(int stage, const Chunk& chunk) override {
    if (stage == ChunkStages::kSecond) {
      if (is_direct() || !dropped_.ok()) return {};
      dropped_ = all_.gpus_.still_held(to_, device_);
      if (dropped_.ok()) dropped_ = copy(to_ + chunk.at, buffer(chunk), chunk);
      return {};
    }
    auto made = all_.carrier_.receive(is_direct() ? to_ + chunk.at : buffer(chunk), chunk.bytes, rts_.sender,
                                      chunk_tag(rts_.slot));
    if (!made) return made.status();
    request(chunk) = *made;
    return {};
  }
  Result<bool> ended(int stage, const Chunk& chunk) override {
    if (stage == ChunkStages::kSecond) {
      if (is_direct() || !dropped_.ok()) return true;
      auto over = copied(chunk);
      if (over) return over;
      dropped_ = over.status();
      return true;
    }
    const auto came = received(request(chunk));
    if (!came) return came.status();
    if (!came->has_value()) return false;
    if (**came != chunk.bytes)
      return Status(Code::device_error, fmt::format("rank {} cannot go on with a message", rts_.sender), {},
                    "See what that rank has said");
    return true;
  }

  const Rts rts_;
  std::byte* const to_;
  const int device_;
  bool begun_ = false, answered_ = false, over_ = false;
  Status lost_;
  /// Says why what still comes is dropped: its sender waits until it has been received.
  Status dropped_;
};

bool Pipeline::admit(const Recv& message) {
  const std::lock_guard lock(mutex_);
  Incoming& of_sender = incoming_[message.sender()];
  if (of_sender.waiting.front() != &message || of_sender.coming.size() == kAtOnce) return false;
  of_sender.waiting.pop_front();
  of_sender.coming.push_back(&message);
  return true;
}

void Pipeline::leave(const Recv& message) {
  const std::lock_guard lock(mutex_);
  Incoming& of_sender = incoming_[message.sender()];
  std::erase(of_sender.waiting, &message);
  std::erase(of_sender.coming, &message);
}

std::unique_ptr<RecvTransfer> Pipeline::fetch(const Rts& rts, void* to, int device) {
  note_received(rts);
  auto message = std::make_unique<Recv>(*this, rts, to, device);
  const std::lock_guard lock(mutex_);
  incoming_[rts.sender].waiting.push_back(message.get());
  return message;
}

}  // namespace sennit::msg
