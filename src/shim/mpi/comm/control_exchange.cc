#include "shim/mpi/comm/control_exchange.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "comm/frame.h"

namespace sennit::shim::mpi {

namespace {

/// Begins the control messages of exchanges: no other message between processes begins so (node_vote.cc).
constexpr std::uint64_t kExchanged = 0x6578'6368'616e'6765;

/// Longer items come in pieces: four numbers stand before each, and its own length. A limit.
constexpr std::size_t kLargestPiece = comm::kLargestWord - 5 * sizeof(std::uint64_t);

/// So much time passes between two looks whether its ranks live: a default.
constexpr std::chrono::milliseconds kBetweenLooks(20);

}  // namespace

class ControlExchanges::One final : public comm::Exchange {
 public:
  One(ControlExchanges& all, std::uint64_t key, std::vector<int> ranks, int own)
      : all_(all), key_(key), ranks_(std::move(ranks)), own_(own) {}

  int rank() const override { return own_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  Result<std::vector<comm::Bytes>> all_gather(std::span<const std::byte> mine) override {
    if (mine.size() > comm::kLargestItem)
      return Status(Code::invalid_argument, fmt::format("{} bytes are too many to exchange", mine.size()));
    const std::pair at(key_, round_++);
    for (int rank = 0; rank < size(); ++rank)
      if (rank != own_) tell(ranks_[std::size_t(rank)], at.second, mine);
    std::unique_lock lock(all_.mutex_);
    Round& round = all_.rounds_[at];
    round.items[ranks_[std::size_t(own_)]] = comm::Bytes(mine.begin(), mine.end());
    ++round.whole;
    while (round.whole < ranks_.size()) {
      all_.came_.wait_for(lock, kBetweenLooks);
      if (all_.ended_ || cancelled_) return Status(Code::peer_lost, "the job ended while its ranks met");
      if (auto status = all_.check_(ranks_); !status) return status;
    }
    std::vector<comm::Bytes> items;
    for (const int rank : ranks_) items.push_back(std::move(round.items[rank]));
    all_.rounds_.erase(at);
    return items;
  }

  void cancel() override {
    const std::lock_guard lock(all_.mutex_);
    cancelled_ = true;
    all_.came_.notify_all();
  }

 private:
  void tell(int rank, std::uint64_t round, std::span<const std::byte> item) const {
    auto left = item;
    do {  // of an empty item one piece, too
      const auto piece = left.first(std::min(left.size(), kLargestPiece));
      left = left.subspan(piece.size());
      comm::Writer word;
      word.number(kExchanged).number(key_).number(round).number(item.size()).data(piece);
      all_.send_(rank, word.take());
    } while (!left.empty());
  }

  ControlExchanges& all_;
  const std::uint64_t key_;
  const std::vector<int> ranks_;
  const int own_;
  std::uint64_t round_ = 0;
  bool cancelled_ = false;
};

std::unique_ptr<comm::Exchange> ControlExchanges::open(std::uint64_t key, std::vector<int> ranks, int own) {
  return std::make_unique<One>(*this, key, std::move(ranks), own);
}

bool ControlExchanges::on_message(int from, const comm::Bytes& word) {
  comm::Reader reader(word);
  if (reader.number() != kExchanged) return false;
  const auto key = reader.number(), number = reader.number(), bytes = reader.number();
  const auto piece = reader.data();
  if (!reader.finish().ok()) return true;
  const std::lock_guard lock(mutex_);
  Round& round = rounds_[{key, number}];
  comm::Bytes& item = round.items[from];
  item.insert(item.end(), piece.begin(), piece.end());
  if (item.size() < bytes) return true;
  ++round.whole;
  came_.notify_all();
  return true;
}

void ControlExchanges::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  came_.notify_all();
}

}  // namespace sennit::shim::mpi
