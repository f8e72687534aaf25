#include "path/window.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "comm/exchange.h"

namespace sennit::path {

namespace {

/// Ranks of other builds may tell each other something else.
constexpr std::uint64_t kWindowVersion = 4;

/// A rank tells this of its part.
struct WindowDescription {
  std::uint64_t number = 0, bytes = 0;
  std::string device;   ///< that holds it
  std::string why_not;  ///< it cannot be mapped; empty: it can
  Offered offered;
};

comm::Bytes describe(std::uint64_t number, std::uint64_t bytes, const std::string& device, const std::string& why_not,
                     const Offer& offer) {
  comm::Writer writer;
  writer.number(kWindowVersion).number(number).number(bytes).text(device).text(why_not);
  offer.write(writer);
  return writer.take();
}

/// Reads the description of one rank. Errors: mismatch.
Result<WindowDescription> read(const comm::Bytes& bytes, std::size_t rank) {
  comm::Reader reader(bytes);
  WindowDescription description;
  const bool is_ours = reader.number() == kWindowVersion;
  description.number = reader.number();
  description.bytes = reader.number();
  description.device = reader.text();
  description.why_not = reader.text();
  description.offered = Offered::read(reader);
  if (is_ours && reader.finish().ok()) return description;
  return Status(Code::mismatch, fmt::format("rank {} runs another version of sennit", rank), "register memory",
                "Use the same build on all ranks");
}

}  // namespace

Result<std::unique_ptr<Window>> Window::create(comm::Group& group, device::Executor& executor, Mappings& mappings,
                                               int device, std::uint32_t number, void* data, std::uint64_t bytes) {
  std::unique_ptr<Window> window(new Window(group, executor, mappings, device));
  window->number_ = number;
  window->data_ = static_cast<std::byte*>(data);
  std::string device_uuid, why_not = "it has no bytes";
  Status status;
  if (bytes != 0) {
    auto location = executor.describe(data, bytes);
    status = location.ok() ? check_to_share(executor, *location, data, bytes) : location.status();
    if (status.ok()) {
      window->data_device_ = location->device;
      if (location->device >= 0) device_uuid = executor.devices()[static_cast<std::size_t>(location->device)].uuid;
      auto offer = Offer::make(group, executor, data, bytes);
      why_not = offer.ok() ? std::string() : offer.status().text();
      if (offer.ok()) window->offer_ = std::move(*offer);
    }
  }
  auto descriptions = comm::agree(group.exchange(), std::move(status).in("register memory"),
                                  describe(number, bytes, device_uuid, why_not, window->offer_));
  if (!descriptions) return descriptions.status();
  window->parts_.resize(descriptions->size());
  for (std::size_t rank = 0; rank < descriptions->size(); ++rank) {
    auto description = read((*descriptions)[rank], rank);
    if (!description) return description.status();
    if (description->number != number)
      return Status(Code::mismatch,
                    fmt::format("rank {} registers window {}, rank {} window {}", rank, description->number,
                                group.rank(), number),
                    "register memory", "Registration is collective: call it in the same order on all ranks");
    Part& part = window->parts_[rank];
    part.bytes = description->bytes;
    part.device = executor.find(description->device);
    part.shareable = description->why_not.empty();
    part.why_not = std::move(description->why_not);
    part.offered = std::move(description->offered);
    part.offered.memory.device = description->device;
  }
  return window;
}

bool Window::outlives_owners() const {
  return std::ranges::all_of(parts_, [](const Part& part) {
    return part.bytes == 0 || (part.shareable && part.offered.memory.kind == device::Shareable::Kind::files);
  });
}

void Window::unmap() {
  const std::lock_guard lock(mutex_);
  for (Part& part : parts_) {
    part.mapping.reset();
    part.mapping_at_owner.reset();
  }
}

void Window::map(int rank, Part& part) {
  if (std::exchange(part.tried, true)) return;
  const device::SetUp set_up(&executor_);  // the first message may be one that is captured
  const Status mapped = try_to_map(rank, part);
  if (!mapped.ok())
    log(LogLevel::info,
        fmt::format("rank {}'s part of window {} is not mapped here, and is reached by way of the host: {}", rank,
                    number_, mapped.text()));
}

Status Window::try_to_map(int rank, Part& part) {
  if (!part.shareable) return Status(Code::unsupported, part.why_not);
  if (auto status = part.offered.reached_by(executor_, device_); !status) return status;
  auto mapping = map_for(device_, rank, part);
  if (!mapping) return mapping.status();
  part.mapping = std::move(*mapping);
  return {};
}

void Window::map_at_owner(int rank, Part& part) {
  if (part.mapping == nullptr || part.device < 0 || part.device == device_) return;
  if (std::exchange(part.tried_at_owner, true)) return;
  const device::SetUp set_up(&executor_);
  // Engines of both devices are to reach either's memory.
  if (!executor_.reaches(device_, part.device)) return;
  auto mapping = map_for(part.device, rank, part);
  if (mapping.ok()) part.mapping_at_owner = std::move(*mapping);
}

Result<std::shared_ptr<const Mapping>> Window::map_for(int device, int rank, Part& part) {
  std::vector<device::Shareable::File>& files = part.offered.memory.files;
  for (const FileDescription& description : part.offered.files) {
    auto file = group_.fetch(rank, description.number);
    if (!file) return file.status();
    files.push_back({std::move(*file), description.bytes});
  }
  auto mapping = mappings_.map(rank, part.offered.memory, device);
  files.clear();  // a mapping needs them no more
  return mapping;
}

Status Window::check(int rank, std::uint64_t offset, std::uint64_t bytes) const {
  if (rank < 0 || rank >= static_cast<int>(parts_.size()))
    return Status(Code::invalid_argument, fmt::format("there is no rank {}", rank), {},
                  fmt::format("Ranks are 0 to {}", parts_.size() - 1));
  const Part& part = parts_[static_cast<std::size_t>(rank)];
  if (offset > part.bytes || bytes > part.bytes - offset)
    return Status(Code::invalid_argument,
                  fmt::format("{} at offset {} reach beyond rank {}'s window of {}", format_bytes(bytes), offset,
                              rank, format_bytes(part.bytes)),
                  {}, "Register more memory there, or send less");
  if (!group_.same_node(rank))
    return Status(Code::unsupported, fmt::format("rank {} is on another node", rank), {},
                  "Put and get work between ranks that can map each other's memory");
  return {};
}

Result<End> Window::end(int rank, std::uint64_t offset, std::uint64_t bytes) {
  if (auto status = check(rank, offset, bytes); !status) return status;
  if (rank == group_.rank()) return End::local(data_ + offset, data_device_);
  const std::lock_guard lock(mutex_);
  Part& part = parts_[static_cast<std::size_t>(rank)];
  map(rank, part);
  map_at_owner(rank, part);
  End end;
  end.rank = rank;
  end.window = number_;
  end.offset = offset;
  // A device this process cannot see still has a number that no lane of ours has.
  end.device = part.device >= 0 ? part.device : static_cast<int>(executor_.devices().size());
  if (std::byte* const seen = part.seen_through(part.mapping)) end.data = seen + offset;
  if (std::byte* const seen = part.seen_through(part.mapping_at_owner)) end.at_owner = seen + offset;
  if (part.device == device_) end.at_owner = end.data;
  return end;
}

Result<std::byte*> Window::seen_here(int rank) {
  if (auto status = check(rank, 0, 0); !status) return status;
  if (rank == group_.rank()) return data_;
  const std::lock_guard lock(mutex_);
  Part& part = parts_[static_cast<std::size_t>(rank)];
  map(rank, part);
  if (std::byte* const seen = part.seen_through(part.mapping)) return seen;
  return Status(Code::unsupported, fmt::format("rank {} cannot map the memory of rank {}", group_.rank(), rank));
}

}  // namespace sennit::path
