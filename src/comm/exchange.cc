#include "comm/exchange.h"

#include <fmt/format.h>

namespace sennit::comm {

namespace {

class Alone : public Exchange {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) override {
    return std::vector<Bytes>{Bytes(mine.begin(), mine.end())};
  }
};

}  // namespace

Status Exchange::barrier() {
  return all_gather({}).status();
}

std::unique_ptr<Exchange> alone() {
  return std::make_unique<Alone>();
}

Result<std::vector<Bytes>> agree(Exchange& exchange, const Status& mine, std::span<const std::byte> payload) {
  Result<std::vector<Bytes>> items = exchange.all_gather(Writer().status(mine).data(payload).take());
  if (!items) return items;
  if (int(items->size()) != exchange.size())
    return Status(Code::mismatch,
                  fmt::format("the exchange returned {} items for {} ranks", items->size(), exchange.size()), {},
                  "Return one item a rank from the exchange function");
  if (!mine.ok()) return mine;
  std::vector<Bytes> payloads;
  for (std::size_t rank = 0; rank < items->size(); ++rank) {
    Reader reader((*items)[rank]);
    Status status = reader.status();
    const auto data = reader.data();
    if (Status format = reader.finish(); !format.ok()) return std::move(format).in(fmt::format("rank {}", rank));
    if (!status.ok()) return std::move(status).in(fmt::format("rank {}", rank));
    payloads.emplace_back(data.begin(), data.end());
  }
  return payloads;
}

}  // namespace sennit::comm
