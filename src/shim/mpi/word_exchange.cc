#include "shim/mpi/word_exchange.h"

#include <chrono>

#include <fmt/format.h>

#include "comm/frame.h"

namespace sennit::shim::mpi {

namespace {

/// What such words begin with: no other word between processes does (council.cc).
constexpr std::uint64_t kExchanged = 0x6578'6368'616e'6765;

/// Between two looks whether all ranks live: a default.
constexpr std::chrono::milliseconds kLook(20);

}  // namespace

class WordExchanges::One final : public comm::Exchange {
 public:
  One(WordExchanges& all, std::uint64_t key, std::vector<int> ranks, int own)
      : all_(all), key_(key), ranks_(std::move(ranks)), own_(own) {}

  int rank() const override { return own_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  Result<std::vector<comm::Bytes>> all_gather(std::span<const std::byte> mine) override {
    if (mine.size() > comm::kLargestItem)
      return Status(Code::invalid_argument, fmt::format("{} bytes are too many to exchange", mine.size()));
    const std::pair at(key_, round_++);
    for (int rank = 0; rank < size(); ++rank)
      if (rank != own_)
        all_.tell_(ranks_[std::size_t(rank)],
                   comm::Writer().number(kExchanged).number(at.first).number(at.second).data(mine).take());
    std::unique_lock lock(all_.mutex_);
    all_.rounds_[at].items.emplace(ranks_[std::size_t(own_)], comm::Bytes(mine.begin(), mine.end()));
    while (all_.rounds_[at].items.size() < ranks_.size()) {
      all_.came_.wait_for(lock, kLook);
      if (all_.ended_ || cancelled_) return Status(Code::peer_lost, "the job ended while its ranks met");
      if (auto status = all_.check_(); !status) return status;
    }
    std::vector<comm::Bytes> items;
    for (const int rank : ranks_) items.push_back(std::move(all_.rounds_[at].items[rank]));
    all_.rounds_.erase(at);
    return items;
  }

  void cancel() override {
    const std::lock_guard lock(all_.mutex_);
    cancelled_ = true;
    all_.came_.notify_all();
  }

 private:
  WordExchanges& all_;
  const std::uint64_t key_;
  const std::vector<int> ranks_;
  const int own_;
  std::uint64_t round_ = 0;
  bool cancelled_ = false;
};

std::unique_ptr<comm::Exchange> WordExchanges::open(std::uint64_t key, std::vector<int> ranks, int own) {
  return std::make_unique<One>(*this, key, std::move(ranks), own);
}

bool WordExchanges::hear(int from, const comm::Bytes& word) {
  comm::Reader reader(word);
  if (reader.number() != kExchanged) return false;
  const auto key = reader.number(), number = reader.number();
  const auto item = reader.data();
  if (!reader.finish().ok()) return true;
  const std::lock_guard lock(mutex_);
  rounds_[{key, number}].items.emplace(from, comm::Bytes(item.begin(), item.end()));
  came_.notify_all();
  return true;
}

void WordExchanges::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  came_.notify_all();
}

}  // namespace sennit::shim::mpi
