#include "bench/collective/rank.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/collective/layout.h"
#include "bench/collective/nccl.h"
#include "bench/collective/numbers.h"
#include "bench/collective/stream.h"
#include "bench/measure/timing.h"
#include "bench/put/child.h"
#include "coll/collectives.h"
#include "comm/bootstrap.h"
#include "plan/chooser.h"

namespace sennit::bench::collective {

namespace {

/// Numbers beyond the output that must stay as they were.
constexpr std::uint64_t kMargin = 256;
/// Of one timed run: defaults, long enough that the ranks' different starts do not show.
constexpr double kRunUs = 2000;
constexpr int kMostCalls = 200;

/// One way of doing it.
struct Variant {
  std::string name;
  std::optional<coll::Plan> forced;
  bool is_nccl = false;
};

class Rank {
 public:
  explicit Rank(const Options& options) : options_(options) {}

  Status run() {
    if (auto status = meet(); !status) return status;
    if (auto status = open_nccl(); !status) return status;
    const bool reports = node_->rank() == 0;
    const Progress progress(options_.progress && reports);
    long total = 0, done = 0;
    for (const coll::Operation operation : operations_)
      total += long(variants_of(operation).size() * sizes_of(operation).size());
    for (const coll::Operation operation : operations_)
      for (const std::uint64_t bytes : sizes_of(operation))
        for (const Variant& variant : variants_of(operation)) {
          const std::string what =
              fmt::format("{} by {}, {}", coll::name(operation), variant.name, format_bytes(bytes));
          progress.step(done++, total, what);
          const Layout layout(operation, bytes, device::bytes_of(reduction_.type), !options_.out_of_place,
                              node_->rank(), node_->size());
          if (layout.message == 0 && operation != coll::Operation::barrier) {
            if (!variant.forced && !variant.is_nccl)
              warnings_.push_back(fmt::format("{} of {} is left out: no element for every rank; use larger --sizes.",
                                              coll::name(operation), format_bytes(bytes)));
            continue;
          }
          const coll::Plan plan =
              variant.forced ? *variant.forced : collectives_->plan(coll::case_of(operation, reduction_, planned_bytes(layout)));
          if (!variant.is_nccl && coll::most_bytes(operation, plan, collectives_->scratch()->team()) < layout.message)
            continue;
          auto row = measure(variant, plan, layout);
          if (!row) return std::move(row).status().in(what);
          if (reports) rows_.push_back(std::move(*row));
        }
    if (reports) print_outcome();
    if (auto status = collectives_->close(); !status) return status;
    return node_->group().exchange().barrier();
  }

 private:
  Status meet() {
    auto executor = device::open_executor();
    if (!executor) return executor.status();
    executor_ = std::move(*executor);
    auto operations = operations_of(options_);
    auto sizes = collective::sizes_of(options_, executor_->kind() == device::Kind::cuda);
    auto type = device::parse_type(options_.type);
    auto op = device::parse_operator(options_.op);
    for (const Status& status : {operations.status(), sizes.status(), type.status(), op.status()})
      if (!status.ok()) return status;
    sizes_ = std::move(*sizes);
    operations_ = std::move(*operations);
    reduction_ = {*type, *op};
    auto place = comm::place_from_environment();
    if (!place) return place.status();
    auto exchange =
        place->size == 1 ? Result<std::unique_ptr<comm::Exchange>>(comm::alone()) : comm::meet_over_tcp(*place);
    if (!exchange) return exchange.status();
    auto node = path::Node::create(std::move(*exchange), executor_, {});
    if (!node) return node.status();
    node_ = std::move(*node);
    reduction_.ranks = static_cast<std::uint32_t>(node_->size());
    collectives_ = std::make_unique<coll::Collectives>(*node_, std::make_unique<plan::Chooser>());
    auto stream = open_stream(*executor_, node_->device());
    if (!stream) return stream.status();
    stream_ = std::move(*stream);
    // Whole pages, as those of PyTorch's allocator.
    const std::uint64_t room = (std::ranges::max(sizes_) + kMargin + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
    for (device::Memory* memory : {&input_, &output_}) {
      auto made = executor_->allocate(node_->device(), room);
      if (!made) return made.status();
      *memory = std::move(*made);
    }
    // Sets up scratch memory, for the plans to be asked for.
    coll::Request nothing;
    nothing.reduction = reduction_;
    return collectives_->call(nothing, stream_->lane());
  }

  Status open_nccl() {
    const bool gpus = executor_->kind() == device::Kind::cuda;
    const bool wanted = options_.versus.empty() ? gpus : std::ranges::count(options_.versus, "nccl") > 0;
    if (!wanted) return {};
    for (const coll::Operation operation : operations_)
      if (!nccl_can(operation))
        warnings_.push_back(
            fmt::format("nccl is left out of {}: it has no {} of {}; compare with --type float32 --op "
                        "sum.",
                        coll::name(operation), options_.op, options_.type));
    auto nccl = Nccl::open(*node_, options_.nccl);
    if (!nccl && nccl.status().code() == Code::peer_lost) return nccl.status();
    if (nccl) {
      nccl_ = std::move(*nccl);
      versions_["nccl"] = nccl_->version();
    } else {
      warnings_.push_back(
          fmt::format("nccl is left out: {}; install it, give --nccl FILE, or --vs none.", nccl.status().what()));
    }
    return {};
  }

  /// What a call's plan is chosen by.
  static std::uint64_t planned_bytes(const Layout& layout) {
    return layout.operation == coll::Operation::all_to_all_v ? 0 : layout.message;
  }
  bool nccl_can(coll::Operation operation) const {
    return Nccl::number_of(reduction_.type) >= 0 &&
           (!coll::reduces(operation) || Nccl::number_of(reduction_.op) >= 0);
  }
  std::vector<Variant> variants_of(coll::Operation operation) const {
    std::vector<Variant> variants{{"sennit", std::nullopt, false}};
    const auto forced = plans_of(options_, operation);  // the parent has looked at it
    if (forced.ok())
      for (const coll::Plan& plan : *forced) variants.push_back({name(plan), plan, false});
    if (nccl_ != nullptr && nccl_can(operation)) variants.push_back({"nccl", std::nullopt, true});
    return variants;
  }
  std::vector<std::uint64_t> sizes_of(coll::Operation operation) const {
    return operation == coll::Operation::barrier ? std::vector<std::uint64_t>{0} : sizes_;
  }

  std::byte* input_of(const Layout& layout) const { return input_.data() + layout.input_at(); }
  std::byte* output_of(const Layout& layout) const {
    return (layout.in_place ? input_ : output_).data() + layout.output_at();
  }

  Status call(const Variant& variant, const coll::Plan& plan, const Layout& layout) {
    const std::uint64_t count = layout.message / device::bytes_of(reduction_.type);
    if (variant.is_nccl)
      return nccl_->call({layout.operation, input_of(layout), output_of(layout), count, reduction_.type,
                          reduction_.op, Layout::kRoot},
                         stream_->handle());
    coll::Request request;
    request.operation = layout.operation;
    request.input = input_of(layout);
    request.output = output_of(layout);
    request.reduction = reduction_;
    if (coll::has_root(layout.operation)) request.root = Layout::kRoot;
    // On the stack: this is within what --eager times.
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
    return collectives_->call(request, stream_->lane(), &plan);
  }

  Status move(void* dst, const void* src, std::uint64_t bytes) {
    if (auto status = stream_->lane().copy(dst, src, bytes); !status) return status;
    return stream_->lane().synchronize();
  }

  /// Leaves nothing of an earlier call that could be taken for this one's.
  Status spoil(std::byte* data, std::uint64_t bytes) {
    const std::vector<std::byte> nonsense(std::min<std::uint64_t>(bytes, 64 * MiB), std::byte{0xA5});
    for (std::uint64_t at = 0; at < bytes; at += nonsense.size())
      if (auto status = move(data + at, nonsense.data(), std::min<std::uint64_t>(nonsense.size(), bytes - at));
          !status)
        return status;
    return {};
  }

  /// One call on fresh numbers against the host's own reference, and nothing written beyond the buffer.
  Status verify(const Variant& variant, const coll::Plan& plan, const Layout& layout) {
    const std::vector<std::byte> margin(kMargin, std::byte{0x5A});
    const std::vector<std::byte> mine = given(layout, reduction_.type);
    std::byte* const begin = (layout.in_place ? input_ : output_).data();
    // In place the rest of the buffer is input; otherwise nothing at all lies behind the output.
    std::byte* const end = begin + (layout.in_place ? layout.bytes() : layout.taken() * layout.message);
    if (auto status = spoil(begin, layout.bytes()); !status) return status;
    if (auto status = move(input_of(layout), mine.data(), mine.size()); !status) return status;
    if (auto status = move(end, margin.data(), kMargin); !status) return status;
    if (auto status = call(variant, plan, layout); !status) return status;
    if (auto status = stream_->lane().synchronize(); !status) return collectives_->explain(std::move(status));
    std::vector<std::byte> got(std::max<std::uint64_t>(layout.message, kMargin));
    if (auto status = move(got.data(), end, kMargin); !status) return status;
    if (std::memcmp(got.data(), margin.data(), kMargin) != 0)
      return Status(Code::corrupt, "bytes beyond the output were written");
    for (unsigned index = 0; index < layout.taken(); ++index) {
      if (auto status = move(got.data(), output_of(layout) + index * layout.message, layout.message); !status)
        return status;
      const std::vector<std::byte> right = expected(layout, reduction_, index);
      for (std::uint64_t at = 0; at < layout.message; at += kPeriod)
        if (std::memcmp(got.data() + at, right.data(), std::min(kPeriod, layout.message - at)) != 0)
          return Status(Code::corrupt, fmt::format("wrong numbers in message {} within {} from byte {}", index,
                                                   format_bytes(kPeriod), at));
    }
    return {};
  }

  /// The largest of every rank's number.
  Result<double> largest(double mine) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &mine, 8);
    auto all = node_->group().exchange().all_gather(comm::Writer().number(bits).take());
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

  Result<double> run_once(const Variant& variant, const coll::Plan& plan, const Layout& layout, int calls,
                          bool prepare) {
    if (prepare)
      if (auto status = stream_->prepare([&] { return call(variant, plan, layout); }, calls, !options_.eager);
          !status)
        return status;
    if (auto status = node_->group().exchange().barrier(); !status) return status;
    auto us = stream_->run();
    if (!us) return collectives_->explain(us.status());
    return largest(*us);
  }

  Result<Json> measure(const Variant& variant, const coll::Plan& plan, const Layout& layout) {
    auto agreed = comm::agree(node_->group().exchange(), verify(variant, plan, layout), {});
    if (!agreed) return agreed.status();
    // In place, sums grow with every call until they overflow, for all variants alike: time does not depend on it.
    int calls = 4;
    double one_us = 0;
    for (int round = 0; round < 2; ++round) {
      auto us = run_once(variant, plan, layout, calls, true);
      if (!us) return us.status();
      one_us = *us / calls;
      calls = int(std::clamp(kRunUs / std::max(one_us, 1e-3), 1.0, double(kMostCalls)));
    }
    auto warm = run_once(variant, plan, layout, calls, true);
    if (!warm) return warm.status();
    const int runs = int(std::clamp(options_.seconds * 1e6 / (*warm + 300), 5.0, 100.0));
    std::vector<double> samples;
    for (int run = 0; run < runs; ++run) {
      auto us = run_once(variant, plan, layout, calls, false);
      if (!us) return us.status();
      samples.push_back(*us / calls);
    }
    const measure::Summary time = measure::summarise(std::move(samples));
    const double algbw = gigabytes_per_second(layout.bytes(), time.median_us);
    Json row = {{"operation", coll::name(layout.operation)},
                {"variant", variant.name},
                {"bytes", layout.bytes()},
                {"type", options_.type},
                {"operator", options_.op},
                {"ranks", node_->size()},
                {"in_place", layout.in_place},
                {"graph", !options_.eager && executor_->kind() == device::Kind::cuda},
                {"calls", calls},
                {"repetitions", time.repetitions},
                {"median_us", time.median_us},
                {"spread_us", time.spread_us},
                {"min_us", time.min_us},
                {"p95_us", time.p95_us},
                {"gbps", algbw},
                {"busbw_gbps", algbw * layout.bus_factor()},
                {"verified", layout.operation != coll::Operation::barrier}};
    if (!variant.is_nccl) {
      row["plan"] = name(plan);
      row["blocks"] = plan.blocks;
    }
    return row;
  }

  void print_outcome() const {
    std::vector<std::string> models;
    for (const device::DeviceInfo& info : executor_->devices()) models.push_back(info.model);
    put::print_outcome({{"rows", rows_},
                        {"warnings", warnings_},
                        {"versions", versions_},
                        {"devices", models},
                        {"scratch_bytes", collectives_->scratch()->device_bytes()}});
  }

  const Options& options_;
  std::shared_ptr<device::Executor> executor_;
  std::vector<std::uint64_t> sizes_;
  std::vector<coll::Operation> operations_;
  device::Reduction reduction_;
  std::unique_ptr<path::Node> node_;
  std::unique_ptr<coll::Collectives> collectives_;
  device::Memory input_, output_;
  std::unique_ptr<Nccl> nccl_;  // after the stream's graph of its calls: it waits for that
  std::unique_ptr<Stream> stream_;
  Json rows_ = Json::array();
  std::vector<std::string> warnings_;
  std::map<std::string, std::string> versions_;
};

}  // namespace

Result<Exit> run_rank(const Options& options) {
  Rank rank(options);
  if (auto status = rank.run(); !status) return status;
  return Exit::ok;
}

}  // namespace sennit::bench::collective
