#include "msg/ipc_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace sennit::msg {

namespace {

/// Allocations of one owner that stay mapped: a default. A mapping keeps memory that its owner freed.
constexpr std::size_t kMostImports = 16;
/// An owner is asked whether it still exports its allocations where those that are not in use have more bytes: a
/// default. A question takes some tens of µs, and fewer bytes are no loss to a GPU.
constexpr std::uint64_t kSmallAllocation = std::uint64_t{64} << 20;
/// Exports that are remembered: a default. One costs an open file where memory is shared by files.
constexpr std::size_t kMostExports = 64;

const char* const kCannot = "this memory cannot be shared with other processes";

/// `data`, of memory at `location`, from the beginning of its allocation; no value where `bytes` reach beyond.
std::optional<std::uint64_t> offset_in(const device::Location& location, const void* data, std::uint64_t bytes) {
  if (location.identity == 0 || location.allocations != 1) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location.base);
  return bytes <= location.bytes - offset ? std::optional(offset) : std::nullopt;
}

}  // namespace

IpcCache::~IpcCache() {
  for (const auto& [identity, exported] : exports_) withdraw(exported);
}

void IpcCache::withdraw(const Export& exported) {
  for (std::uint32_t i = 0; i < exported.handle.files; ++i) group_.withdraw(exported.handle.file[i].number);
  if (exported.key_file != 0) group_.withdraw(exported.key_file - 1);
}

void IpcCache::withdraw_freed() {
  std::erase_if(exports_, [&](const auto& each) {
    const Export& exported = each.second;
    if (exported.holders != 0) return false;
    const auto location = executor_.describe(exported.base);
    if (location.ok() && location->identity == each.first) return false;
    withdraw(exported);
    return true;
  });
}

void IpcCache::unmap_withdrawn(int owner) {
  const auto idle = [&](const auto& each) {
    return each.first.first / kMostDevices == owner && each.second.key_file &&
           each.second.imported.mapping.use_count() == 1;
  };
  std::uint64_t bytes = 0;
  for (const auto& each : imports_)
    if (idle(each)) bytes += each.second.imported.mapping->memory.bytes();
  if (bytes <= kSmallAllocation) return;
  std::erase_if(imports_,
                [&](const auto& each) { return idle(each) && !group_.fetch(owner, *each.second.key_file); });
}

Result<IpcCache::Export*> IpcCache::export_of(const device::Location& location) {
  if (const auto found = exports_.find(location.identity); found != exports_.end()) {
    found->second.used = ++uses_;
    return &found->second;
  }
  auto shareable = executor_.share(location.base, location.bytes);
  if (!shareable || shareable->identity == 0 || shareable->files.size() > IpcHandle::kMostFiles)
    return Status(Code::unsupported, kCannot);
  Export exported{};
  IpcHandle& handle = exported.handle;
  handle.kind = static_cast<std::uint32_t>(shareable->kind);
  handle.offset = shareable->offset;
  handle.identity = shareable->identity;
  std::strncpy(handle.device, shareable->device.c_str(), sizeof handle.device - 1);
  std::memcpy(handle.handle, shareable->handle.data(), sizeof handle.handle);
  for (device::Shareable::File& file : shareable->files) {
    auto offered = group_.offer(std::move(file.fd));
    if (!offered) return offered.status();
    handle.file[handle.files++] = {*offered, file.bytes};
  }
  withdraw_freed();
  if (exports_.size() >= kMostExports) {
    // An export that is held is not withdrawn, so those come last.
    const auto oldest = std::ranges::min_element(
        exports_, {}, [](const auto& each) { return std::pair(each.second.holders, each.second.used); });
    if (oldest->second.holders == 0) {
      withdraw(oldest->second);
      exports_.erase(oldest);
    }
  }
  exported.base = location.base;
  exported.used = ++uses_;
  return &exports_.emplace(location.identity, exported).first->second;
}

Result<IpcCache::Found> IpcCache::find(const void* data, std::uint64_t bytes) {
  const auto location = executor_.describe(data, bytes);
  const auto offset = location.ok() ? offset_in(*location, data, bytes) : std::nullopt;
  if (!offset) return Status(Code::unsupported, kCannot);
  auto exported = export_of(*location);
  if (!exported) return exported.status();
  return Found{*exported, *offset, location->device};
}

Result<IpcHandle> IpcCache::export_memory(const void* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = find(data, bytes);
  if (!found) return found.status();
  ++found->exported->holders;
  IpcHandle handle = found->exported->handle;
  handle.offset += found->offset;
  return handle;
}

void IpcCache::release(std::uint64_t identity) {
  const std::lock_guard lock(mutex_);
  if (const auto found = exports_.find(identity); found != exports_.end()) --found->second.holders;
}

Result<Exported> IpcCache::export_by_key(const void* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = find(data, bytes);
  if (!found) return found.status();
  Export& exported = *found->exported;
  const IpcHandle& handle = exported.handle;
  if (exported.key_file == 0) {
    UniqueFd file(memfd_create("sennit-export", MFD_CLOEXEC));
    if (!file.valid() || write(file.get(), &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle))
      return Status(Code::out_of_memory, fmt::format("no shared memory for a key: {}", strerror(errno)));
    auto offered = group_.offer(std::move(file));
    if (!offered) return offered.status();
    exported.key_file = *offered + 1;
  }
  const auto address = reinterpret_cast<std::uint64_t>(data);
  return Exported{{handle.identity, exported.key_file - 1, handle.offset + found->offset, address}, found->device};
}

bool IpcCache::can_export(const void* data, std::uint64_t bytes) {
  const auto location = executor_.describe(data, bytes);
  return location.ok() && offset_in(*location, data, bytes);
}

Result<Imported> IpcCache::import_memory(int owner, const RemoteKey& key, int device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = imports_.find(key_of(owner, key.identity, device)); found != imports_.end()) {
      found->second.used = ++uses_;
      found->second.key_file = key.key_file;  // a window may have imported it, or it was exported anew
      return found->second.imported;
    }
  }
  auto file = group_.fetch(owner, key.key_file);
  if (!file) return file.status();
  IpcHandle handle{};
  if (pread(file->get(), &handle, sizeof handle, 0) != static_cast<ssize_t>(sizeof handle) ||
      handle.identity != key.identity)
    return Status(Code::corrupt, fmt::format("rank {} has exported memory by a key of another one", owner));
  return import_memory(owner, handle, device, key.key_file);
}

Result<Imported> IpcCache::import_memory(int owner, const IpcHandle& handle, int device) {
  return import_memory(owner, handle, device, std::nullopt);
}

void IpcCache::unmap(int owner, std::uint64_t identity) {
  const std::lock_guard lock(mutex_);
  std::erase_if(imports_, [&](const auto& each) {
    return each.first.first / kMostDevices == owner && each.first.second == identity &&
           each.second.imported.mapping.use_count() == 1;
  });
}

Result<Imported> IpcCache::import_memory(int owner, const IpcHandle& handle, int device,
                                         std::optional<std::uint64_t> key_file) {
  const std::lock_guard lock(mutex_);
  const Key key = key_of(owner, handle.identity, device);
  if (const auto found = imports_.find(key); found != imports_.end()) {
    found->second.used = ++uses_;
    if (key_file) found->second.key_file = key_file;
    return found->second.imported;
  }
  unmap_withdrawn(owner);
  Imported imported;
  imported.device = executor_.find(handle.device);
  if (imported.device >= 0 && imported.device != device && !executor_.reaches(device, imported.device))
    return Status(Code::unsupported, "the GPUs have no peer access");
  device::Shareable shareable;
  shareable.kind = static_cast<device::Shareable::Kind>(handle.kind);
  std::memcpy(shareable.handle.data(), handle.handle, sizeof handle.handle);
  shareable.offset = handle.offset;
  shareable.identity = handle.identity;
  shareable.device = handle.device;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(handle.files, IpcHandle::kMostFiles); ++i) {
    auto file = group_.fetch(owner, handle.file[i].number);
    if (!file) return file.status();
    shareable.files.push_back({std::move(*file), handle.file[i].bytes});
  }
  auto mapping = mappings_.map(owner, shareable, device);
  if (!mapping) return mapping.status();
  imported.mapping = std::move(*mapping);
  // The oldest import of this owner and device makes room: a mapping that is still copied to or from is kept by the
  // copy.
  const auto first = imports_.lower_bound({key.first, 0});
  const auto last = imports_.upper_bound({key.first, ~std::uint64_t{0}});
  if (static_cast<std::size_t>(std::distance(first, last)) >= kMostImports)
    imports_.erase(std::min_element(
        first, last, [](const auto& one, const auto& other) { return one.second.used < other.second.used; }));
  imports_[key] = {imported, key_file, ++uses_};
  return imported;
}

}  // namespace sennit::msg
