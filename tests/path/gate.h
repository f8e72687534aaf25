// Holds a lane up until the test lets it go on.
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "device/executor.h"
#include "device/launch.h"

namespace sennit::path {

struct GateProgram {
  static constexpr const char* kName = "gate";
  device::Word* open;

  template <class Block>
  void operator()(Block& block) const {
    (void)block.await(open, 1, 1);
  }
};

class Gate {
 public:
  explicit Gate(device::Executor& executor) : memory_(std::move(*executor.allocate_pinned(64))) {
    std::memset(memory_.data(), 0, 64);
  }
  ~Gate() {
    open();
    for (device::Lane* lane : shut_) (void)lane->synchronize();
  }

  /// What is enqueued on the lane from now on waits for open().
  [[nodiscard]] Status shut(device::Lane& lane) {
    shut_.push_back(&lane);
    return device::launch(lane, GateProgram{word()}, 1);
  }
  void open() { std::atomic_ref(*word()).store(1, std::memory_order_release); }

 private:
  device::Word* word() { return reinterpret_cast<device::Word*>(memory_.data()); }

  device::Memory memory_;
  std::vector<device::Lane*> shut_;  // they must outlive the gate
};

}  // namespace sennit::path
