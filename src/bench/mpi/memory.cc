#include "bench/mpi/memory.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"

namespace sennit::bench::mpi {

std::unique_ptr<Memories> Memories::of_host() {
  return std::unique_ptr<Memories>(new Memories());
}

Result<std::unique_ptr<Memories>> Memories::of_gpu(int index) {
  std::unique_ptr<Memories> made(new Memories());
  auto emulate = environment_switch("SENNIT_EMULATE");
  if (!emulate) return emulate.status();
  made->emulated_ = *emulate;
  auto executor = *emulate ? device::open_host_executor() : device::open_cuda_executor();
  if (!executor)
    return Status(Code::unsupported, executor.status().what(), "--buffers gpu",
                  "Measure host memory (--buffers host), or try it with SENNIT_EMULATE=1");
  made->executor_ = std::move(*executor);
  made->device_ = index % static_cast<int>(made->executor_->devices().size());
  if (auto status = made->executor_->make_current(made->device_); !status) return status;
  auto lane = made->executor_->lane(made->device_);
  if (!lane) return lane.status();
  made->lane_ = std::move(*lane);
  return made;
}

std::string Memories::gpu() const {
  return executor_ != nullptr ? executor_->devices()[std::size_t(device_)].uuid : std::string();
}

std::string Memories::pci() const {
  return executor_ != nullptr ? executor_->devices()[std::size_t(device_)].pci : std::string();
}

Result<device::Memory> Memories::allocate(bool on_gpu, std::uint64_t bytes) {
  if (on_gpu && emulated_) {
    // The drop-in's, where it is there: it knows no other.
    const auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
    const auto allocate = reinterpret_cast<void* (*)(int, std::size_t)>(find("sennit_emulated_allocate"));
    const auto release = reinterpret_cast<void (*)(void*)>(find("sennit_emulated_free"));
    void* const data = allocate != nullptr ? allocate(device_, bytes) : nullptr;
    if (data != nullptr) return device::Memory(data, bytes, release);
  }
  if (on_gpu) return executor_->allocate(device_, bytes);
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED)
    return Status(Code::out_of_memory, fmt::format("no {} of host memory: {}", format_bytes(bytes), strerror(errno)),
                  {}, "Use smaller --sizes");
  return device::Memory(data, bytes, [bytes](void* at) { munmap(at, bytes); });
}

Result<device::Memory> Memories::allocate_pinned(std::uint64_t bytes) {
  auto memory = executor_->allocate_pinned(bytes);
  if (memory) std::memset(memory->data(), 0, bytes);
  return memory;
}

Result<device::Memory> Memories::allocate_managed(std::uint64_t bytes) {
  if (emulated_ || executor_ == nullptr)
    return Status(Code::unsupported, "there is no managed memory without a GPU", "--buffers managed",
                  "Measure it where GPUs are; emulated ones have none");
  auto memory = executor_->allocate_managed(device_, bytes);
  return memory ? std::move(memory) : std::move(memory).status().in("--buffers managed");
}

Status Memories::begin_copy(void* dst, const void* src, std::uint64_t bytes) {
  if (lane_ != nullptr) return lane_->copy(dst, src, bytes);
  std::memcpy(dst, src, bytes);
  return {};
}

Status Memories::wait() {
  return lane_ != nullptr ? lane_->synchronize() : Status();
}

void* Memories::stream() const {
  return lane_ != nullptr ? lane_->native() : nullptr;
}

Status Memories::copy(void* dst, const void* src, std::uint64_t bytes) {
  auto status = begin_copy(dst, src, bytes);
  return status.ok() ? wait() : status;
}

}  // namespace sennit::bench::mpi
