#include "shim/mpi/p2p/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shim/mpi/call/backoff.h"
#include "shim/mpi/p2p/stages.h"

namespace sennit::shim::mpi {

namespace {

constexpr std::string_view kByPieces = "by pieces, through the MPI";

Status mpi_failed(std::string_view function, int code) {
  return Status(Code::system_error, fmt::format("{} returned error {}", function, code), "between nodes");
}

/// For as long as the process lives.
void keep_for_ever(device::Memory memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<device::Memory>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

}  // namespace

Result<stage::CopyQueue*> Pipeline::line(int device, bool up) {
  const std::lock_guard lock(mutex_);
  auto& line = lines_[{device, up}];
  if (line == nullptr) {
    auto made = stage::CopyQueue::create(gpus_.executor(), device);
    if (!made) return made.status();
    line = std::move(*made);
  }
  return line.get();
}

// ---- both ends ----------------------------------------------------------------------------------------------------

/// The pieces of a message at one of its ends, by buffers of its own.
class Pipeline::Moving {
 public:
  Moving(Pipeline& all, std::uint64_t bytes) : all_(all), stages_(bytes, kPiece, kBuffers) {}
  virtual ~Moving() { give_buffers(); }
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;

 protected:
  using Piece = Stages::Piece;

  /// Errors: no memory.
  Status take_buffers() {
    for (device::Memory& buffer : buffers_) {
      auto taken = all_.host_.acquire(kPiece, stage::PinnedPool::Use::certain);
      if (!taken) return taken.status();
      buffer = std::move(*taken);
    }
    return {};
  }
  /// As soon as all is done, not when the program hears of it: of a window of messages, the same few buffers, which
  /// the processor's caches then hold, serve all.
  void give_buffers() {
    // Else something failed: the MPI or a GPU may still use them.
    const bool used = stages_.under_way(Stages::kFirst) || stages_.under_way(Stages::kSecond);
    for (device::Memory& buffer : buffers_) {
      if (buffer.data() == nullptr) continue;
      if (used)
        keep_for_ever(std::move(buffer));
      else
        all_.host_.release(std::move(buffer));
    }
  }
  std::byte* buffer(const Piece& piece) { return buffers_[static_cast<std::size_t>(piece.buffer)].data(); }

  /// Moves on what can be; whether all is done.
  Result<bool> move() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const int stage : {Stages::kSecond, Stages::kFirst}) {
        if (const auto piece = stages_.under_way(stage)) {
          auto over = ended(stage, *piece);
          if (!over) return over;
          if (*over) stages_.end(stage);
          moved = moved || *over;
        }
        if (const auto piece = stages_.next(stage)) {
          if (auto status = begin(stage, *piece); !status) return status;
          stages_.begin(stage);
          moved = true;
        }
      }
    }
    return stages_.over();
  }
  virtual Status begin(int stage, const Piece& piece) = 0;
  virtual Result<bool> ended(int stage, const Piece& piece) = 0;

  // By the MPI:
  std::optional<Handle>& request(const Piece& piece) { return requests_[static_cast<std::size_t>(piece.buffer)]; }
  /// Of a send that is over.
  Result<bool> sent(std::optional<Handle>& request) {
    bool done = false;
    const int code = all_.mpi_.done(*request, done);
    if (code != 0 || done) request.reset();
    if (code != 0) return mpi_failed("MPI_Test", code);
    return done;
  }
  /// The bytes that have come, once they have.
  Result<std::optional<std::int64_t>> received(std::optional<Handle>& request) {
    bool done = false;
    Received told;
    const int code = all_.mpi_.look_at(*request, true, done, told);
    if (code != 0 || done) request.reset();
    if (code != 0) return mpi_failed("MPI_Test", code);
    return done ? std::optional(told.bytes) : std::nullopt;
  }
  /// Of receives that are not to be any more.
  void cancel_requests() {
    for (auto& request : requests_) {
      if (request && all_.mpi_.cancel(*request) == 0) (void)received(request);
    }
  }
  // By a GPU:
  Status copy(void* to, const void* from, const Piece& piece) {
    const auto number = line_->copy(to, from, piece.bytes);
    if (!number) return number.status();
    copies_[static_cast<std::size_t>(piece.buffer)] = *number;
    return {};
  }
  /// Until those that were begun are over: they are from or to the program's buffer, which it may free when it has
  /// heard of an error. Those of a GPU that fails never begin.
  void wait_for_copies() {
    for (const std::uint64_t number : copies_)
      for (Backoff backoff; number != 0; backoff.wait())
        if (const auto over = line_->done(number); !over || *over) break;
  }
  Result<bool> copied(const Piece& piece) { return line_->done(copies_[static_cast<std::size_t>(piece.buffer)]); }

  Pipeline& all_;
  stage::CopyQueue* line_ = nullptr;
  Stages stages_;

 private:
  std::array<device::Memory, kBuffers> buffers_;
  std::array<std::optional<Handle>, kBuffers> requests_;  // of the pieces in the buffers
  std::array<std::uint64_t, kBuffers> copies_{};          // the same, by the line's numbers
};

// ---- the sender ---------------------------------------------------------------------------------------------------

class Pipeline::PipelinedSend final : public SendTransfer, private Pipeline::Moving {
 public:
  PipelinedSend(Pipeline& all, const Card& card, const void* data, int device, const Envelope& to)
      : Moving(all, card.bytes),
        card_(card),
        data_(static_cast<const std::byte*>(data)),
        device_(device),
        to_(to),
        time_(all.look_alikes_.now()),
        sent_(static_cast<std::size_t>(Rts::length_of(card.slot))) {
    std::memcpy(sent_.data(), &card_, sizeof card_);
  }
  ~PipelinedSend() override {
    if (!over_) wait_for_copies();
    all_.peer_query_.announce(card_.slot, std::nullopt);
    if (asked_) {  // the card was cancelled before it was received, or never sent
      bool done = false;
      Received received;
      if (all_.mpi_.cancel(*asked_) == 0 && all_.mpi_.look_at(*asked_, true, done, received) == 0 && done)
        asked_.reset();
      if (asked_) (void)answer_.release();  // the MPI may still write there
    }
    const bool clean = over_ || !(asked_ || begun_);
    if (!clean) return;  // the slot is lost rather than given to another message
    if (over_) all_.look_alikes_.taken(to_, time_);
    const std::lock_guard lock(all_.mutex_);
    all_.slots_.reset(static_cast<std::size_t>(card_.slot));
  }

  /// To be asked before the card is sent.
  int listen_for_the_answer() {
    Handle request = kNoHandle;
    const int code = all_.mpi_.begin_receive(all_.comm_, answer_.get(), sizeof *answer_, to_.dest,
                                             answer_tag(card_.slot), request);
    if (code == 0) asked_ = request;
    return code;
  }

  const void* sent() const override { return sent_.data(); }
  int length() const override { return static_cast<int>(sent_.size()); }
  std::uint64_t bytes() const override { return card_.bytes; }
  std::string_view plan() const override { return kByPieces; }
  int peer() const override { return to_.dest; }

  Result<bool> test() override {
    if (over_) return true;
    if (!lost_.ok()) return lost_;
    if (asked_) {
      const auto answered = received(asked_);
      if (!answered) return lose(answered.status());
      if (!*answered) return false;
      begun_ = *answer_ == kGo;
      over_ = !begun_;
      if (over_) return true;
      if (auto status = take_buffers(); !status) return lose(status);
      auto line = all_.line(device_, false);
      if (!line) return lose(line.status());
      line_ = *line;
    }
    auto moved = move();
    if (!moved) return lose(moved.status());
    over_ = *moved;
    if (over_) give_buffers();
    return over_;
  }

 private:
  Status begin(int stage, const Piece& piece) override {
    if (stage == Stages::kFirst) {
      const auto held = all_.gpus_.still_held(data_, device_);
      return held.ok() ? copy(buffer(piece), data_ + piece.at, piece) : held;
    }
    Handle made = kNoHandle;
    const int code = all_.mpi_.begin_send(all_.comm_, buffer(piece), static_cast<int>(piece.bytes), to_.dest,
                                          piece_tag(card_.slot), made);
    if (code != 0) return mpi_failed("MPI_Isend", code);
    request(piece) = made;
    return {};
  }
  Result<bool> ended(int stage, const Piece& piece) override {
    if (stage == Stages::kFirst) return copied(piece);
    return Moving::sent(request(piece));
  }
  /// Tells the receiver, which waits for a piece.
  Status lose(const Status& status) {
    lost_ = status;
    wait_for_copies();
    Handle request = kNoHandle;
    if (begun_) (void)all_.mpi_.begin_send(all_.comm_, nullptr, 0, to_.dest, piece_tag(card_.slot), request);
    return lost_;
  }

  const Card card_;
  const std::byte* const data_;
  const int device_;
  const Envelope to_;
  const std::uint64_t time_;  // of LookAlikes
  std::vector<std::byte> sent_;
  std::unique_ptr<std::uint64_t> answer_ = std::make_unique<std::uint64_t>(0);
  std::optional<Handle> asked_;  // the answer, which has not come yet
  bool begun_ = false, over_ = false;
  Status lost_;
};

std::unique_ptr<SendTransfer> Pipeline::announce(const void* data, std::uint64_t bytes, int device,
                                                 const Envelope& to) {
  Card card{};
  {
    const std::lock_guard lock(mutex_);
    const auto unfit = slots_ | look_alikes_.doubtful(to.dest, to.tag);
    int slot = 0;
    while (slot < Rts::kSlots && unfit.test(static_cast<std::size_t>(slot))) ++slot;
    if (slot == Rts::kSlots) return nullptr;
    slots_.set(static_cast<std::size_t>(slot));
    card = {{job_[1], job_[0]}, ++numbers_, bytes, rank_, slot};
  }
  auto leaving = std::make_unique<PipelinedSend>(*this, card, data, device, to);
  peer_query_.announce(card.slot, PeerQuery::Announced{card.number, bytes, to.members, to.dest, to.tag});
  if (leaving->listen_for_the_answer() != 0) return nullptr;
  return leaving;
}

// ---- the receiver -------------------------------------------------------------------------------------------------

class Pipeline::PipelinedRecv final : public RecvTransfer, private Pipeline::Moving {
 public:
  PipelinedRecv(Pipeline& all, const Card& card, void* to, int device)
      : Moving(all, card.bytes), card_(card), to_(static_cast<std::byte*>(to)), device_(device) {}
  ~PipelinedRecv() override {
    if (!over_) {
      cancel_requests();
      wait_for_copies();
    }
    all_.leave(*this);
  }

  int sender() const { return card_.sender; }
  std::uint64_t bytes() const override { return card_.bytes; }
  std::string_view plan() const override { return kByPieces; }
  int peer() const override { return card_.sender; }

  Result<bool> test() override {
    if (!lost_.ok()) return lost_;
    if (over_) return true;
    if (!begun_) {
      if (!all_.admit(*this)) return false;
      begun_ = true;
      if (auto status = prepare(); !status) {
        all_.answer(card_, kNotWanted);
        return lost_ = status;
      }
    }
    auto moved = move();
    if (!moved) {
      cancel_requests();
      wait_for_copies();
      return lost_ = moved.status();
    }
    if (std::exchange(told_, true)) {
      over_ = *moved;
      if (!over_) return false;
      give_buffers();
      all_.leave(*this);
      if (!dropped_.ok()) return lost_ = dropped_;
      return true;
    }
    all_.answer(card_, kGo);  // behind the first receives
    return false;
  }

 private:
  bool is_direct() const { return device_ < 0; }
  Status prepare() {
    if (is_direct()) return {};
    if (auto status = take_buffers(); !status) return status;
    auto line = all_.line(device_, true);
    if (line) line_ = *line;
    return line.status();
  }
  Status begin(int stage, const Piece& piece) override {
    if (stage == Stages::kSecond) {
      if (is_direct() || !dropped_.ok()) return {};
      dropped_ = all_.gpus_.still_held(to_, device_);
      if (dropped_.ok()) dropped_ = copy(to_ + piece.at, buffer(piece), piece);
      return {};
    }
    Handle made = kNoHandle;
    const int code =
        all_.mpi_.begin_receive(all_.comm_, is_direct() ? to_ + piece.at : buffer(piece),
                                static_cast<int>(piece.bytes), card_.sender, piece_tag(card_.slot), made);
    if (code != 0) return mpi_failed("MPI_Irecv", code);
    request(piece) = made;
    return {};
  }
  Result<bool> ended(int stage, const Piece& piece) override {
    if (stage == Stages::kSecond) {
      if (is_direct() || !dropped_.ok()) return true;
      auto over = copied(piece);
      if (over) return over;
      dropped_ = over.status();
      return true;
    }
    const auto came = received(request(piece));
    if (!came) return came.status();
    if (!came->has_value()) return false;
    if (static_cast<std::uint64_t>(**came) != piece.bytes)
      return Status(Code::device_error, fmt::format("rank {} cannot go on with a message", card_.sender), {},
                    "See what that rank has said");
    return true;
  }

  const Card card_;
  std::byte* const to_;
  const int device_;
  bool begun_ = false, told_ = false, over_ = false;
  Status lost_;
  /// Why what still comes is dropped: its sender waits until it has been received.
  Status dropped_;
};

bool Pipeline::admit(const PipelinedRecv& arriving) {
  const std::lock_guard lock(mutex_);
  Queue& queue = queues_[arriving.sender()];
  if (queue.waiting.front() != &arriving || queue.coming.size() == kAtOnce) return false;
  queue.waiting.pop_front();
  queue.coming.push_back(&arriving);
  return true;
}

void Pipeline::leave(const PipelinedRecv& arriving) {
  const std::lock_guard lock(mutex_);
  Queue& queue = queues_[arriving.sender()];
  std::erase(queue.waiting, &arriving);
  std::erase(queue.coming, &arriving);
}

void Pipeline::looked_at(const Card& card) {
  const std::lock_guard lock(mutex_);
  looked_[{card.sender, card.slot}] = card.number;
}

void Pipeline::answer(const Card& card, std::uint64_t what) {
  const std::lock_guard lock(mutex_);
  while (!answers_.empty()) {
    bool done = false;
    if (mpi_.done(answers_.front()->request, done) == 0 && !done) break;
    answers_.pop_front();
  }
  auto answer = std::make_unique<Answer>(Answer{what, kNoHandle});
  // A rank that this fails for has died, which ends more than this message.
  if (mpi_.begin_send(comm_, &answer->what, sizeof answer->what, card.sender, answer_tag(card.slot),
                      answer->request) == 0)
    answers_.push_back(std::move(answer));
}

std::unique_ptr<RecvTransfer> Pipeline::fetch(const Card& card, bool /*matched*/, void* to, int device) {
  looked_at(card);
  auto arriving = std::make_unique<PipelinedRecv>(*this, card, to, device);
  const std::lock_guard lock(mutex_);
  queues_[card.sender].waiting.push_back(arriving.get());
  return arriving;
}

void Pipeline::refuse(const Card& card, bool /*matched*/) {
  looked_at(card);
  answer(card, kNotWanted);
}

std::optional<std::uint64_t> Pipeline::announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes,
                                                 bool taken) {
  const auto slot = Rts::step_of(bytes);
  if (!slot) return std::nullopt;
  const auto told = peer_query_.announced(sender, *slot);
  if (!told || told->dest != rank_ || told->tag != tag || told->members != members) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto& latest = looked_[{sender, *slot}];
  if (latest == told->number) return std::nullopt;
  if (taken) latest = told->number;
  return told->bytes;
}

}  // namespace sennit::shim::mpi
