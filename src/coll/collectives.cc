#include "coll/collectives.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/environment.h"
#include "base/units.h"
#include "coll/allreduce_alone.h"
#include "coll/allreduce_choice.h"
#include "device/launch.h"
#include "device/mapped.h"

namespace sennit::coll {

namespace {

constexpr std::string_view kAllreduce = "allreduce";

Status check_apart(const void* input, const void* output, std::uint64_t bytes) {
  const auto in = reinterpret_cast<std::uintptr_t>(input), out = reinterpret_cast<std::uintptr_t>(output);
  if (in == out || in >= out + bytes || out >= in + bytes) return {};
  return Status(Code::invalid_argument, "input and output overlap without being the same", {},
                "Reduce in place (the same address), or into another buffer");
}

}  // namespace

Status Collectives::check_memory(const void* data, std::uint64_t bytes, device::Access access) {
  device::Executor& executor = node_.executor();
  // A glance is enough for what GPUs reach; what it does not know deserves a name.
  if (executor.kind() == device::Kind::cuda && executor.holder(data)) return {};
  auto location = executor.describe(data, bytes);
  if (!location) return location.status();
  const bool reachable = location->place != device::Place::pageable;
  if (!reachable && executor.kind() == device::Kind::cuda)
    return Status(Code::invalid_argument, fmt::format("{} is pageable host memory, which kernels cannot reach", data),
                  {}, "Pass GPU memory, or pinned or managed host memory");
  const bool known = location->bytes != 0;
  const auto before =
      known ? static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location->base) : std::uint64_t{0};
  if (known ? bytes > location->bytes - before : !device::is_usable(data, bytes, access))
    return Status(Code::invalid_argument,
                  fmt::format("{} from {} reach beyond the memory there", format_bytes(bytes), data), {},
                  "Check the count and the type");
  return {};
}

Status Collectives::prepare(device::Lane& lane) {
  if (scratch_ == nullptr) {
    auto bytes = parse_bytes(environment("SENNIT_SCRATCH"));
    Status status = bytes.status();
    if (!status.ok()) status = std::move(status).in("SENNIT_SCRATCH");
    if (status.ok()) status = load_allreduce(node_.executor(), node_.device());
    // The lowest rank's size counts: each has an environment of its own.
    auto sizes = comm::agree(node_.group().exchange(), status, comm::Writer().number(bytes ? *bytes : 0).take());
    if (!sizes) return sizes.status();
    comm::Reader first(sizes->front());
    auto scratch = Scratch::create(node_, first.number());
    if (!scratch) return scratch.status();
    scratch_ = std::move(*scratch);
  }
  if (last_ == nullptr) {
    const device::SetUp set_up(&node_.executor());
    auto event = node_.executor().event(lane.device());
    if (!event) return event.status();
    last_ = std::move(*event);
  }
  return {};
}

Status Collectives::take_turn(device::Lane& lane) {
  // A capture is ordered by its own stream; what was enqueued outside of it cannot be waited for inside.
  if (last_stream_ == 0 || last_stream_ == lane.stream() || lane.capturing()) return {};
  return lane.wait(*last_);
}

Status Collectives::end_turn(device::Lane& lane) {
  if (lane.capturing()) return {};
  last_stream_ = lane.stream();
  return lane.record(*last_);
}

AllreducePlan Collectives::plan_allreduce(std::uint64_t bytes) const {
  return choose_allreduce(scratch_->team(), bytes, node_.executor().kind());
}

Status Collectives::allreduce(const void* input, void* output, std::uint64_t count, device::Reduction reduction,
                              device::Lane& lane, const AllreducePlan* forced) {
  if (auto status = node_.check(); !status) return status;
  if (!device::supports(reduction.type, reduction.op))
    return Status(Code::invalid_argument,
                  fmt::format("{} is not for {}", device::name(reduction.op), device::name(reduction.type)), {},
                  "Bit and logical operators are for integers");
  const std::uint64_t width = device::bytes_of(reduction.type);
  if (count > ~std::uint64_t{0} / width)
    return Status(Code::invalid_argument, fmt::format("{} numbers are more than any memory holds", count));
  const std::uint64_t bytes = count * width;
  if (bytes != 0) {
    if (input == nullptr || output == nullptr)
      return Status(Code::invalid_argument, input == nullptr ? "input is null" : "output is null", {},
                    "Pass the address of an allocation");
    if (auto status = input == output ? Status() : check_memory(input, bytes, device::Access::read); !status)
      return std::move(status).in("input");
    if (auto status = check_memory(output, bytes, device::Access::write); !status)
      return std::move(status).in("output");
    if (auto status = check_apart(input, output, bytes); !status) return status;
  }
  reduction.ranks = static_cast<std::uint32_t>(node_.size());
  const AllreduceCall call{static_cast<const std::byte*>(input), static_cast<std::byte*>(output), bytes, reduction};

  const std::lock_guard lock(mutex_);
  if (node_.size() == 1) return allreduce_alone(call, lane);
  if (auto status = prepare(lane); !status) return status;
  if (bytes == 0) return {};
  node_.group().note(kAllreduce, calls_.fetch_add(1, std::memory_order_relaxed) + 1, -1, bytes);
  const AllreducePlan plan = forced != nullptr ? *forced : plan_allreduce(bytes);
  if (plan.algorithm == Allreduce::copy_engines && engines_ == nullptr) {
    const device::SetUp set_up(&node_.executor());
    auto engines = CopyEngines::create(node_.executor(), lane.device(), scratch_->team());
    if (!engines) return engines.status();
    engines_ = std::move(*engines);
  }
  if (auto status = take_turn(lane); !status) return status;
  if (auto status = launch(plan, call, scratch_->team(), engines_.get(), lane); !status) return status;
  return end_turn(lane);
}

Status Collectives::explain(Status status) {
  comm::Group& group = node_.group();
  // Without the mutex: who asks how things stand must not wait for a call that another thread makes.
  const std::uint64_t calls = calls_.load(std::memory_order_relaxed);
  if (status.code() != Code::timed_out || calls == 0 || group.failed()) return status;
  std::vector<std::string> missing;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank()) continue;
    const comm::Operation last = group.last_operation(rank);
    if (last.name == kAllreduce && last.sequence >= calls) continue;
    missing.push_back(last.name.empty()
                          ? fmt::format("rank {} (which has called nothing)", rank)
                          : fmt::format("rank {} (last seen in {} {})", rank, last.name, last.sequence));
  }
  if (!missing.empty())
    status =
        Status(Code::timed_out,
               fmt::format("{} {} waited longer than its limit for {}", kAllreduce, calls, fmt::join(missing, ", ")),
               std::string(status.where()),
               "Every rank must make the same collective calls; see where that one is, or raise SENNIT_TIMEOUT");
  group.abort(status);
  return status;
}

Status Collectives::close() {
  const std::lock_guard lock(mutex_);
  return scratch_ != nullptr ? scratch_->close() : Status();
}

}  // namespace sennit::coll
