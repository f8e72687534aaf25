#include "capi/caller_exchange.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/other_processes.h"
#include "comm/frame.h"

namespace sennit::capi {

namespace {

using comm::Bytes;

class CallerExchange final : public comm::Exchange {
 public:
  explicit CallerExchange(const sennit_exchange& given) : given_(given) {}

  int rank() const override { return given_.rank; }
  int size() const override { return given_.size; }

  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) override {
    if (!broken_.ok()) return broken_;
    auto items = rounds(mine);
    if (!items) broken_ = items.status();
    return items;
  }

 private:
  Result<std::vector<Bytes>> rounds(std::span<const std::byte> mine) {
    auto told = equal(comm::Writer().number(mine.size()).take());
    if (!told) return told.status();
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(given_.size));
    comm::Reader reader(*told);
    for (std::uint64_t& length : lengths) length = reader.number();
    const auto longest = std::ranges::max_element(lengths);
    if (*longest > comm::kLargestItem)
      return Status(
          Code::invalid_argument,
          fmt::format("rank {} exchanges {} bytes at once, more than 64 MiB", longest - lengths.begin(), *longest),
          "exchange function", "Check that it returns what each rank gave, by rank");
    std::vector<Bytes> items(lengths.size());
    if (*longest == 0) return items;
    Bytes padded(mine.begin(), mine.end());
    padded.resize(*longest);
    auto all = equal(padded);
    if (!all) return all.status();
    for (std::size_t from = 0; from < items.size(); ++from) {
      const auto begin = all->begin() + std::ptrdiff_t(from * *longest);
      items[from].assign(begin, begin + std::ptrdiff_t(lengths[from]));
    }
    return items;
  }

  // All ranks give as many bytes.
  Result<Bytes> equal(const Bytes& mine) {
    Bytes all(mine.size() * std::size_t(size()));
    tell_others();
    if (const int failed = given_.all_gather(given_.context, mine.data(), all.data(), mine.size()); failed != 0)
      return Status(Code::system_error, fmt::format("the exchange function returned {}", failed),
                    fmt::format("rank {}, {} bytes", rank(), mine.size()),
                    "It must return 0 when every rank's bytes have arrived; look at its own messages");
    heard_others();
    const auto own = all.begin() + std::ptrdiff_t(std::size_t(rank()) * mine.size());
    if (!std::equal(mine.begin(), mine.end(), own))
      return Status(Code::mismatch, fmt::format("the exchange function lost what rank {} gave it", rank()), {},
                    "It must gather the bytes of rank r at receive + r * bytes, those of this rank too");
    return all;
  }

  const sennit_exchange given_;
  Status broken_;
};

}  // namespace

Result<std::unique_ptr<comm::Exchange>> over(const sennit_exchange& exchange) {
  if (exchange.all_gather == nullptr)
    return Status(Code::invalid_argument, "options.exchange->all_gather is null", {}, "Give a function");
  if (exchange.size < 1 || exchange.rank < 0 || exchange.rank >= exchange.size)
    return Status(Code::invalid_argument, fmt::format("rank {} of {} cannot be", exchange.rank, exchange.size),
                  "options.exchange", "Ranks are 0 to size - 1");
  return std::unique_ptr<comm::Exchange>(new CallerExchange(exchange));
}

}  // namespace sennit::capi
