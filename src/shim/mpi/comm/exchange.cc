#include "shim/mpi/comm/exchange.h"

#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "comm/frame.h"

namespace sennit::shim::mpi {

namespace {

class MpiExchange final : public comm::Exchange {
 public:
  MpiExchange(const Mpi& mpi, Handle comm, CommShape shape) : mpi_(mpi), comm_(comm), shape_(shape) {}

  int rank() const override { return shape_.rank; }
  int size() const override { return shape_.size; }

  Result<std::vector<comm::Bytes>> all_gather(std::span<const std::byte> mine) override {
    const auto ranks = static_cast<std::size_t>(shape_.size);
    if (mine.size() > comm::kLargestItem)
      return Status(Code::invalid_argument, fmt::format("{} bytes are too many to exchange", mine.size()));
    const int own = static_cast<int>(mine.size());
    std::vector<int> lengths(ranks), places(ranks);
    if (const int code = mpi_.all_gather(comm_, &own, lengths.data(), sizeof own); code != 0) return failed(code);
    std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
    comm::Bytes all(static_cast<std::size_t>(places.back() + lengths.back()) + 1);  // never null
    if (const int code = mpi_.all_gather(comm_, mine.data(), own, all.data(), lengths, places); code != 0)
      return failed(code);
    std::vector<comm::Bytes> items;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      items.emplace_back(all.begin() + places[rank], all.begin() + places[rank] + lengths[rank]);
    return items;
  }

 private:
  static Status failed(int code) {
    return Status(Code::system_error, fmt::format("MPI_Allgather returned error {}", code));
  }

  const Mpi& mpi_;
  const Handle comm_;
  const CommShape shape_;
};

}  // namespace

std::unique_ptr<comm::Exchange> exchange_over(const Mpi& mpi, Handle comm, CommShape shape) {
  return std::make_unique<MpiExchange>(mpi, comm, shape);
}

}  // namespace sennit::shim::mpi
