#include "shim/mpi/p2p/ipc_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace sennit::shim::mpi {

namespace {

/// Allocations of one owner that stay mapped: a default. A mapping keeps memory that its owner freed.
constexpr std::size_t kMostBorrowed = 16;
/// Whether an owner's allocations are still lent is asked where those that nobody uses have more bytes: a default. A
/// question takes some tens of µs, and fewer bytes are no loss to a GPU.
constexpr std::uint64_t kSmallAllocation = std::uint64_t{64} << 20;
/// Loans that are remembered: a default. One costs an open file where memory is shared by files.
constexpr std::size_t kMostLoans = 64;

const char* const kCannot = "this memory cannot be shared with other processes";

/// `data`, of memory at `location`, from the beginning of its allocation; none where `bytes` reach beyond.
std::optional<std::uint64_t> offset_in(const device::Location& location, const void* data, std::uint64_t bytes) {
  if (location.identity == 0 || location.allocations != 1) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location.base);
  return bytes <= location.bytes - offset ? std::optional(offset) : std::nullopt;
}

}  // namespace

IpcCache::~IpcCache() {
  for (const auto& [identity, loan] : lent_) withdraw(loan);
}

void IpcCache::withdraw(const Loan& loan) {
  for (std::uint32_t i = 0; i < loan.lent.files; ++i) group_.withdraw(loan.lent.file[i].number);
  if (loan.card != 0) group_.withdraw(loan.card - 1);
}

void IpcCache::withdraw_freed() {
  std::erase_if(lent_, [&](const auto& each) {
    const Loan& loan = each.second;
    if (loan.holders != 0) return false;
    const auto location = executor_.describe(loan.base);
    if (location.ok() && location->identity == each.first) return false;
    withdraw(loan);
    return true;
  });
}

void IpcCache::give_back_withdrawn(int owner) {
  const auto idle = [&](const auto& each) {
    return each.first.first / kMostDevices == owner && each.second.card &&
           each.second.borrowed.mapping.use_count() == 1;
  };
  std::uint64_t bytes = 0;
  for (const auto& each : borrowed_)
    if (idle(each)) bytes += each.second.borrowed.mapping->memory.bytes();
  if (bytes <= kSmallAllocation) return;
  std::erase_if(borrowed_, [&](const auto& each) { return idle(each) && !group_.fetch(owner, *each.second.card); });
}

Result<IpcCache::Loan*> IpcCache::loan_of(const device::Location& location) {
  if (const auto found = lent_.find(location.identity); found != lent_.end()) {
    found->second.used = ++uses_;
    return &found->second;
  }
  auto shareable = executor_.share(location.base, location.bytes);
  if (!shareable || shareable->identity == 0 || shareable->files.size() > IpcHandle::kMostFiles)
    return Status(Code::unsupported, kCannot);
  Loan loan{};
  IpcHandle& lent = loan.lent;
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
  withdraw_freed();
  if (lent_.size() >= kMostLoans) {
    // Those that somebody holds last, and not at all.
    const auto oldest = std::ranges::min_element(
        lent_, {}, [](const auto& each) { return std::pair(each.second.holders, each.second.used); });
    if (oldest->second.holders == 0) {
      withdraw(oldest->second);
      lent_.erase(oldest);
    }
  }
  loan.base = location.base;
  loan.used = ++uses_;
  return &lent_.emplace(location.identity, loan).first->second;
}

Result<IpcCache::Found> IpcCache::find(const void* data, std::uint64_t bytes) {
  const auto location = executor_.describe(data, bytes);
  const auto offset = location.ok() ? offset_in(*location, data, bytes) : std::nullopt;
  if (!offset) return Status(Code::unsupported, kCannot);
  auto loan = loan_of(*location);
  if (!loan) return loan.status();
  return Found{*loan, *offset, location->device};
}

Result<IpcHandle> IpcCache::export_memory(const void* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = find(data, bytes);
  if (!found) return found.status();
  ++found->loan->holders;
  IpcHandle lent = found->loan->lent;
  lent.offset += found->offset;
  return lent;
}

void IpcCache::release(std::uint64_t identity) {
  const std::lock_guard lock(mutex_);
  if (const auto found = lent_.find(identity); found != lent_.end()) --found->second.holders;
}

Result<Exported> IpcCache::export_by_key(const void* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = find(data, bytes);
  if (!found) return found.status();
  Loan& loan = *found->loan;
  const IpcHandle& lent = loan.lent;
  if (loan.card == 0) {
    UniqueFd file(memfd_create("sennit-loan", MFD_CLOEXEC));
    if (!file.valid() || write(file.get(), &lent, sizeof lent) != static_cast<ssize_t>(sizeof lent))
      return Status(Code::out_of_memory, fmt::format("no shared memory for a card: {}", strerror(errno)));
    auto offered = group_.offer(std::move(file));
    if (!offered) return offered.status();
    loan.card = *offered + 1;
  }
  const auto address = reinterpret_cast<std::uint64_t>(data);
  return Exported{{lent.identity, loan.card - 1, lent.offset + found->offset, address}, found->device};
}

bool IpcCache::can_export(const void* data, std::uint64_t bytes) {
  const auto location = executor_.describe(data, bytes);
  return location.ok() && offset_in(*location, data, bytes);
}

Result<Imported> IpcCache::import_memory(int owner, const RemoteKey& name, int device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = borrowed_.find(key_of(owner, name.identity, device)); found != borrowed_.end()) {
      found->second.used = ++uses_;
      found->second.card = name.card;  // a window may have borrowed it, or it has been lent anew
      return found->second.borrowed;
    }
  }
  auto file = group_.fetch(owner, name.card);
  if (!file) return file.status();
  IpcHandle lent{};
  if (pread(file->get(), &lent, sizeof lent, 0) != static_cast<ssize_t>(sizeof lent) ||
      lent.identity != name.identity)
    return Status(Code::corrupt, fmt::format("rank {} has lent memory by a card of another one", owner));
  return import_memory(owner, lent, device, name.card);
}

Result<Imported> IpcCache::import_memory(int owner, const IpcHandle& lent, int device) {
  return import_memory(owner, lent, device, std::nullopt);
}

void IpcCache::unmap(int owner, std::uint64_t identity) {
  const std::lock_guard lock(mutex_);
  std::erase_if(borrowed_, [&](const auto& each) {
    return each.first.first / kMostDevices == owner && each.first.second == identity &&
           each.second.borrowed.mapping.use_count() == 1;
  });
}

Result<Imported> IpcCache::import_memory(int owner, const IpcHandle& lent, int device,
                                         std::optional<std::uint64_t> card) {
  const std::lock_guard lock(mutex_);
  const Key key = key_of(owner, lent.identity, device);
  if (const auto found = borrowed_.find(key); found != borrowed_.end()) {
    found->second.used = ++uses_;
    if (card) found->second.card = card;
    return found->second.borrowed;
  }
  give_back_withdrawn(owner);
  Imported borrowed;
  borrowed.device = executor_.find(lent.device);
  if (borrowed.device >= 0 && borrowed.device != device && !executor_.reaches(device, borrowed.device))
    return Status(Code::unsupported, "the GPUs have no peer access");
  device::Shareable shareable;
  shareable.kind = static_cast<device::Shareable::Kind>(lent.kind);
  std::memcpy(shareable.handle.data(), lent.handle, sizeof lent.handle);
  shareable.offset = lent.offset;
  shareable.identity = lent.identity;
  shareable.device = lent.device;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(lent.files, IpcHandle::kMostFiles); ++i) {
    auto file = group_.fetch(owner, lent.file[i].number);
    if (!file) return file.status();
    shareable.files.push_back({std::move(*file), lent.file[i].bytes});
  }
  auto mapping = mappings_.map(owner, shareable, device);
  if (!mapping) return mapping.status();
  borrowed.mapping = std::move(*mapping);
  // Of this owner and device: one that is still copied to or from is kept by whoever does.
  const auto first = borrowed_.lower_bound({key.first, 0});
  const auto last = borrowed_.upper_bound({key.first, ~std::uint64_t{0}});
  if (static_cast<std::size_t>(std::distance(first, last)) >= kMostBorrowed)
    borrowed_.erase(std::min_element(
        first, last, [](const auto& one, const auto& other) { return one.second.used < other.second.used; }));
  borrowed_[key] = {borrowed, card, ++uses_};
  return borrowed;
}

}  // namespace sennit::shim::mpi
