// Implements the sender's end of rndv_pipeline.
#include <cstring>

#include "msg/pipeline_end.h"

namespace sennit::msg {

class Pipeline::Send final : public SendTransfer, private Pipeline::End {
 public:
  Send(Pipeline& all, const Rts& rts, const void* data, int device, const Envelope& to)
      : End(all, rts.bytes),
        rts_(rts),
        data_(static_cast<const std::byte*>(data)),
        device_(device),
        to_(to),
        time_(all.look_alikes_.now()),
        sent_(static_cast<std::size_t>(msg::Rts::length_of(rts.slot))) {
    std::memcpy(sent_.data(), &rts_, sizeof rts_);
  }
  ~Send() override {
    if (!over_) wait_for_copies();
    all_.carrier_.publish(rts_.slot, std::nullopt);
    if (awaited_ && all_.carrier_.cancel(*awaited_)) {  // the RTS was cancelled before it was received, or never sent
      const auto came = all_.carrier_.received(*awaited_);
      if (came.ok() && *came) awaited_.reset();
    }
    if (awaited_) (void)answer_.release();  // the carrier may still write there
    const bool clean = over_ || !(awaited_ || begun_);
    if (!clean) return;  // the slot is lost rather than given to another message
    if (over_) all_.look_alikes_.taken(to_, time_);
    const std::lock_guard lock(all_.mutex_);
    all_.slots_.reset(static_cast<std::size_t>(rts_.slot));
  }

  /// Begins to wait for the RTR; to be called before the RTS is sent.
  Status await_rtr() {
    auto request = all_.carrier_.receive(answer_.get(), sizeof *answer_, to_.dest, answer_tag(rts_.slot));
    if (request.ok()) awaited_ = *request;
    return request.status();
  }

  const void* sent() const override { return sent_.data(); }
  int length() const override { return static_cast<int>(sent_.size()); }
  std::uint64_t bytes() const override { return rts_.bytes; }
  std::string_view plan() const override { return all_.carrier_.plan(); }
  int peer() const override { return to_.dest; }

  Result<bool> test() override {
    if (over_) return true;
    if (!lost_.ok()) return lost_;
    if (awaited_) {
      const auto answered = received(awaited_);
      if (!answered) return lose(answered.status());
      if (!*answered) return false;
      begun_ = *answer_ == kRtr;
      over_ = !begun_;
      if (over_) return true;
      if (auto status = take_buffers(); !status) return lose(status);
      auto queue = all_.queue(device_, false);
      if (!queue) return lose(queue.status());
      queue_ = *queue;
    }
    auto moved = move();
    if (!moved) return lose(moved.status());
    over_ = *moved;
    if (over_) give_buffers();
    return over_;
  }

 private:
  Status begin(int stage, const Chunk& chunk) override {
    if (stage == ChunkStages::kFirst) {
      const auto held = all_.gpus_.still_held(data_, device_);
      return held.ok() ? copy(buffer(chunk), data_ + chunk.at, chunk) : held;
    }
    auto made = all_.carrier_.send(buffer(chunk), chunk.bytes, to_.dest, chunk_tag(rts_.slot));
    if (!made) return made.status();
    request(chunk) = *made;
    return {};
  }
  Result<bool> ended(int stage, const Chunk& chunk) override {
    return stage == ChunkStages::kFirst ? copied(chunk) : End::sent(request(chunk));
  }
  /// Tells the receiver, which waits for a chunk.
  Status lose(const Status& status) {
    lost_ = status;
    wait_for_copies();
    if (begun_) (void)all_.carrier_.send(nullptr, 0, to_.dest, chunk_tag(rts_.slot));
    return lost_;
  }

  const Rts rts_;
  const std::byte* const data_;
  const int device_;
  const Envelope to_;
  const std::uint64_t time_;  // of LookAlikes
  std::vector<std::byte> sent_;
  std::unique_ptr<std::uint64_t> answer_ = std::make_unique<std::uint64_t>(0);
  std::optional<Carrier::Request> awaited_;  // the answer, which has not come yet
  bool begun_ = false, over_ = false;
  Status lost_;
};

std::unique_ptr<SendTransfer> Pipeline::announce(const void* data, std::uint64_t bytes, int device,
                                                 const Envelope& to) {
  Rts rts{};
  {
    const std::lock_guard lock(mutex_);
    const auto unfit = slots_ | look_alikes_.doubtful(to.dest, to.tag);
    int slot = 0;
    while (slot < msg::Rts::kSlots && unfit.test(static_cast<std::size_t>(slot))) ++slot;
    if (slot == msg::Rts::kSlots) return nullptr;
    slots_.set(static_cast<std::size_t>(slot));
    rts = {{job_[1], job_[0]}, ++numbers_, bytes, rank_, slot};
  }
  auto message = std::make_unique<Send>(*this, rts, data, device, to);
  carrier_.publish(rts.slot, Announced{rts.number, bytes, to.members, to.dest, to.tag});
  if (!message->await_rtr().ok()) return nullptr;
  return message;
}

}  // namespace sennit::msg
