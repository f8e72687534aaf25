#include "msg/batched_copy.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "device/host/block.h"
#include "device/host/load.h"
#include "device/launch.h"

namespace sennit::msg {

namespace {

/// Measured on 2 × H200, µs and bytes a µs; of engines copies that follow each other, whose completions are signalled
/// together.
constexpr double kEngine = 7.4, kEachMore = 3.3, kLink = 330e3, kEngineLink = 380e3;
constexpr double kKernel = 11, kBlock = 47e3;

/// A launch that has begun is looked at so often: a default. A look takes the driver a microsecond.
constexpr std::chrono::milliseconds kLook{1};

}  // namespace

bool BatchedCopy::pays(std::span<const Copy> copies) {
  if (copies.size() < 2 || copies.size() > BatchedCopyKernel::kMost) return false;
  std::uint64_t longest = 0, all = 0;
  for (const Copy& one : copies) {
    longest = std::max(longest, one.bytes);
    all += one.bytes;
  }
  if (longest > kLongest) return false;
  const double engines = kEngine + kEachMore * double(copies.size() - 1) + double(all) / kEngineLink;
  return kKernel + std::max(double(longest) / kBlock, double(all) / kLink) < engines;
}

BatchedCopy::~BatchedCopy() {
  for (const auto& lane : lanes_)
    if (lane != nullptr) (void)lane->synchronize();  // blocks that have not begun still look at their sheets
}

Status BatchedCopy::set_up() {
  if (engine_ != nullptr) return {};
  const device::SetUp set_up(&executor_);
  if (auto status = executor_.load(device::program_of<BatchedCopyKernel>(), device_); !status) return status;
  auto memory = executor_.allocate_pinned(kSheets * sizeof(BatchedCopyKernel::Sheet));
  if (!memory) return memory.status();
  memory_ = std::move(*memory);
  for (auto& lane : lanes_) {
    auto made = executor_.lane(device_);
    if (!made) return made.status();
    lane = std::move(*made);
  }
  auto engine = executor_.lane(device_);
  if (!engine) return engine.status();
  for (std::size_t i = 0; i < kSheets; ++i)
    free_.push_back(new (memory_.data() + i * sizeof(BatchedCopyKernel::Sheet)) BatchedCopyKernel::Sheet);
  engine_ = std::move(*engine);
  return {};
}

BatchedCopyKernel::Sheet* BatchedCopy::take_sheet() {
  if (free_.empty() && !doubtful_.empty()) {
    const auto is_idle = [](const std::unique_ptr<device::Lane>& lane) {
      const auto idle = lane->idle();
      return idle.ok() && *idle;
    };
    if (std::ranges::all_of(lanes_, is_idle)) std::swap(free_, doubtful_);
  }
  if (free_.empty()) return nullptr;
  BatchedCopyKernel::Sheet* const sheet = free_.back();
  free_.pop_back();
  return sheet;
}

void BatchedCopy::give_back(BatchedCopyKernel::Sheet* sheet, bool over) {
  const std::lock_guard lock(mutex_);
  (over ? free_ : doubtful_).push_back(sheet);
}

std::uint64_t BatchedCopy::taken_back() const {
  const std::lock_guard lock(mutex_);
  return taken_back_;
}

Result<std::shared_ptr<BatchedCopy::Launch>> BatchedCopy::begin(std::span<const Copy> copies) {
  using None = std::shared_ptr<Launch>;
  if (!pays(copies)) return None();
  const std::lock_guard lock(mutex_);
  if (of_no_use_) return None();
  if (skip_ > 0) {
    --skip_;
    return None();
  }
  if (auto status = set_up(); !status) {
    of_no_use_ = true;
    return status;
  }
  BatchedCopyKernel::Sheet* const sheet = take_sheet();
  if (sheet == nullptr) return None();
  BatchedCopyKernel program;
  program.sheet = sheet;
  program.number = ++number_;
  std::ranges::copy(copies, program.copies);
  device::Lane* const lane = lanes_[next_lane_++ % kLanes].get();
  if (auto status = device::launch(*lane, program, static_cast<unsigned>(copies.size())); !status) {
    free_.push_back(sheet);
    return status;
  }
  std::shared_ptr<Launch> launch(new Launch(*this));
  launch->copies_.assign(copies.begin(), copies.end());
  launch->lane_ = lane;
  launch->sheet_ = sheet;
  launch->number_ = program.number;
  launch->since_ = launch->looked_ = Clock::now();
  return launch;
}

BatchedCopy::Launch::~Launch() {
  by_.give_back(sheet_, !taken_back_ && all_begun());
}

bool BatchedCopy::Launch::begun(std::size_t copy) const {
  return device::reached(device::load_acquire(&sheet_->begun[copy]), number_);
}

bool BatchedCopy::Launch::all_begun() const {
  for (std::size_t i = 0; i < copies_.size(); ++i)
    if (!begun(i)) return false;
  return true;
}

Status BatchedCopy::Launch::look() {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (now - looked_ > kLook) {
    looked_ = now;
    if (auto idle = lane_->idle(); !idle) return idle.status();
  }
  if (!seen_begun_ && !taken_back_ && now - since_ > by_.patience_) {
    seen_begun_ = all_begun();
    if (!seen_begun_) {
      taken_back_ = true;
      for (std::size_t i = 0; i < copies_.size(); ++i) left_.push_back(i);
      const std::lock_guard of_all(by_.mutex_);
      by_.skip_ = kAfterLate;
      ++by_.taken_back_;
    }
  }
  return left_.empty() ? Status() : give_to_engines();
}

Status BatchedCopy::Launch::give_to_engines() {
  device::HostBlock host(0, 1, {});
  std::vector<std::size_t> given;
  std::erase_if(left_, [&](std::size_t i) {
    if (device::reached(device::load_acquire(copies_[i].completion), copies_[i].value)) return true;
    // The block has not begun: it will see this, and decline.
    const bool ours = !host.meet(&sheet_->taken_back, number_, &sheet_->begun[i]) ||
                      device::reached(device::load_acquire(&sheet_->declined[i]), number_);
    if (ours) given.push_back(i);
    return ours;
  });
  for (const std::size_t i : given)
    if (auto status = by_.engine_->copy(copies_[i].to, copies_[i].from, copies_[i].bytes); !status) return status;
  for (const std::size_t i : given)
    if (auto status = by_.engine_->signal(copies_[i].completion, copies_[i].value); !status) return status;
  return {};
}

}  // namespace sennit::msg
