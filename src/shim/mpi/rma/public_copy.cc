#include "shim/mpi/rma/public_copy.h"

#include <algorithm>
#include <cstring>

namespace sennit::shim::mpi {

namespace {

constexpr std::size_t kBlock = 4096;  // what is compared at once; runs that are less apart are copied as one

/// Merges one block that either side changed, and returns the bytes that came to `mine`; first == last: none.
Changed merge_block(std::byte* mine, std::byte* theirs, std::byte* before, std::size_t bytes) {
  Changed came{bytes, 0};
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::byte was = before[i], there = theirs[i];
    if (there != was) {
      mine[i] = before[i] = there;
      came.first = std::min(came.first, i);
      came.last = i + 1;
    } else if (mine[i] != was) {
      theirs[i] = before[i] = mine[i];
    }
  }
  return came.last == 0 ? Changed{0, 0} : came;
}

}  // namespace

std::vector<Changed> merge(std::span<std::byte> mine, std::span<std::byte> theirs, std::span<std::byte> before) {
  std::vector<Changed> all;
  for (std::size_t at = 0; at < mine.size(); at += kBlock) {
    const std::size_t bytes = std::min(kBlock, mine.size() - at);
    std::byte* const was = &before[at];
    if (std::memcmp(&mine[at], was, bytes) == 0 && std::memcmp(&theirs[at], was, bytes) == 0) continue;
    const Changed came = merge_block(&mine[at], &theirs[at], was, bytes);
    if (came.first == came.last) continue;
    if (!all.empty() && at + came.first - all.back().last < kBlock)
      all.back().last = at + came.last;
    else
      all.push_back({at + came.first, at + came.last});
  }
  return all;
}

Result<std::unique_ptr<PublicCopy>> PublicCopy::make(stage::Gpus& gpus, stage::PinnedPool& host, std::byte* gpu,
                                                     std::uint64_t bytes, int device) {
  std::unique_ptr<PublicCopy> made(new PublicCopy(gpus, host, gpu, bytes, device));
  for (device::Memory* const memory : {&made->public_, &made->before_, &made->image_}) {
    auto taken = host.acquire(bytes, stage::PinnedPool::Use::certain);
    if (!taken) return taken.status();
    *memory = std::move(*taken);
  }
  if (auto status = gpus.to_host(made->public_.data(), gpu, bytes, {device}); !status) return status;
  std::memcpy(made->before_.data(), made->public_.data(), bytes);
  return made;
}

PublicCopy::~PublicCopy() {
  for (device::Memory* const memory : {&public_, &before_, &image_}) host_.release(std::move(*memory));
}

Status PublicCopy::settle() {
  if (auto status = gpus_.to_host(image_.data(), gpu_, bytes_, {device_}); !status) return status;
  const auto all = [this](const device::Memory& memory) { return std::span(memory.data(), bytes_); };
  for (const Changed& run : merge(all(image_), all(public_), all(before_)))
    if (auto status = gpus_.to_gpu(gpu_ + run.first, image_.data() + run.first, run.last - run.first, {device_});
        !status)
      return status;
  return {};
}

}  // namespace sennit::shim::mpi
