#include "path/split_plans.h"

#include <algorithm>

#include <fmt/format.h>

#include "node/device_ids.h"

namespace sennit::path {

namespace {

/// Plans kept before the table starts afresh: a limit for programs whose every message has another size.
constexpr std::size_t kMostPlans = 4096;
const char* const kNotInMachine = "the machine document does not know this device";

}  // namespace

SplitPlans::SplitPlans(std::shared_ptr<device::Executor> executor, machine::Machine machine, Options options)
    : executor_(std::move(executor)), machine_(std::move(machine)), options_(std::move(options)) {}

Result<std::unique_ptr<SplitPlans>> SplitPlans::create(std::shared_ptr<device::Executor> executor,
                                                       machine::Machine machine, Options options) {
  std::unique_ptr<SplitPlans> made(new SplitPlans(std::move(executor), std::move(machine), std::move(options)));
  auto ids = node::device_ids(*made->executor_, made->machine_);
  if (!ids) return ids.status();
  made->ids_ = std::move(*ids);
  for (const machine::Device& device : made->machine_.devices) {
    if (device.kind == machine::DeviceKind::host && made->host_id_.empty()) made->host_id_ = device.id;
    if (device.kind == machine::DeviceKind::gpu && std::ranges::find(made->ids_, device.id) == made->ids_.end())
      made->absent_.push_back(device.id);
  }
  if (auto status = check_forced(made->machine_, made->options_.forced); !status) return status;
  return made;
}

std::string SplitPlans::id_of(int device) const {
  if (device == kHost) return host_id_;
  return device >= 0 && device < static_cast<int>(ids_.size()) ? ids_[static_cast<std::size_t>(device)]
                                                               : std::string();
}

void SplitPlans::force(NamedShares shares) {
  const std::lock_guard lock(mutex_);
  options_.forced = std::move(shares);
  for (auto& row : least_split_)
    for (auto& kept : row) kept.store(0, std::memory_order_relaxed);
  plans_.clear();
}

Result<Split> SplitPlans::split_of(int dst_device, int src_device, std::uint64_t bytes, Circumstances circumstances) {
  const std::string from = id_of(src_device);
  const std::string to = id_of(dst_device);
  if (from.empty() || to.empty())
    return Status(Code::not_found, kNotInMachine, fmt::format("device {}", from.empty() ? src_device : dst_device),
                  "Measure this machine: sennit topo --measure");
  SplitOptions options;
  options.engines_only = circumstances.engines_only;
  options.both_ways = circumstances.both_ways;
  options.tuned = options_.tuned.get();
  options.absent = absent_;
  {
    const std::lock_guard lock(mutex_);
    options.forced = options_.forced;
  }
  return split(machine_, from, to, bytes, options);
}

std::shared_ptr<const SplitPlan> SplitPlans::plan(int dst_device, int src_device, std::uint64_t bytes,
                                                  Circumstances circumstances) {
  const std::tuple key(dst_device, src_device, bytes, circumstances.both_ways, circumstances.engines_only);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  enable_access(dst_device, src_device);
  auto made = std::make_shared<SplitPlan>();
  if (dst_device != src_device && several_paths()) {
    auto computed = split_of(dst_device, src_device, bytes, circumstances);
    if (computed.ok()) made->split = std::move(*computed);
    const std::lock_guard lock(mutex_);
    made->forced = !options_.forced.empty();
  }
  for (const Share& share : made->split.shares) {
    made->names.push_back(share.candidate.route.name());
    std::vector<int>& stops = made->stops.emplace_back();
    for (const std::string& id : share.candidate.route.stops) {
      const auto at = std::find(ids_.begin(), ids_.end(), id);
      stops.push_back(at == ids_.end() ? kHost : static_cast<int>(at - ids_.begin()));
    }
    // The ends are the caller's word, also when both are host memory of different nodes.
    stops.front() = src_device;
    stops.back() = dst_device;
  }
  const std::lock_guard lock(mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  return plans_.emplace(key, std::move(made)).first->second;
}

bool SplitPlans::several_paths() {
  const std::lock_guard lock(mutex_);
  return !options_.single || !options_.forced.empty();
}

void SplitPlans::enable_access(int dst_device, int src_device) {
  if (dst_device == kHost || src_device == kHost || dst_device == src_device) return;
  const device::SetUp set_up(executor_.get());  // the first message may be one that is captured
  (void)executor_->reaches(src_device, dst_device);
  (void)executor_->reaches(dst_device, src_device);
}

std::uint64_t SplitPlans::least_split(int dst_device, int src_device) {
  static_assert(kHost == -1);  // and comes first in the table
  if (dst_device < kHost || src_device < kHost || dst_device >= kMostDevices || src_device >= kMostDevices) return 0;
  const auto row = static_cast<std::size_t>(src_device - kHost),
             column = static_cast<std::size_t>(dst_device - kHost);
  auto& kept = least_split_[row][column];
  if (const std::uint64_t known = kept.load(std::memory_order_relaxed); known != 0) return known;
  enable_access(dst_device, src_device);
  const std::lock_guard lock(mutex_);
  if (options_.single && options_.forced.empty()) return kept = ~std::uint64_t{0};
  std::uint64_t least = 0;
  if (options_.tuned != nullptr && options_.forced.empty())
    least = options_.tuned->least_split(id_of(src_device), id_of(dst_device));
  return kept = std::max<std::uint64_t>(least, 1);  // no message is smaller than that
}

void SplitPlans::prepare(int dst_device, int src_device, std::uint64_t bytes) {
  for (const bool both_ways : {false, true}) (void)plan(dst_device, src_device, bytes, {both_ways, false});
}

}  // namespace sennit::path
