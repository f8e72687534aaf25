#include "comm/tcp_exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/frame.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

// Rank 0 knows best who is missing. Others wait this much longer, so that its word, which names the rank,
// arrives before they give up with less to say.
constexpr auto kLastWord = std::chrono::seconds(1);

Frame item_frame(std::uint64_t sequence, std::span<const std::byte> data) {
  Bytes body = Writer().number(sequence).take();
  body.insert(body.end(), data.begin(), data.end());
  return {Kind::item, std::move(body), {}};
}

Frame failed_frame(const Status& why) {
  return {Kind::failed, Writer().status(why).take(), {}};
}

Status read_failed(const Frame& frame) {
  Reader reader(frame.body);
  const Status why = reader.status();
  return why.ok() ? Status(Code::corrupt, "a failure came that does not say what failed") : why;
}

// The item in a frame, if it is one of this round.
Result<Bytes> item_of(Frame frame, std::uint64_t sequence) {
  if (frame.kind == Kind::failed) return read_failed(frame);
  Reader reader(frame.body);
  const std::uint64_t theirs = reader.number();
  if (frame.kind != Kind::item || frame.body.size() < 8)
    return Status(Code::corrupt, fmt::format("message {} came where an item was due", int(frame.kind)));
  if (theirs != sequence)
    return Status(Code::mismatch, fmt::format("its exchange {} meets our exchange {}", theirs, sequence), {},
                  "Make the same collective calls in the same order on every rank");
  frame.body.erase(frame.body.begin(), frame.body.begin() + 8);
  return std::move(frame.body);
}

class TcpExchange : public Exchange {
 public:
  TcpExchange(int rank, int size, std::string secret) : rank_(rank), size_(size), secret_(std::move(secret)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string secret() const override { return secret_; }
  void set_limit(Clock::duration limit) override { limit_ = limit; }

  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) override {
    if (!broken_.ok()) return broken_;
    const Result<Clock::duration> limit = limit_ ? Result<Clock::duration>(*limit_) : wait_limit();
    Status status = limit.status();
    if (status.ok() && mine.size() > kLargestItem)
      status = Status(Code::invalid_argument,
                      fmt::format("rank {} exchanges {} bytes at once, more than 64 MiB", rank_, mine.size()), {},
                      "Exchange less at once");
    std::vector<Bytes> items(size_);
    items[rank_].assign(mine.begin(),
                        mine.begin() + std::ptrdiff_t(std::min<std::size_t>(mine.size(), kLargestItem)));
    if (!status.ok())
      tell(status);
    else
      status = round(items, *limit);
    ++sequence_;
    if (status.ok()) return items;
    broken_ = std::move(status).in(fmt::format("exchange {} on rank {}", sequence_ - 1, rank_));
    return broken_;
  }

 protected:
  /// Does one exchange. `items` holds this rank's own already.
  virtual Status round(std::vector<Bytes>& items, Clock::duration limit) = 0;
  /// Lets the others know of a failure of this rank, as far as they still listen.
  virtual void tell(const Status& why) = 0;
  std::uint64_t sequence() const { return sequence_; }

 private:
  int rank_, size_;
  std::string secret_;
  std::optional<Clock::duration> limit_;  // none: SENNIT_TIMEOUT
  std::uint64_t sequence_ = 0;
  Status broken_;
};

class Host : public TcpExchange {
 public:
  Host(int size, std::string secret, std::map<int, UniqueFd> guests)
      : TcpExchange(0, size, std::move(secret)), guests_(std::move(guests)) {}

  void tell(const Status& why) override {
    for (const auto& [rank, fd] : guests_)
      (void)send_frame(fd.get(), failed_frame(why), Deadline::after(milliseconds(100)));
  }

  // The descriptors stay open, so that a thread in poll() wakes and nothing else is read through them.
  void cancel() override {
    for (const auto& [rank, fd] : guests_) (void)::shutdown(fd.get(), SHUT_RDWR);
  }

  Status announce() {
    for (const auto& [rank, fd] : guests_)
      if (Status status = send_frame(fd.get(), {Kind::all_met, {}, {}}, Deadline::after(kLastWord)); !status.ok())
        return std::move(status).in(fmt::format("rank {}", rank));
    return {};
  }

 private:
  Status round(std::vector<Bytes>& items, Clock::duration limit) override {
    Status status = collect(items, Deadline::after(limit));
    if (status.ok()) status = distribute(items, Deadline::after(limit));
    if (!status.ok()) tell(status);
    return status;
  }

  // Receives from all at once, so that the death of any is noticed while others are still awaited.
  Status collect(std::vector<Bytes>& items, Deadline deadline) {
    std::map<int, FrameReader> waiting;
    for (const auto& [rank, fd] : guests_) waiting.emplace(rank, FrameReader(kLargestItem + 8));
    while (!waiting.empty()) {
      std::vector<pollfd> polled;
      std::vector<int> ranks;
      for (const auto& [rank, reader] : waiting) {
        polled.push_back({guests_[rank].get(), POLLIN, 0});
        ranks.push_back(rank);
      }
      const int ready = ::poll(polled.data(), polled.size(), deadline.poll_ms());
      if (ready <= 0 && deadline.passed())
        return Status(Code::timed_out,
                      fmt::format("{} {} did not take part within {:g} s", ranks.size() == 1 ? "rank" : "ranks",
                                  fmt::join(ranks, ", "), deadline.seconds()),
                      {}, "Check that every rank makes this call; SENNIT_TIMEOUT gives them longer");
      if (ready <= 0) continue;
      for (std::size_t i = 0; i < polled.size(); ++i) {
        if (polled[i].revents == 0) continue;
        const int rank = ranks[i];
        Result<std::optional<Frame>> frame = waiting.at(rank).next(polled[i].fd);
        if (!frame) return blame(frame.status(), rank);
        if (!frame->has_value()) continue;
        Result<Bytes> item = item_of(std::move(**frame), sequence());
        if (!item) return blame(item.status(), rank);
        items[rank] = std::move(*item);
        waiting.erase(rank);
      }
    }
    return {};
  }

  Status distribute(const std::vector<Bytes>& items, Deadline deadline) {
    for (const auto& [rank, fd] : guests_)
      for (std::size_t from = 0; from < items.size(); ++from) {
        if (int(from) == rank) continue;
        if (Status status = send_frame(fd.get(), item_frame(sequence(), items[from]), deadline); !status.ok())
          return blame(status, rank);
      }
    return {};
  }

  static Status blame(const Status& status, int rank) {
    if (status.code() == Code::peer_lost)
      return Status(Code::peer_lost, fmt::format("rank {} left or died", rank), status.where(),
                    fmt::format("Look at what rank {} printed last", rank));
    return Status(status).in(fmt::format("rank {}", rank));
  }

  std::map<int, UniqueFd> guests_;
};

class Guest : public TcpExchange {
 public:
  Guest(int rank, int size, std::string secret, UniqueFd host)
      : TcpExchange(rank, size, std::move(secret)), host_(std::move(host)) {}

  void tell(const Status& why) override {
    (void)send_frame(host_.get(), failed_frame(why), Deadline::after(milliseconds(100)));
  }

  void cancel() override { (void)::shutdown(host_.get(), SHUT_RDWR); }

  Status await_all(Clock::duration limit) {
    const Result<Frame> frame = hear(kSmallFrame, Deadline::after(limit + kLastWord));
    if (!frame) return frame.status();
    if (frame->kind == Kind::all_met) return {};
    return frame->kind == Kind::failed ? read_failed(*frame)
                                       : Status(Code::corrupt, "rank 0 says something unexpected");
  }

 private:
  Status round(std::vector<Bytes>& items, Clock::duration limit) override {
    const Deadline deadline = Deadline::after(limit + kLastWord);
    const Status sent = send_frame(host_.get(), item_frame(sequence(), items[rank()]), deadline);
    // Even when sending failed: rank 0 may have said why before it hung up.
    for (int from = 0; from < size(); ++from) {
      if (from == rank()) continue;
      Result<Frame> frame = hear(kLargestItem + 8, deadline);
      if (!frame) return frame.status();
      Result<Bytes> item = item_of(std::move(*frame), sequence());
      if (!item) return item.status();
      items[from] = std::move(*item);
    }
    return sent;
  }

  Result<Frame> hear(std::uint64_t largest, Deadline deadline) {
    FrameReader reader(largest);
    Result<Frame> frame = receive_frame(host_.get(), reader, deadline);
    if (frame.ok()) return frame;
    if (frame.status().code() == Code::peer_lost)
      return Status(Code::peer_lost, "rank 0 left or died", {}, "Look at what rank 0 printed last");
    return std::move(frame).status().in("rank 0");
  }

  UniqueFd host_;
};

}  // namespace

Result<std::unique_ptr<Exchange>> host_exchange(int size, std::string secret, Admitted admitted) {
  auto exchange = std::make_unique<Host>(size, std::move(secret), std::move(admitted.ranks));
  Status status = std::move(admitted.status);
  if (status.ok()) status = exchange->announce();
  if (status.ok()) return std::unique_ptr<Exchange>(std::move(exchange));
  exchange->tell(status);
  return status;
}

Result<std::unique_ptr<Exchange>> guest_exchange(int rank, int size, std::string secret, UniqueFd host) {
  auto exchange = std::make_unique<Guest>(rank, size, std::move(secret), std::move(host));
  const Result<Clock::duration> limit = wait_limit();
  Status status = limit.status();
  if (status.ok()) status = exchange->await_all(*limit);
  if (status.ok()) return std::unique_ptr<Exchange>(std::move(exchange));
  return status;
}

}  // namespace sennit::comm
