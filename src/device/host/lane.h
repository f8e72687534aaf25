// Implements a lane of the host executor: a thread that works through a queue in order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "device/block.h"
#include "device/lane.h"

namespace sennit::device {

/// Holds what launches of one executor share: the bound of their waits, the abort flag, the first fault.
struct HostLimits {
  std::mutex mutex;
  Limits limits;
  Word abort = 0;
  Fault fault{};
  Word sequence = 0;

  Limits next();  ///< limits for one launch, with its sequence number
};

class HostEvent final : public Event {
 public:
  Result<bool> done() override;
  Result<double> since(Event& start) override;

 private:
  friend class HostLane;

  /// Shared with the lanes that still have to pass or wait: an event may be destroyed before they get there.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t recorded = 0;
    std::uint64_t passed = 0;
    std::chrono::steady_clock::time_point passed_at{};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class HostLane final : public Lane {
 public:
  HostLane(int device, std::shared_ptr<HostLimits> limits);
  ~HostLane() override;

  int device() const override { return device_; }
  Queue queue() override { return {0, stream_, stream_}; }
  Status copy(void* dst, const void* src, std::uint64_t bytes) override;
  Status post(Word* there, const Word* here) override;
  Status signal(Word* there, Word value) override;
  Status launch(const Program& program, const void* arguments, unsigned blocks, unsigned) override;
  Status record(Event& event) override;
  Status wait(Event& event) override;
  Status synchronize() override;
  Result<bool> idle() override;

 private:
  void push(std::function<void()> work);
  void run();

  const int device_;
  const std::uint64_t stream_;
  const std::shared_ptr<HostLimits> limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sennit::device
