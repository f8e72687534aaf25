#include "bench/collective/rig.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/collective/numbers.h"
#include "comm/bootstrap.h"

namespace sennit::bench::collective {

namespace {

/// Numbers beyond the output that must stay as they were.
constexpr std::uint64_t kMargin = 256;
/// A timed run aims at so long, and has at most so many calls: defaults, long enough that the ranks' different starts
/// do not show.
constexpr double kRunUs = 2000;
constexpr int kMostCalls = 200;

}  // namespace

Result<std::unique_ptr<Rig>> Rig::open(std::shared_ptr<device::Executor> executor, Options options) {
  std::unique_ptr<Rig> rig(new Rig());
  rig->eager_ = options.eager || options.waited;
  rig->waited_ = options.waited;
  rig->skew_us_ = options.skew_us;
  rig->executor_ = std::move(executor);
  auto place = comm::place_from_environment();
  if (!place) return place.status();
  auto exchange =
      place->size == 1 ? Result<std::unique_ptr<comm::Exchange>>(comm::alone()) : comm::meet_over_tcp(*place);
  if (!exchange) return exchange.status();
  auto communicator = plan::Communicator::create(std::move(*exchange), rig->executor_, {});
  if (!communicator) return communicator.status();
  rig->communicator_ = std::move(*communicator);
  rig->communicator_->choose_by(std::move(options.chooser));
  rig->registry_ = std::make_unique<path::Registry>(rig->node());
  auto stream = Stream::open(*rig->executor_, rig->node().device());
  if (!stream) return stream.status();
  rig->stream_ = std::move(*stream);
  // Whole pages, as those of PyTorch's allocator.
  const std::uint64_t room = (options.most_bytes + kMargin + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
  for (device::Memory* memory : {&rig->input_, &rig->output_}) {
    auto made = rig->executor_->allocate(rig->node().device(), room);
    if (!made) return made.status();
    *memory = std::move(*made);
  }
  for (const device::Memory* memory : {&rig->input_, &rig->output_}) {
    if (!options.registered) break;
    auto window = rig->registry_->open(memory->data(), room);
    if (!window) return window.status();
    if (auto status = rig->collectives().use(*window); !status) return status;
    rig->windows_.push_back(std::move(*window));
  }
  // Sets up scratch memory, for the plans to be asked for.
  const coll::Request nothing;
  if (auto status = rig->collectives().call(nothing, rig->stream_->lane()); !status) return status;
  return rig;
}

Result<std::string> Rig::open_nccl(const std::vector<std::string>& versus, const std::string& file) {
  const bool wanted = versus.empty() ? on_gpus() : std::ranges::count(versus, "nccl") > 0;
  if (!wanted) return std::string();
  auto nccl = Nccl::open(node(), file);
  if (nccl.status().code() == Code::peer_lost) return nccl.status();
  if (!nccl)
    return fmt::format("nccl is left out: {}; install it, give --nccl FILE, or --vs none.", nccl.status().what());
  nccl_ = std::move(*nccl);
  return std::string();
}

Result<std::string> Rig::open_nccl_windows() {
  const Status status = nccl_->make_windows(node(), input_.bytes());
  if (status.code() == Code::peer_lost) return status;
  return status.ok() ? std::string() : fmt::format("nccl_windows is left out: {}.", status.what());
}

bool Rig::nccl_can(coll::Operation operation, const device::Reduction& reduction) {
  return Nccl::number_of(reduction.type) >= 0 && (!coll::reduces(operation) || Nccl::number_of(reduction.op) >= 0);
}

Layout Rig::layout(coll::Operation operation, std::uint64_t bytes, device::Type type, bool in_place) const {
  return {operation, bytes, device::bytes_of(type), in_place, node().rank(), node().size()};
}

coll::CallKey Rig::call_key_of(const Layout& layout, const device::Reduction& reduction) const {
  const Way ours{coll::Plan{}, true};
  const coll::Call call{layout.operation,
                        input_of(ours, layout),
                        output_of(ours, layout),
                        layout.planned_bytes(),
                        Layout::kRoot,
                        reduction,
                        {}};
  return coll::call_key_of(layout.operation, reduction, call.bytes, collectives().reaches(call));
}

Status Rig::call(const Way& way, const Layout& layout, const device::Reduction& reduction) {
  const std::uint64_t count = layout.message / device::bytes_of(reduction.type);
  if (!way.plan)
    return nccl_->call({layout.operation, input_of(way, layout), output_of(way, layout), count, reduction.type,
                        reduction.op, Layout::kRoot},
                       stream_->handle());
  coll::Request request;
  request.operation = layout.operation;
  request.input = input_of(way, layout);
  request.output = output_of(way, layout);
  request.reduction = reduction;
  if (coll::has_root(layout.operation)) request.root = Layout::kRoot;
  // The arrays are on the stack: this is within what --eager times.
  std::array<std::uint64_t, coll::kMostRanks> counts{}, places{};
  if (layout.operation == coll::Operation::all_to_all_v) {
    const auto ranks = static_cast<std::size_t>(layout.size);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      counts[rank] = count;
      places[rank] = rank * count;
    }
    request.sent = request.received = std::span(counts).first(ranks);
    request.sent_from = request.received_to = std::span(places).first(ranks);
  } else {
    request.count = count;
  }
  return collectives().call(request, stream_->lane(), way.chosen ? nullptr : &*way.plan);
}

Status Rig::move(void* dst, const void* src, std::uint64_t bytes) {
  if (auto status = stream_->lane().copy(dst, src, bytes); !status) return status;
  return stream_->lane().synchronize();
}

/// Leaves nothing of an earlier call that could be taken for this one's.
Status Rig::spoil(std::byte* data, std::uint64_t bytes) {
  const std::vector<std::byte> nonsense(std::min<std::uint64_t>(bytes, 64 * MiB), std::byte{0xA5});
  for (std::uint64_t at = 0; at < bytes; at += nonsense.size())
    if (auto status = move(data + at, nonsense.data(), std::min<std::uint64_t>(nonsense.size(), bytes - at)); !status)
      return status;
  return {};
}

Status Rig::verify_here(const Way& way, const Layout& layout, const device::Reduction& reduction) {
  const std::vector<std::byte> margin(kMargin, std::byte{0x5A});
  const std::vector<std::byte> mine = given(layout, reduction.type);
  std::byte* const begin = base(way, layout.in_place);
  // The rest of the buffer is input when the call is in place; otherwise nothing at all lies behind the output.
  std::byte* const end = begin + (layout.in_place ? layout.bytes() : layout.taken() * layout.message);
  if (auto status = spoil(begin, layout.bytes()); !status) return status;
  if (auto status = move(input_of(way, layout), mine.data(), mine.size()); !status) return status;
  if (auto status = move(end, margin.data(), kMargin); !status) return status;
  if (auto status = call(way, layout, reduction); !status) return status;
  if (auto status = stream_->lane().synchronize(); !status) return collectives().explain(std::move(status));
  std::vector<std::byte> got(std::max<std::uint64_t>(layout.message, kMargin));
  if (auto status = move(got.data(), end, kMargin); !status) return status;
  if (std::memcmp(got.data(), margin.data(), kMargin) != 0)
    return Status(Code::corrupt, "bytes beyond the output were written");
  for (unsigned index = 0; index < layout.taken(); ++index) {
    if (auto status = move(got.data(), output_of(way, layout) + index * layout.message, layout.message); !status)
      return status;
    const std::vector<std::byte> right = expected(layout, reduction, index);
    for (std::uint64_t at = 0; at < layout.message; at += kPeriod)
      if (!agree(reduction, coll::reduces(layout.operation), got.data() + at, right.data(),
                 std::min(kPeriod, layout.message - at)))
        return Status(Code::corrupt, fmt::format("wrong numbers in message {} within {} from byte {}", index,
                                                 format_bytes(kPeriod), at));
  }
  return {};
}

Status Rig::verify(const Way& way, const Layout& layout, const device::Reduction& reduction) {
  return comm::agree(node().group().exchange(), verify_here(way, layout, reduction), {}).status();
}

/// The largest of every rank's number.
Result<double> Rig::largest(double mine) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &mine, 8);
  auto all = node().group().exchange().all_gather(comm::Writer().number(bits).take());
  if (!all) return all.status();
  double most = 0;
  for (const comm::Bytes& each : *all) {
    comm::Reader reader(each);
    const std::uint64_t theirs = reader.number();
    double number = 0;
    std::memcpy(&number, &theirs, 8);
    most = std::max(most, number);
  }
  return most;
}

Result<double> Rig::run() {
  if (auto status = node().group().exchange().barrier(); !status) return status;
  const bool is_late = node().rank() == node().size() - 1;
  if (skew_us_ > 0 && is_late) {
    const auto start = std::chrono::steady_clock::now();
    const auto late = std::chrono::duration<double, std::micro>(skew_us_);
    while (std::chrono::steady_clock::now() - start < late) {  // a sleep would not be as exact
    }
  }
  auto us = stream_->run();
  if (!us) return collectives().explain(us.status());
  // The time counts from the last rank's start: what others did before does not count.
  auto most = largest(is_late ? *us : *us - skew_us_);
  if (!most) return most.status();
  return std::max(*most, 1e-3);
}

Result<Times> Rig::time(const Way& way, const Layout& layout, const device::Reduction& reduction, double seconds) {
  // Sums grow with every call in place until they overflow, for all ways alike: time does not depend on it.
  Times times;
  times.calls = 4;
  double warm_us = 0, least_us = kRunUs;
  for (int round = 0; round < 3; ++round) {
    const auto once = [&] {
      auto status = call(way, layout, reduction);
      return status.ok() && waited_ ? stream_->lane().synchronize() : status;
    };
    if (auto status = stream_->prepare(once, times.calls, !eager_); !status) return status;
    auto us = run();
    if (!us) return us.status();
    warm_us = *us;
    // The fastest run so far decides: one slow start must not make runs of a few calls, which are mostly a graph's
    // launch.
    least_us = std::min(least_us, std::max(*us / times.calls, 1e-3));
    if (round < 2) times.calls = int(std::clamp(kRunUs / least_us, 1.0, double(kMostCalls)));
  }
  const int runs = int(std::clamp(seconds * 1e6 / (warm_us + 300), 5.0, 100.0));
  std::vector<double> samples, host;
  for (int each = 0; each < runs; ++each) {
    auto us = run();
    if (!us) return us.status();
    samples.push_back(*us / times.calls);
    host.push_back(stream_->host_us() / times.calls);
  }
  auto busiest = largest(measure::summarise(std::move(host)).median_us);
  if (!busiest) return busiest.status();
  times.host_us = *busiest;
  times.summary = measure::summarise(std::move(samples));
  return times;
}

Status Rig::close() {
  for (const auto& window : windows_) {
    collectives().forget(*window);
    if (auto status = registry_->close(window); !status) return status;
  }
  if (auto status = collectives().close(); !status) return status;
  return node().group().exchange().barrier();
}

}  // namespace sennit::bench::collective
