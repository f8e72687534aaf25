// The host executor with one broken path: copies between two devices lie, fail, or never end.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/executor.h"

namespace sennit::bench::measure {

enum class Fault {
  wrong_byte,    ///< one byte of every copy differs
  lost,          ///< the copy reports success and does nothing
  beyond,        ///< one byte more than asked is written
  never_ends,    ///< the lane of the copy is never idle again
  device_error,  ///< the copy cannot be enqueued
};

/// Copies from memory of device `from` to memory of device `to` (-1: pinned) suffer the fault.
struct Broken {
  int from = 0, to = 1;
  Fault fault = Fault::wrong_byte;
};

class FaultyLane final : public device::Lane {
 public:
  FaultyLane(std::unique_ptr<device::Lane> real, device::Executor& executor, std::vector<Broken> broken)
      : real_(std::move(real)), executor_(executor), broken_(std::move(broken)) {}

  int device() const override { return real_->device(); }
  device::Queue queue() override { return real_->queue(); }
  Status copy(void* dst, const void* src, std::uint64_t bytes) override {
    const auto to = executor_.describe(dst), from = executor_.describe(src);
    for (const Broken& one : broken_) {
      if (!to || !from || from->device != one.from || to->device != one.to) continue;
      switch (one.fault) {
        case Fault::lost: return {};
        case Fault::device_error: return Status(Code::device_error, "the bus is on fire", {}, "Put it out");
        case Fault::never_ends: hangs_ = true; return {};
        case Fault::beyond:
          if (auto status = real_->copy(dst, src, bytes); !status) return status;
          return smudge(static_cast<std::byte*>(dst) + bytes);
        case Fault::wrong_byte:
          if (auto status = real_->copy(dst, src, bytes); !status) return status;
          return smudge(static_cast<std::byte*>(dst) + bytes / 2);
      }
    }
    return real_->copy(dst, src, bytes);
  }
  Status post(device::Word* there, const device::Word* here) override { return real_->post(there, here); }
  Status signal(device::Word* there, device::Word value) override { return real_->signal(there, value); }
  Status launch(const device::Program& program, const void* arguments, unsigned blocks, unsigned threads) override {
    return real_->launch(program, arguments, blocks, threads);
  }
  Status record(device::Event& event) override { return real_->record(event); }
  Status wait(device::Event& event) override { return real_->wait(event); }
  Status synchronize() override { return real_->synchronize(); }
  Result<bool> idle() override {
    if (hangs_) return false;
    return real_->idle();
  }

 private:
  Status smudge(std::byte* at) {
    if (auto status = real_->synchronize(); !status) return status;
    *at = ~*at;
    return {};
  }

  std::unique_ptr<device::Lane> real_;
  device::Executor& executor_;
  std::vector<Broken> broken_;
  bool hangs_ = false;
};

class FaultyExecutor final : public device::Executor {
 public:
  FaultyExecutor(std::shared_ptr<device::Executor> real, std::vector<Broken> broken)
      : real_(std::move(real)), broken_(std::move(broken)) {}

  device::Kind kind() const override { return real_->kind(); }
  const std::vector<device::DeviceInfo>& devices() const override { return real_->devices(); }
  Result<device::Memory> allocate(int device, std::size_t bytes) override {
    if (bytes > most_bytes) return Status(Code::out_of_memory, "too much was asked");
    return real_->allocate(device, bytes);
  }
  Result<device::Memory> allocate_pinned(std::size_t bytes) override { return real_->allocate_pinned(bytes); }
  Result<device::Memory> pin(void* data, std::size_t bytes) override { return real_->pin(data, bytes); }
  using Executor::describe;
  using Executor::share;
  Result<device::Location> describe(const void* pointer, std::uint64_t bytes) override {
    return real_->describe(pointer, bytes);
  }
  std::optional<int> holder(const void* pointer) override { return real_->holder(pointer); }
  bool reaches(int device, int peer) override { return peers && real_->reaches(device, peer); }
  Result<device::Shareable> share(const void* pointer, std::uint64_t bytes) override {
    return real_->share(pointer, bytes);
  }
  Result<device::Memory> map(const device::Shareable& shareable, int device) override {
    return real_->map(shareable, device);
  }
  Result<std::unique_ptr<device::Lane>> lane(int device) override {
    auto lane = real_->lane(device);
    if (!lane) return lane;
    return std::unique_ptr<device::Lane>(new FaultyLane(std::move(*lane), *real_, broken_));
  }
  Result<std::unique_ptr<device::Lane>> adopt(int device, void* stream) override {
    return real_->adopt(device, stream);
  }
  Result<std::unique_ptr<device::Event>> event(int device, bool timing) override {
    return real_->event(device, timing);
  }
  unsigned concurrent_blocks(int device) const override { return real_->concurrent_blocks(device); }
  void set_timeout(std::chrono::nanoseconds timeout) override { real_->set_timeout(timeout); }
  void abort() override { real_->abort(); }
  Status fault() const override { return real_->fault(); }

  bool peers = true;
  std::size_t most_bytes = ~std::size_t{0};

 private:
  std::shared_ptr<device::Executor> real_;
  std::vector<Broken> broken_;
};

/// A host executor of SENNIT_HOST_DEVICES devices, broken so.
inline std::shared_ptr<FaultyExecutor> faulty(std::vector<Broken> broken = {}) {
  return std::make_shared<FaultyExecutor>(*device::open_host_executor(), std::move(broken));
}

}  // namespace sennit::bench::measure
