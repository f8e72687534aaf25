#include "bench/allreduce/rank.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/allreduce/nccl.h"
#include "bench/allreduce/stream.h"
#include "bench/measure/timing.h"
#include "coll/collectives.h"
#include "comm/bootstrap.h"

namespace sennit::bench::allreduce {

namespace {

/// Numbers beyond the output that must stay as they were.
constexpr std::uint64_t kMargin = 256;
/// Of one timed run: defaults, long enough that the ranks' different starts do not show.
constexpr double kRunUs = 2000;
constexpr int kMostCalls = 200;

/// One way of doing it.
struct Variant {
  std::string name;
  std::optional<coll::AllreducePlan> forced;
  bool is_nccl = false;
};

class Rank {
 public:
  explicit Rank(const Options& options) : options_(options) {}

  Status run() {
    if (auto status = meet(); !status) return status;
    if (auto status = choose_variants(); !status) return status;
    const bool reports = node_->rank() == 0;
    const Progress progress(options_.progress && reports);
    const long total = long(sizes_.size() * variants_.size());
    long done = 0;
    for (const std::uint64_t bytes : sizes_)
      for (const Variant& variant : variants_) {
        progress.step(done++, total, fmt::format("{} {}", variant.name, format_bytes(bytes)));
        const coll::AllreducePlan plan = variant.forced ? *variant.forced : collectives_->plan_allreduce(bytes);
        if (!variant.is_nccl &&
            coll::most_bytes(plan.algorithm, collectives_->scratch()->team(), plan.blocks) < bytes)
          continue;
        auto row = measure(variant, plan, bytes);
        if (!row) return std::move(row).status().in(fmt::format("{}, {}", variant.name, format_bytes(bytes)));
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
    auto sizes = sizes_of(options_, executor_->kind() == device::Kind::cuda);
    auto plans = plans_of(options_);
    auto type = device::parse_type(options_.type);
    auto op = device::parse_operator(options_.op);
    for (const Status& status : {sizes.status(), plans.status(), type.status(), op.status()})
      if (!status.ok()) return status;
    sizes_ = std::move(*sizes);
    plans_ = std::move(*plans);
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
    collectives_ = std::make_unique<coll::Collectives>(*node_);
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
    if (auto status = collectives_->allreduce(nullptr, nullptr, 0, reduction_, stream_->lane()); !status)
      return status;
    return {};
  }

  Status choose_variants() {
    const bool gpus = executor_->kind() == device::Kind::cuda;
    const bool wants_nccl = options_.versus.empty() ? gpus : std::ranges::count(options_.versus, "nccl") > 0;
    variants_.push_back({"sennit", std::nullopt, false});
    for (const coll::AllreducePlan& plan : plans_) variants_.push_back({name(plan), plan, false});
    if (!wants_nccl) return {};
    if (Nccl::number_of(reduction_.type) < 0 || Nccl::number_of(reduction_.op) < 0) {
      warnings_.push_back(fmt::format("nccl is left out: it has no {} of {}; compare with --type float32 --op sum.",
                                      options_.op, options_.type));
      return {};
    }
    auto nccl = Nccl::open(*node_, options_.nccl);
    if (!nccl && nccl.status().code() == Code::peer_lost) return nccl.status();
    if (nccl) {
      nccl_ = std::move(*nccl);
      versions_["nccl"] = nccl_->version();
      variants_.push_back({"nccl", std::nullopt, true});
    } else {
      warnings_.push_back(
          fmt::format("nccl is left out: {}; install it, give --nccl FILE, or --vs none.", nccl.status().what()));
    }
    return {};
  }

  Status call(const Variant& variant, const coll::AllreducePlan& plan, std::uint64_t bytes) {
    const std::uint64_t count = bytes / device::bytes_of(reduction_.type);
    void* const to = options_.out_of_place ? output_.data() : input_.data();
    if (variant.is_nccl)
      return nccl_->allreduce(input_.data(), to, count, reduction_.type, reduction_.op, stream_->handle());
    return collectives_->allreduce(input_.data(), to, count, reduction_, stream_->lane(), &plan);
  }

  /// A byte pattern of small numbers that every type holds, different on every rank.
  std::uint8_t number_at(std::uint64_t i, int rank) const {
    const unsigned most = device::bytes_of(reduction_.type) == 1 ? 2 : 4;  // sums of float8 stay exact
    return static_cast<std::uint8_t>((i * 7 + i / 251 + static_cast<std::uint64_t>(rank) * 3) % most);
  }
  std::vector<std::byte> numbers(std::uint64_t bytes, int rank) const {
    std::vector<std::byte> data(bytes);
    const unsigned width = device::bytes_of(reduction_.type);
    std::byte encoded[4][8];
    for (unsigned n = 0; n < 4; ++n) encode(double(n), encoded[n]);
    for (std::uint64_t i = 0; i * width < std::min(bytes, kPeriod); ++i)
      std::memcpy(&data[i * width], encoded[number_at(i, rank)], width);
    for (std::uint64_t at = kPeriod; at < bytes; at += kPeriod)
      std::memcpy(&data[at], data.data(), std::min(kPeriod, bytes - at));
    return data;
  }
  void encode(double number, std::byte* to) const {
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
    using namespace device;
    switch (reduction_.type) {
      case Type::float32: return put(float(number));
      case Type::float64: return put(number);
      case Type::float16: return put(Number<Float16>::narrow(float(number)));
      case Type::bfloat16: return put(Number<Bfloat16>::narrow(float(number)));
      case Type::float8_e4m3: return put(Number<Float8E4m3>::narrow(float(number)));
      case Type::float8_e5m2: return put(Number<Float8E5m2>::narrow(float(number)));
      default: {
        const auto whole = static_cast<std::uint64_t>(number);
        std::memcpy(to, &whole, bytes_of(reduction_.type));
      }
    }
  }

  Status move(void* dst, const void* src, std::uint64_t bytes) {
    if (auto status = stream_->lane().copy(dst, src, bytes); !status) return status;
    return stream_->lane().synchronize();
  }

  /// One call on fresh numbers against the host's own reduction, and nothing written beyond the output.
  Status verify(const Variant& variant, const coll::AllreducePlan& plan, std::uint64_t bytes) {
    const std::vector<std::byte> margin(kMargin, std::byte{0x5A});
    const std::vector<std::byte> mine = numbers(bytes, node_->rank());
    std::byte* const to = (options_.out_of_place ? output_ : input_).data();
    if (auto status = move(input_.data(), mine.data(), bytes); !status) return status;
    if (auto status = move(to + bytes, margin.data(), kMargin); !status) return status;
    if (auto status = call(variant, plan, bytes); !status) return status;
    if (auto status = stream_->lane().synchronize(); !status) return collectives_->explain(std::move(status));
    std::vector<std::byte> got(bytes + kMargin);
    if (auto status = move(got.data(), to, bytes + kMargin); !status) return status;
    if (std::memcmp(got.data() + bytes, margin.data(), kMargin) != 0)
      return Status(Code::corrupt, "bytes beyond the output were written");
    // Part by part, so that 8 GiB of reference need no memory.
    std::vector<std::vector<std::byte>> inputs;
    for (int rank = 0; rank < node_->size(); ++rank) inputs.push_back(numbers(std::min(bytes, kPeriod), rank));
    std::vector<std::byte> expected(std::min(bytes, kPeriod));
    device::Operands operands;
    for (const auto& input : inputs) operands.from[operands.sources++] = input.data();
    operands.to[operands.destinations++] = expected.data();
    device::reduce_on_host(reduction_, operands, expected.size(), coll::whole(node_->size()));
    for (std::uint64_t at = 0; at < bytes; at += kPeriod)
      if (std::memcmp(got.data() + at, expected.data(), std::min(kPeriod, bytes - at)) != 0)
        return Status(Code::corrupt, fmt::format("wrong numbers within {} from byte {}", format_bytes(kPeriod), at));
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

  Result<double> run_once(const Variant& variant, const coll::AllreducePlan& plan, std::uint64_t bytes, int calls,
                          bool prepare) {
    if (prepare)
      if (auto status = stream_->prepare([&, bytes] { return call(variant, plan, bytes); }, calls, !options_.eager);
          !status)
        return status;
    if (auto status = node_->group().exchange().barrier(); !status) return status;
    auto us = stream_->run();
    if (!us) return collectives_->explain(us.status());
    return largest(*us);
  }

  Result<Json> measure(const Variant& variant, const coll::AllreducePlan& plan, std::uint64_t bytes) {
    auto agreed = comm::agree(node_->group().exchange(), verify(variant, plan, bytes), {});
    if (!agreed) return agreed.status();
    // In place, sums grow with every call until they overflow, for all variants alike: time does not depend on it.
    int calls = 4;
    double one_us = 0;
    for (int round = 0; round < 2; ++round) {
      auto us = run_once(variant, plan, bytes, calls, true);
      if (!us) return us.status();
      one_us = *us / calls;
      calls = int(std::clamp(kRunUs / std::max(one_us, 1e-3), 1.0, double(kMostCalls)));
    }
    auto warm = run_once(variant, plan, bytes, calls, true);
    if (!warm) return warm.status();
    const int runs = int(std::clamp(options_.seconds * 1e6 / (*warm + 300), 5.0, 100.0));
    std::vector<double> samples;
    for (int run = 0; run < runs; ++run) {
      auto us = run_once(variant, plan, bytes, calls, false);
      if (!us) return us.status();
      samples.push_back(*us / calls);
    }
    const measure::Summary time = measure::summarise(std::move(samples));
    const double algbw = gigabytes_per_second(bytes, time.median_us);
    Json row = {{"variant", variant.name},
                {"bytes", bytes},
                {"type", options_.type},
                {"operator", options_.op},
                {"ranks", node_->size()},
                {"in_place", !options_.out_of_place},
                {"graph", !options_.eager && executor_->kind() == device::Kind::cuda},
                {"calls", calls},
                {"repetitions", time.repetitions},
                {"median_us", time.median_us},
                {"spread_us", time.spread_us},
                {"min_us", time.min_us},
                {"p95_us", time.p95_us},
                {"gbps", algbw},
                {"busbw_gbps", algbw * 2 * (node_->size() - 1) / node_->size()},
                {"verified", true}};
    if (!variant.is_nccl) {
      row["plan"] = name(plan);
      row["blocks"] = plan.blocks;
    }
    return row;
  }

  void print_outcome() const {
    std::vector<std::string> models;
    for (const device::DeviceInfo& info : executor_->devices()) models.push_back(info.model);
    const Json outcome = {{"rows", rows_},
                          {"warnings", warnings_},
                          {"versions", versions_},
                          {"devices", models},
                          {"scratch_bytes", collectives_->scratch()->device_bytes()}};
    fmt::print("{}{}\n", kOutcomePrefix, outcome.dump());
    std::fflush(stdout);
  }

  /// Bytes after which the pattern of numbers repeats for every type: 4 × 251 × 4 numbers of 8 bytes, and more.
  static constexpr std::uint64_t kPeriod = 8 * 4 * 251 * 64;

  const Options& options_;
  std::shared_ptr<device::Executor> executor_;
  std::vector<std::uint64_t> sizes_;
  std::vector<coll::AllreducePlan> plans_;
  device::Reduction reduction_;
  std::unique_ptr<path::Node> node_;
  std::unique_ptr<coll::Collectives> collectives_;
  device::Memory input_, output_;
  std::unique_ptr<Nccl> nccl_;  // after the stream's graph of its calls: it waits for that
  std::unique_ptr<Stream> stream_;
  std::vector<Variant> variants_;
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

}  // namespace sennit::bench::allreduce
