#include "shim/mpi/loans.h"

#include <algorithm>
#include <cstring>

namespace sennit::shim::mpi {

namespace {

/// Allocations of one owner that stay mapped: a default. A mapping keeps memory that its owner freed.
constexpr std::size_t kMostBorrowed = 16;
/// Loans that are remembered: a default. One costs an open file where memory is shared by files.
constexpr std::size_t kMostLoans = 64;

}  // namespace

Loans::~Loans() {
  for (const auto& [identity, lent] : lent_)
    for (std::uint32_t i = 0; i < lent.files; ++i) group_.withdraw(lent.file[i].number);
}

Result<Lent> Loans::lend(const void* data, std::uint64_t bytes) {
  const Status cannot(Code::unsupported, "this memory cannot be shared with other processes");
  const auto location = executor_.describe(data, bytes);
  if (!location || location->identity == 0 || location->allocations != 1) return cannot;
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location->base);
  if (bytes > location->bytes - offset) return cannot;
  const std::lock_guard lock(mutex_);
  auto found = lent_.find(location->identity);
  if (found == lent_.end()) {
    auto shareable = executor_.share(location->base, location->bytes);
    if (!shareable || shareable->identity == 0 || shareable->files.size() > Lent::kMostFiles) return cannot;
    Lent lent{};
    lent.kind = static_cast<std::uint32_t>(shareable->kind);
    lent.offset = shareable->offset;
    lent.identity = shareable->identity;
    std::strncpy(lent.device, shareable->device.c_str(), sizeof lent.device - 1);
    std::memcpy(lent.handle, shareable->handle.data(), sizeof lent.handle);
    for (device::Shareable::File& file : shareable->files) {
      auto offered = group_.offer(std::move(file.fd));
      if (!offered) return offered.status();
      lent.file[lent.files++] = {*offered, file.bytes};
    }
    if (lent_.size() >= kMostLoans) {  // identities grow: the first is the oldest
      const Lent& oldest = lent_.begin()->second;
      for (std::uint32_t i = 0; i < oldest.files; ++i) group_.withdraw(oldest.file[i].number);
      lent_.erase(lent_.begin());
    }
    found = lent_.emplace(location->identity, lent).first;
  }
  Lent lent = found->second;
  lent.offset += offset;
  return lent;
}

Result<std::shared_ptr<const path::Mapping>> Loans::borrow(int owner, const Lent& lent, int device) {
  const int there = executor_.find(lent.device);
  if (there >= 0 && there != device && !executor_.reaches(device, there))
    return Status(Code::unsupported, "the GPUs have no peer access");
  const std::lock_guard lock(mutex_);
  const std::pair key(owner * 64 + device, lent.identity);
  if (const auto found = borrowed_.find(key); found != borrowed_.end()) return found->second;
  device::Shareable shareable;
  shareable.kind = static_cast<device::Shareable::Kind>(lent.kind);
  std::memcpy(shareable.handle.data(), lent.handle, sizeof lent.handle);
  shareable.offset = lent.offset;
  shareable.identity = lent.identity;
  shareable.device = lent.device;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(lent.files, Lent::kMostFiles); ++i) {
    auto file = group_.fetch(owner, lent.file[i].number);
    if (!file) return file.status();
    shareable.files.push_back({std::move(*file), lent.file[i].bytes});
  }
  auto mapping = mappings_.map(owner, shareable, device);
  if (!mapping) return mapping.status();
  // Of this owner and device, the oldest identities go first.
  const auto first = borrowed_.lower_bound({key.first, 0});
  const auto last = borrowed_.upper_bound({key.first, ~std::uint64_t{0}});
  if (static_cast<std::size_t>(std::distance(first, last)) >= kMostBorrowed) borrowed_.erase(first);
  return borrowed_[key] = std::move(*mapping);
}

}  // namespace sennit::shim::mpi
