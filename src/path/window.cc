#include "path/window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "comm/exchange.h"

namespace sennit::path {

namespace {

/// Holds what ranks tell each other of their parts. Plain bytes: all ranks run the same build (checked by `version`).
struct WindowDescription {
  std::uint32_t version = 3;
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  std::uint32_t shareable = 0;
  std::uint32_t kind = 0;
  std::byte handle[64] = {};
  std::uint32_t files = 0;  // so many FileDescriptions follow
  std::uint64_t offset = 0;
  std::uint64_t identity = 0;
  std::uint64_t process = 0, address = 0;
  char device[64] = {};
  char why_not[256] = {};
};

/// Reads the description, and what follows it, of one rank. Errors: mismatch.
Status read(const comm::Bytes& bytes, std::size_t rank, WindowDescription& description,
            std::vector<FileDescription>& files) {
  bool whole = bytes.size() >= sizeof description;
  if (whole) std::memcpy(&description, bytes.data(), sizeof description);
  whole = whole && description.version == WindowDescription().version &&
          description.files <= device::Shareable::kMostFiles &&
          bytes.size() == sizeof description + description.files * sizeof(FileDescription);
  if (!whole)
    return Status(Code::mismatch, fmt::format("rank {} runs another version of sennit", rank), "register memory",
                  "Use the same build on all ranks");
  files.resize(description.files);
  if (!files.empty())
    std::memcpy(files.data(), bytes.data() + sizeof description, files.size() * sizeof(FileDescription));
  description.device[sizeof description.device - 1] = description.why_not[sizeof description.why_not - 1] = '\0';
  return {};
}

template <std::size_t N>
void put_text(char (&field)[N], const std::string& text) {
  std::strncpy(field, text.c_str(), N - 1);
}

Status check_memory(const device::Executor& executor, const device::Location& location, const void* data,
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

}  // namespace

Result<std::unique_ptr<Window>> Window::create(comm::Group& group, device::Executor& executor, Mappings& mappings,
                                               int device, std::uint32_t number, void* data, std::uint64_t bytes) {
  std::unique_ptr<Window> window(new Window(group, executor, mappings, device));
  window->number_ = number;
  window->data_ = static_cast<std::byte*>(data);
  WindowDescription mine;
  mine.number = number;
  mine.bytes = bytes;
  Status status;
  if (bytes != 0) {
    auto location = executor.describe(data, bytes);
    status = location.ok() ? check_memory(executor, *location, data, bytes) : location.status();
    if (status.ok()) {
      window->data_device_ = location->device;
      if (location->device >= 0)
        put_text(mine.device, executor.devices()[static_cast<std::size_t>(location->device)].uuid);
      auto shareable = executor.share(data, bytes);
      if (shareable.ok()) {
        mine.shareable = 1;
        mine.kind = static_cast<std::uint32_t>(shareable->kind);
        std::memcpy(mine.handle, shareable->handle.data(), sizeof mine.handle);
        mine.offset = shareable->offset;
        mine.identity = shareable->identity;
        mine.process = shareable->process;
        mine.address = reinterpret_cast<std::uint64_t>(shareable->address);
        for (device::Shareable::File& file : shareable->files) {
          auto offered = group.offer(std::move(file.fd));
          if (!offered) {
            status = offered.status();
            break;
          }
          window->offered_.push_back({*offered, file.bytes});
        }
      } else {
        put_text(mine.why_not, shareable.status().text());
      }
    }
  }
  mine.files = static_cast<std::uint32_t>(window->offered_.size());
  comm::Bytes told(sizeof mine + window->offered_.size() * sizeof(FileDescription));
  std::memcpy(told.data(), &mine, sizeof mine);
  if (mine.files != 0)
    std::memcpy(told.data() + sizeof mine, window->offered_.data(), mine.files * sizeof(FileDescription));
  auto descriptions = comm::agree(group.exchange(), std::move(status).in("register memory"), told);
  if (!descriptions) return descriptions.status();
  window->parts_.resize(descriptions->size());
  for (std::size_t rank = 0; rank < descriptions->size(); ++rank) {
    WindowDescription description;
    Part& part = window->parts_[rank];
    if (auto read_well = read((*descriptions)[rank], rank, description, part.files); !read_well) return read_well;
    if (description.number != number)
      return Status(Code::mismatch,
                    fmt::format("rank {} registers window {}, rank {} window {}", rank, description.number,
                                group.rank(), number),
                    "register memory", "Registration is collective: call it in the same order on all ranks");
    part.bytes = description.bytes;
    part.device = executor.find(description.device);
    part.shareable = description.shareable != 0;
    part.why_not = description.why_not;
    part.shareable_memory.kind = static_cast<device::Shareable::Kind>(description.kind);
    std::memcpy(part.shareable_memory.handle.data(), description.handle, sizeof description.handle);
    part.shareable_memory.offset = description.offset;
    part.shareable_memory.identity = description.identity;
    part.shareable_memory.process = description.process;
    part.shareable_memory.address = reinterpret_cast<std::byte*>(description.address);
    part.shareable_memory.device = description.device;
  }
  return window;
}

Window::~Window() {
  for (const FileDescription& file : offered_) group_.withdraw(file.number);
}

bool Window::outlives_owners() const {
  return std::ranges::all_of(parts_, [](const Part& part) {
    return part.bytes == 0 || (part.shareable && part.shareable_memory.kind == device::Shareable::Kind::files);
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
  const bool as_files = part.shareable_memory.kind == device::Shareable::Kind::files;
  if (part.device >= 0 &&
      !(as_files ? executor_.could_reach(device_, part.device) : executor_.reaches(device_, part.device)))
    return Status(Code::unsupported, "the GPUs have no peer access");
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
  std::vector<device::Shareable::File>& files = part.shareable_memory.files;
  for (const FileDescription& description : part.files) {
    auto file = group_.fetch(rank, description.number);
    if (!file) return file.status();
    files.push_back({std::move(*file), description.bytes});
  }
  auto mapping = mappings_.map(rank, part.shareable_memory, device);
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
