// How kernels end that wait for ranks of a group that has failed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/status.h"
#include "device/executor.h"

namespace sennit::path {

class Ending {
 public:
  /// `patience`: how long kernels may go on after a rank was lost. An abort, which somebody wanted, ends them at
  /// once.
  Ending(std::shared_ptr<device::Executor> executor, std::chrono::milliseconds patience)
      : executor_(std::move(executor)), patience_(patience) {}
  /// What has not been ended by now, is not.
  ~Ending();

  /// Once, with what the group failed of. Does not block.
  void begin(const Status& why);

 private:
  const std::shared_ptr<device::Executor> executor_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread waiting_;
};

}  // namespace sennit::path
