// Implements the host executor: devices are regions of shared memory, lanes and blocks are threads. It runs every
// protocol where there is no GPU, and under sanitizers.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"
#include "device/executor.h"
#include "device/fault.h"
#include "device/host/lane.h"
#include "device/mapped.h"

namespace sennit::device {

namespace {

/// One region this process allocated or mapped.
struct HostRegion {
  std::size_t bytes = 0;
  int device = -1;
  int file = -1;  // borrowed: the region's Memory owns it
  std::uint64_t identity = 0;
  bool own = false;  // allocated here, not mapped
};

/// All regions, by address. Shared with the Memory values, which may outlive the executor.
struct HostRegions {
  std::mutex mutex;
  std::map<std::byte*, HostRegion> by_base;
  std::uint64_t next_identity = 1;

  std::uint64_t allocated_on(int device) {
    const std::lock_guard lock(mutex);
    std::uint64_t all = 0;
    for (const auto& [base, region] : by_base)
      if (region.own && region.device == device) all += region.bytes;
    return all;
  }

  static const std::shared_ptr<HostRegions>& of_process() {
    static const auto* const one = new std::shared_ptr(std::make_shared<HostRegions>());
    return *one;
  }
};

/// Allocations below are not checked. A default: checking takes some 20 µs.
constexpr std::uint64_t kSurelyThere = 16 * MiB;

/// Returns the bytes that the kernel could give out without swapping; the largest number where it does not say.
std::uint64_t memory_left() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:")) return std::strtoull(line.c_str() + 13, nullptr, 10) * KiB;
  return ~std::uint64_t{0};
}

/// Returns the UUIDs of `count` devices, as CUDA_VISIBLE_DEVICES orders and leaves them where it has UUIDs of these
/// alone: so a program sees the host executor's devices as it would see GPUs.
std::vector<std::string> visible(int count) {
  std::vector<std::string> all, chosen;
  for (int i = 0; i < count; ++i) all.push_back(fmt::format("HOST-{}", i));
  const char* const told = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream list(told != nullptr ? told : "");
  for (std::string each; std::getline(list, each, ',');) {
    if (std::ranges::count(all, each) == 0) return all;
    if (std::ranges::count(chosen, each) == 0) chosen.push_back(each);
  }
  return chosen.empty() ? all : chosen;
}

class HostExecutor final : public Executor {
 public:
  /// `memory`: bytes that each device has for this process; none: as many as the host has.
  HostExecutor(int count, std::optional<std::uint64_t> memory) : memory_(memory) {
    for (std::string& uuid : visible(count)) {
      DeviceInfo info;
      info.uuid = std::move(uuid);
      info.model = "host executor device";
      info.memory_bytes =
          memory.value_or(std::uint64_t(sysconf(_SC_PHYS_PAGES)) * std::uint64_t(sysconf(_SC_PAGE_SIZE)));
      info.copy_engines = 2;
      devices_.push_back(info);
    }
    limits_->limits.timeout_ns = 30'000'000'000;
  }

  Kind kind() const override { return Kind::host; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }

  Result<Memory> allocate(int device, std::size_t bytes) override {
    if (device < 0 || device >= static_cast<int>(devices_.size()))
      return Status(Code::invalid_argument, fmt::format("there is no device {}", device), {},
                    fmt::format("Use 0 to {} or raise SENNIT_HOST_DEVICES", devices_.size() - 1));
    if (memory_) {
      const std::uint64_t taken = regions_->allocated_on(device);
      if (const std::uint64_t left = *memory_ - std::min(taken, *memory_); bytes > left)
        return out_of_memory(bytes, left, "SENNIT_HOST_MEMORY");
    }
    return allocate_region(device, bytes);
  }
  Result<Memory> allocate_pinned(std::size_t bytes) override { return allocate_region(-1, bytes); }

  Result<Memory> pin(void* data, std::size_t bytes) override { return Memory(data, bytes, nullptr); }

  using Executor::describe;
  using Executor::share;

  Result<Location> describe(const void* pointer, std::uint64_t) override {
    if (pointer == nullptr)
      return Status(Code::invalid_argument, "null pointer", {}, "Pass the address of an allocation");
    Location location;
    {
      const std::lock_guard lock(regions_->mutex);
      auto* const at = static_cast<std::byte*>(const_cast<void*>(pointer));
      auto next = regions_->by_base.upper_bound(at);
      if (next != regions_->by_base.begin()) {
        const auto& [base, region] = *std::prev(next);
        if (at < base + region.bytes) {
          location.place = region.device < 0 ? Place::pinned : Place::device;
          location.device = region.device;
          location.base = base;
          location.bytes = region.bytes;
          location.identity = region.identity;
          return location;
        }
      }
    }
    if (!is_mapped(pointer))
      return Status(Code::invalid_argument, fmt::format("{} belongs to no allocation", pointer), {},
                    "The memory was freed, or the address belongs to another process");
    return location;
  }

  std::optional<int> holder(const void* pointer) override {
    const auto location = describe(pointer);
    if (!location || location->place == Place::pageable) return std::nullopt;
    return location->device;
  }

  bool reaches(int device, int peer) override {
    const auto count = static_cast<int>(devices_.size());
    const auto allowed = environment_switch("SENNIT_PEER");
    return device >= 0 && peer >= 0 && device < count && peer < count &&
           (device == peer || !allowed.ok() || *allowed);
  }

  Result<Shareable> share(const void* pointer, std::uint64_t) override {
    if (const auto allowed = environment_switch("SENNIT_IPC"); allowed.ok() && !*allowed)
      return Status(Code::unsupported, "sharing memory between processes is switched off", "SENNIT_IPC=0",
                    "Unset SENNIT_IPC");
    auto location = describe(pointer);
    if (!location) return location.status();
    const std::lock_guard lock(regions_->mutex);
    const auto found = location->base != nullptr ? regions_->by_base.find(location->base) : regions_->by_base.end();
    if (found == regions_->by_base.end() || found->second.file < 0)
      return Status(Code::unsupported, fmt::format("{} is ordinary memory of this process", pointer), {},
                    "Allocate it with sennit_memory_allocate, so that peers can map it");
    Shareable shareable;
    shareable.kind = Shareable::Kind::files;
    shareable.files.push_back({UniqueFd(dup(found->second.file)), found->second.bytes});
    shareable.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) - location->base);
    shareable.identity = location->identity;
    if (location->device >= 0) shareable.device = devices_[static_cast<std::size_t>(location->device)].uuid;
    return shareable;
  }

  Result<Memory> map(const Shareable& shareable, int) override {
    struct stat file {};
    if (shareable.files.size() != 1 || fstat(shareable.files[0].fd.get(), &file) != 0 ||
        std::uint64_t(file.st_size) < shareable.files[0].bytes)
      return Status(Code::corrupt, "a peer's memory is smaller than announced", {}, "Restart the job");
    return map_file(UniqueFd(dup(shareable.files[0].fd.get())), shareable.files[0].bytes, shareable.offset,
                    find(shareable.device));
  }

  Result<std::unique_ptr<Lane>> lane(int device) override {
    return std::unique_ptr<Lane>(new HostLane(device, limits_));
  }
  Result<std::unique_ptr<Lane>> adopt(int device, void* stream) override {
    if (stream != nullptr)
      return Status(Code::invalid_argument, "the host executor has no foreign streams", {}, "Pass a null stream");
    return lane(device);
  }
  Result<std::unique_ptr<Event>> event(int, bool) override { return std::unique_ptr<Event>(new HostEvent()); }

  // A block is a thread that yields while it waits; this bound only keeps a mistake from exhausting the system.
  unsigned concurrent_blocks(int) const override { return 64; }

  void set_timeout(std::chrono::nanoseconds timeout) override {
    const std::lock_guard lock(limits_->mutex);
    limits_->limits.timeout_ns = static_cast<std::uint64_t>(timeout.count());
  }
  void abort() override { std::atomic_ref(limits_->abort).store(1, std::memory_order_relaxed); }
  Status fault() const override { return sennit::device::describe(limits_->fault); }

 private:
  static Status out_of_memory(std::uint64_t bytes, std::uint64_t left, std::string_view where) {
    return Status(Code::out_of_memory,
                  fmt::format("cannot allocate {}: {} of memory are left", format_bytes(bytes), format_bytes(left)),
                  std::string(where), "Free memory, or use smaller messages");
  }

  Result<Memory> allocate_region(int device, std::size_t bytes) {
    if (bytes == 0) bytes = 1;
    // The kernel would give out any number of bytes, and end a process when they are used.
    if (const std::uint64_t left = bytes < kSurelyThere ? bytes : memory_left(); bytes > left)
      return out_of_memory(bytes, left, {});
    UniqueFd file(memfd_create("sennit", MFD_CLOEXEC));
    if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
      return Status(Code::out_of_memory, fmt::format("cannot allocate {}: {}", format_bytes(bytes), strerror(errno)),
                    {}, "Free memory, or use smaller messages");
    return map_file(std::move(file), bytes, 0, device, true);
  }

  Result<Memory> map_file(UniqueFd file, std::size_t bytes, std::uint64_t offset, int device, bool own = false) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED)
      return Status(Code::out_of_memory, fmt::format("cannot map {}: {}", format_bytes(bytes), strerror(errno)), {},
                    "Free memory, or use smaller messages");
    auto* base = static_cast<std::byte*>(data);
    const int fd = file.release();
    {
      const std::lock_guard lock(regions_->mutex);
      regions_->by_base[base] = HostRegion{bytes, device, fd, regions_->next_identity++, own};
    }
    return Memory(base + offset, bytes - offset, [regions = regions_, base, bytes, fd](void*) {
      {
        const std::lock_guard lock(regions->mutex);
        regions->by_base.erase(base);
      }
      munmap(base, bytes);
      ::close(fd);
    });
  }

  const std::optional<std::uint64_t> memory_;
  std::vector<DeviceInfo> devices_;
  // One for the process, as a GPU's memory is: an executor knows what another one allocated.
  std::shared_ptr<HostRegions> regions_ = HostRegions::of_process();
  std::shared_ptr<HostLimits> limits_ = std::make_shared<HostLimits>();
};

}  // namespace

Result<std::shared_ptr<Executor>> open_host_executor() {
  const auto count = environment_integer("SENNIT_HOST_DEVICES");
  if (!count) return count.status();
  if (*count < 1 || *count > 64)
    return Status(Code::invalid_argument, fmt::format("SENNIT_HOST_DEVICES={} is out of range", *count), {},
                  "Use 1 to 64");
  std::optional<std::uint64_t> memory;
  if (const std::string text = environment("SENNIT_HOST_MEMORY"); !text.empty()) {
    auto bytes = parse_bytes(text);
    if (!bytes) return std::move(bytes).status().in("SENNIT_HOST_MEMORY");
    memory = *bytes;
  }
  return std::shared_ptr<Executor>(new HostExecutor(static_cast<int>(*count), memory));
}

}  // namespace sennit::device
