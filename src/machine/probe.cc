#include "machine/probe.h"

#include <new>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "base/thread.h"

namespace sennit::machine {

void Probe::end() {
  if (!thread_) return;
  auto thread = std::move(thread_);
  if (::getpid() == owner_)
    thread->join();
  else
    (void)thread.release();
}

void Probe::begin() {
  std::call_once(begun_, [this] {
    auto thread = std::make_unique<std::thread>();
    auto started = start_thread([this] {
      ::pthread_setname_np(::pthread_self(), "sennit-probe");
      try {
        const std::lock_guard lock(mutex_);
        look_at_gpus();
      } catch (const std::bad_alloc&) {  // whoever asks reads again
      }
    });
    if (!started) return;
    owner_ = ::getpid();
    *thread = std::move(*started);
    thread_ = std::move(thread);
  });
}

std::shared_ptr<const Readings> Probe::readings() {
  const std::lock_guard lock(mutex_);
  if (found_ != nullptr) return found_;
  look_at_gpus();
  auto readings = std::make_shared<Readings>(read_rest_());
  readings->nvml = *std::exchange(gpus_, std::nullopt);
  if (!readings->nvml.gpus.empty()) found_ = readings;
  return readings;
}

void Probe::look_at_gpus() {
  if (found_ == nullptr && !gpus_) gpus_ = read_gpus_();
}

}  // namespace sennit::machine
