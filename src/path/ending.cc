#include "path/ending.h"

namespace sennit::path {

Ending::~Ending() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (waiting_.joinable()) waiting_.join();
}

void Ending::begin(const Status& why) {
  if (patience_.count() == 0 || why.code() != Code::peer_lost) return executor_->abort();
  waiting_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience_, [this] { return over_; })) executor_->abort();
  });
}

}  // namespace sennit::path
