#include "bench/collective/rank.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/collective/rig.h"
#include "bench/put/child.h"
#include "plan/chooser.h"

namespace sennit::bench::collective {

namespace {

/// One line of a size's rows.
struct Variant {
  std::string name;
  std::optional<coll::Plan> forced;
  bool is_nccl = false, nccl_windows = false;
};

class Rank {
 public:
  explicit Rank(const Options& options) : options_(options) {}

  Status run() {
    if (auto status = open(); !status) return status;
    const bool reports = rig_->node().rank() == 0;
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
          const Layout layout = rig_->layout(operation, bytes, reduction_.type, !options_.out_of_place);
          if (layout.message == 0 && operation != coll::Operation::barrier) {
            if (!variant.forced && !variant.is_nccl)
              warnings_.push_back(fmt::format("{} of {} is left out: no element for every rank; use larger --sizes.",
                                              coll::name(operation), format_bytes(bytes)));
            continue;
          }
          auto row = measure(variant, layout);
          if (!row) return std::move(row).status().in(what);
          if (reports && !row->is_null()) rows_.push_back(std::move(*row));
        }
    if (reports) print_outcome();
    return rig_->close();
  }

 private:
  Status open() {
    auto executor = device::open_executor();
    if (!executor) return executor.status();
    auto operations = operations_of(options_);
    auto sizes = collective::sizes_of(options_, (*executor)->kind() == device::Kind::cuda);
    auto type = device::parse_type(options_.type);
    auto op = device::parse_operator(options_.op);
    for (const Status& status : {operations.status(), sizes.status(), type.status(), op.status()})
      if (!status.ok()) return status;
    sizes_ = std::move(*sizes);
    operations_ = std::move(*operations);
    auto rig = Rig::open(*executor, {std::ranges::max(sizes_), options_.eager, options_.waited, options_.registered,
                                     options_.skew_us, std::make_unique<plan::Chooser>()});
    if (!rig) return rig.status();
    rig_ = std::move(*rig);
    reduction_ = {*type, *op};
    reduction_.ranks = static_cast<std::uint32_t>(rig_->node().size());
    return open_nccl();
  }

  Status open_nccl() {
    std::vector<std::string> versus = options_.versus;
    if (!options_.only.empty() || options_.against("nccl_windows")) versus.push_back("nccl");
    auto warning = rig_->open_nccl(versus, options_.nccl);
    if (!warning) return warning.status();
    if (!warning->empty()) warnings_.push_back(*warning);
    if (rig_->nccl() == nullptr) return {};
    if (options_.only.empty() && options_.against("nccl_windows")) {
      auto windows = rig_->open_nccl_windows();
      if (!windows) return windows.status();
      if (!windows->empty()) warnings_.push_back(*windows);
    }
    versions_["nccl"] = rig_->nccl()->version();
    for (const coll::Operation operation : operations_)
      if (!Rig::nccl_can(operation, reduction_))
        warnings_.push_back(
            fmt::format("nccl is left out of {}: it has no {} of {}; compare with --type float32 --op "
                        "sum.",
                        coll::name(operation), options_.op, options_.type));
    return {};
  }

  std::vector<Variant> variants_of(coll::Operation operation) const {
    if (!options_.only.empty()) return only_of(operation);
    std::vector<Variant> variants{{"sennit", std::nullopt, false}};
    const auto forced = plans_of(options_, operation);  // the parent has looked at it
    if (forced.ok())
      for (const coll::Plan& plan : *forced) variants.push_back({name(plan), plan, false});
    if (rig_->nccl() == nullptr || !Rig::nccl_can(operation, reduction_)) return variants;
    if (options_.versus.empty() || options_.against("nccl")) variants.push_back({"nccl", std::nullopt, true});
    if (rig_->nccl()->has_windows()) variants.push_back({"nccl_windows", std::nullopt, true, true});
    return variants;
  }
  std::vector<Variant> only_of(coll::Operation operation) const {
    if (rig_->nccl() == nullptr || !Rig::nccl_can(operation, reduction_)) return {};
    return {{options_.only, std::nullopt, true}};
  }
  std::vector<std::uint64_t> sizes_of(coll::Operation operation) const {
    return operation == coll::Operation::barrier ? std::vector<std::uint64_t>{0} : sizes_;
  }

  /// Null where the plan cannot do it.
  Result<Json> measure(const Variant& variant, const Layout& layout) {
    const coll::Operation operation = layout.operation;
    Way way;
    way.chosen = !variant.is_nccl && !variant.forced;
    way.nccl_windows = variant.nccl_windows;
    const coll::CallKey which = rig_->call_key_of(layout, reduction_);
    if (!variant.is_nccl) way.plan = variant.forced ? *variant.forced : rig_->collectives().plan(which);
    const coll::Team& team = rig_->collectives().scratch()->team();
    if (way.plan && coll::most_bytes(operation, *way.plan, team) < layout.message) return Json();
    if (way.plan && coll::needs_windows(way.plan->algorithm) && !which.windows) return Json();
    if (auto status = rig_->verify(way, layout, reduction_); !status) return status;
    auto times = rig_->time(way, layout, reduction_, options_.seconds);
    if (!times) return times.status();
    const measure::Summary& time = times->summary;
    const double algbw = gigabytes_per_second(layout.bytes(), time.median_us);
    Json row = {{"operation", coll::name(operation)},
                {"variant", variant.name},
                {"bytes", layout.bytes()},
                {"type", options_.type},
                {"operator", options_.op},
                {"ranks", layout.size},
                {"in_place", layout.in_place},
                {"registered", which.windows && !variant.is_nccl},
                {"graph", rig_->by_graph()},
                {"waited", rig_->waited()},
                {"skew_us", options_.skew_us},
                {"calls", times->calls},
                {"repetitions", time.repetitions},
                {"median_us", time.median_us},
                {"spread_us", time.spread_us},
                {"min_us", time.min_us},
                {"p95_us", time.p95_us},
                {"host_us", times->host_us},
                {"gbps", algbw},
                {"busbw_gbps", algbw * layout.bus_factor()},
                {"verified", operation != coll::Operation::barrier}};
    if (way.plan) {
      row["plan"] = name(*way.plan);
      row["blocks"] = way.plan->blocks;
      // Blocks are spread over all SMs before one gets a second.
      const int sms = rig_->executor().devices()[std::size_t(rig_->node().device())].sm_count;
      if (sms > 0) row["sms"] = std::min(static_cast<int>(way.plan->blocks), sms);
    }
    return row;
  }

  void print_outcome() const {
    std::vector<std::string> models;
    for (const device::DeviceInfo& info : rig_->executor().devices()) models.push_back(info.model);
    put::print_outcome({{"rows", rows_},
                        {"warnings", warnings_},
                        {"versions", versions_},
                        {"devices", models},
                        {"scratch_bytes", rig_->collectives().scratch()->device_bytes()}});
  }

  const Options& options_;
  std::vector<std::uint64_t> sizes_;
  std::vector<coll::Operation> operations_;
  device::Reduction reduction_;
  std::unique_ptr<Rig> rig_;
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
