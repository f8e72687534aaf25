// Bounds what nothing else bounds: calls into a driver that never return.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace sennit::bench::measure {

/// Calls `expired` with a part's name, from a thread of its own and once at most, when the part takes longer than the
/// limit. Starts at rest.
class Watchdog {
 public:
  Watchdog(std::chrono::milliseconds limit, std::function<void(const std::string& what)> expired);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// A part begins; the one before has ended.
  void begin(std::string what);
  void rest();

 private:
  void run();

  const std::chrono::milliseconds limit_;
  const std::function<void(const std::string&)> expired_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::chrono::steady_clock::time_point deadline_{};
  bool watching_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace sennit::bench::measure
