#include "shim/nccl/trial.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::shim::nccl {

namespace {

/// Calls of each way at a size, of which the first are not counted: a default.
constexpr int kRounds = 7, kWarmUp = 2;
/// Rails have to take less than this part of NCCL's time: a default, as runs differ by some percent.
constexpr double kLess = 0.95;

/// What a rank gives as number `i`. Sums are whole numbers that a float has.
float trial_value(int rank, std::uint64_t i) {
  return static_cast<float>(static_cast<std::uint64_t>(rank) + i % 251);
}

Status wait_for(device::Event& event, path::Node& node) {
  const auto limit = comm::wait_limit();
  if (!limit) return limit.status();
  const auto deadline = comm::Deadline::after(*limit);
  for (;;) {
    const auto done = event.done();
    if (!done) return done.status();
    if (*done) return {};
    if (auto status = node.check(); !status) return status;
    if (deadline.passed())
      return Status(Code::timed_out, "a trial call of a new communicator does not end", {}, "Unset SENNIT_RAILS");
    std::this_thread::yield();
  }
}

class Trial {
 public:
  Trial(comm::Exchange& all, path::Node& node) : all_(all), node_(node) {}

  Status prepare(std::uint64_t bytes) {
    device::Executor& executor = node_.executor();
    auto input = executor.allocate(node_.device(), bytes), output = executor.allocate(node_.device(), bytes);
    auto start = executor.event(node_.device(), true), end = executor.event(node_.device(), true);
    for (const Status& status : {input.status(), output.status(), start.status(), end.status()})
      if (!status.ok()) return status;
    input_ = std::move(*input);
    output_ = std::move(*output);
    start_ = std::move(*start);
    end_ = std::move(*end);
    std::vector<float> numbers(bytes / sizeof(float));
    for (std::uint64_t i = 0; i < numbers.size(); ++i) numbers[i] = trial_value(all_.rank(), i);
    if (auto status = node_.lane().copy(input_.data(), numbers.data(), bytes); !status) return status;
    return finish();
  }

  Status verify(const Enqueued& way, std::uint64_t bytes) {
    auto status = way(input_.data(), output_.data(), bytes);
    std::vector<float> numbers(bytes / sizeof(float));
    if (status.ok()) status = finish();
    if (status.ok()) status = node_.lane().copy(numbers.data(), output_.data(), bytes);
    if (status.ok()) status = finish();
    if (!status) return status;
    const float first = trial_value(0, 0) + trial_value(all_.size() - 1, 0);  // an even row from rank to rank
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      const float sum = static_cast<float>(all_.size()) * (first / 2 + trial_value(0, i));
      if (numbers[i] != sum)
        return Status(Code::corrupt,
                      fmt::format("number {} of {} is {} and should be {}", i, format_bytes(bytes), numbers[i], sum));
    }
    return {};
  }

  Result<double> time(const Enqueued& way, std::uint64_t bytes) {
    auto status = node_.lane().record(*start_);
    if (status.ok()) status = way(input_.data(), output_.data(), bytes);
    if (status.ok()) status = finish();
    if (!status) return status;
    return end_->since(*start_);
  }

 private:
  Status finish() {
    auto status = node_.lane().record(*end_);
    return status.ok() ? wait_for(*end_, node_) : status;
  }

  comm::Exchange& all_;
  path::Node& node_;
  device::Memory input_, output_;
  std::unique_ptr<device::Event> start_, end_;
};

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

bool by_rails(std::span<const Tried> tried, std::uint64_t bytes) {
  const auto faster = [](const Tried& one) { return one.rails_us < one.nccl_us * kLess; };
  const auto above = std::ranges::find_if(tried, [bytes](const Tried& one) { return one.bytes >= bytes; });
  if (above != tried.end() && above->bytes == bytes) return faster(*above);
  if (above == tried.begin()) return false;
  return faster(*(above - 1)) && (above == tried.end() || faster(*above));
}

Result<std::vector<Tried>> try_out(comm::Exchange& all, path::Node& node, const Enqueued& nccl, const Enqueued& rails,
                                   std::span<const std::uint64_t> sizes) {
  auto trial = std::make_unique<Trial>(all, node);
  if (auto agreed = comm::agree(all, trial->prepare(std::ranges::max(sizes)), {}); !agreed) return agreed.status();
  // What does not end still uses the memory, which then stays: CUDA would wait before it frees it.
  const auto keep = [&trial](const Status& why) {
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::unique_ptr<Trial>>();
    const std::lock_guard lock(mutex);
    if (why.code() != Code::corrupt) kept->push_back(std::move(trial));  // a wrong sum has ended
    return why;
  };
  std::vector<Tried> tried;
  for (const std::uint64_t bytes : sizes) {
    if (auto agreed = comm::agree(all, trial->verify(rails, bytes), {}); !agreed) return keep(agreed.status());
    std::vector<double> of_nccl, of_rails;
    Status status;
    for (int round = 0; round < kRounds && status.ok(); ++round) {
      const auto first = trial->time(nccl, bytes);
      status = first.status();
      if (!status) break;
      const auto second = trial->time(rails, bytes);
      status = second.status();
      if (!status || round < kWarmUp) continue;
      of_nccl.push_back(*first);
      of_rails.push_back(*second);
    }
    comm::Writer mine;
    if (status.ok())
      mine.number(std::bit_cast<std::uint64_t>(median(of_nccl)))
          .number(std::bit_cast<std::uint64_t>(median(of_rails)));
    const auto times = comm::agree(all, status, mine.take());
    if (!times) return keep(times.status());
    Tried slowest;
    slowest.bytes = bytes;
    for (const comm::Bytes& each : *times) {
      comm::Reader reader(each);
      slowest.nccl_us = std::max(slowest.nccl_us, std::bit_cast<double>(reader.number()));
      slowest.rails_us = std::max(slowest.rails_us, std::bit_cast<double>(reader.number()));
      if (status = reader.finish(); !status) return status;
    }
    tried.push_back(slowest);
  }
  return tried;
}

}  // namespace sennit::shim::nccl
