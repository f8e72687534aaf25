#include "path/offer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::path {

Status check_to_share(const device::Executor& executor, const device::Location& location, const void* data,
                      std::uint64_t bytes) {
  if (location.place == device::Place::pageable)
    return Status(Code::invalid_argument, fmt::format("{} is pageable host memory", data), {},
                  executor.kind() == device::Kind::cuda
                      ? "Register GPU memory (cudaMalloc, cuMemCreate)"
                      : "Allocate it with sennit_memory_allocate, so that peers can map it");
  const auto before = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location.base);
  if (location.bytes != 0 && bytes > location.bytes - before)
    return Status(Code::invalid_argument,
                  fmt::format("{} from {} reach beyond the allocation, which has {} left", format_bytes(bytes), data,
                              format_bytes(location.bytes - before)),
                  {}, "Register at most what was allocated");
  return {};
}

Result<Offer> Offer::make(comm::Group& group, device::Executor& executor, const void* data, std::uint64_t bytes) {
  auto shareable = executor.share(data, bytes);
  if (!shareable) return shareable.status();
  Offer offer;
  offer.group_ = &group;
  std::vector<device::Shareable::File> files = std::exchange(shareable->files, {});
  offer.memory_ = std::move(*shareable);
  for (device::Shareable::File& file : files) {
    auto offered = group.offer(std::move(file.fd));
    if (!offered) return offered.status();
    offer.files_.push_back({*offered, file.bytes});
  }
  return offer;
}

Offer& Offer::operator=(Offer&& other) noexcept {
  std::swap(group_, other.group_);
  std::swap(memory_, other.memory_);
  std::swap(files_, other.files_);
  return *this;
}

Offer::~Offer() {
  for (const FileDescription& file : files_) group_->withdraw(file.number);
}

void Offer::write(comm::Writer& writer) const {
  writer.number(static_cast<std::uint64_t>(memory_.kind))
      .data(memory_.handle)
      .number(memory_.offset)
      .number(memory_.identity)
      .text(memory_.device)
      .number(memory_.process)
      .number(reinterpret_cast<std::uint64_t>(memory_.address))
      .number(files_.size());
  for (const FileDescription& file : files_) writer.number(file.number).number(file.bytes);
}

Status Offered::reached_by(device::Executor& executor, int device) const {
  const int holder = executor.find(memory.device);
  const bool as_files = memory.kind == device::Shareable::Kind::files;
  if (holder < 0 || (as_files ? executor.could_reach(device, holder) : executor.reaches(device, holder))) return {};
  return Status(Code::unsupported, "the GPUs have no peer access", {}, "`sennit doctor` says what stands in the way");
}

Offered Offered::read(comm::Reader& reader) {
  Offered offered;
  offered.memory.kind = static_cast<device::Shareable::Kind>(reader.number());
  const auto handle = reader.data();
  std::copy_n(handle.begin(), std::min(handle.size(), offered.memory.handle.size()), offered.memory.handle.begin());
  offered.memory.offset = reader.number();
  offered.memory.identity = reader.number();
  offered.memory.device = reader.text();
  offered.memory.process = reader.number();
  offered.memory.address = reinterpret_cast<std::byte*>(reader.number());
  offered.files.resize(std::min<std::uint64_t>(reader.number(), device::Shareable::kMostFiles));
  for (FileDescription& file : offered.files) file = {reader.number(), reader.number()};
  return offered;
}

}  // namespace sennit::path
