#include "bench/collective/tuner.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/nccl_name.h"
#include "base/units.h"
#include "bench/collective/options.h"
#include "bench/collective/rig.h"
#include "bench/put/child.h"
#include "coll/candidates.h"
#include "comm/bootstrap.h"
#include "machine/discover.h"
#include "plan/figures.h"
#include "plan/halving.h"

namespace sennit::bench::collective {

namespace {

using Clock = std::chrono::steady_clock;

/// Time for each measurement of the first round, in s: five runs of 2 ms at least. A default.
constexpr double kLeastSeconds = 0.012;

/// Returns the reduction that stands for an arithmetic.
device::Reduction reduction_of(coll::Arithmetic arithmetic, int ranks) {
  return {arithmetic == coll::Arithmetic::general ? device::Type::float64 : device::Type::float32,
          device::Operator::sum, static_cast<std::uint32_t>(ranks)};
}

std::string describe(const coll::CallKey& which) {
  const bool general = which.arithmetic == coll::Arithmetic::general;
  return fmt::format("{}{} of {}{}", coll::name(which.operation), general ? " (float64)" : "",
                     format_bytes(which.bytes), which.windows ? " between windows" : "");
}

class Tuner {
 public:
  explicit Tuner(const TunerOptions& options) : options_(options) {}

  Status run() {
    if (auto status = open(); !status) return status;
    std::vector<coll::CallKey> left;
    for (const coll::CallKey& which : cases_)
      if (!is_tuned(which)) left.push_back(which);
    const Progress progress(options_.progress && leads());
    std::size_t done = 0;
    for (; done < left.size() && (done == 0 || within_budget()); ++done) {
      progress.step(long(done), long(left.size()), describe(left[done]));
      auto finished = tune(left[done]);
      if (!finished) return std::move(finished).status().in(describe(left[done]));
      if (!*finished) break;
    }
    if (leads()) put::print_outcome({{"warnings", warnings_}, {"left", left.size() - done}});
    return rig_->close();
  }

 private:
  bool leads() { return rig_->node().rank() == 0; }

  Status open() {
    auto executor = device::open_executor();
    if (!executor) return executor.status();
    auto cases = cases_of(options_, (*executor)->kind() == device::Kind::cuda);
    if (!cases) return cases.status();
    cases_ = std::move(*cases);
    Rig::Options wanted;
    auto place = comm::place_from_environment();
    if (!place) return place.status();
    for (const coll::CallKey& which : cases_)
      wanted.most_bytes = std::max(wanted.most_bytes, which.bytes * Layout::parts(which.operation, place->size));
    // Plans of ordinary buffers run in registered memory, too: they make no use of the windows.
    const bool windows = wanted.registered = std::ranges::any_of(cases_, &coll::CallKey::windows);
    auto rig = Rig::open(*executor, std::move(wanted));
    if (!rig) return rig.status();
    rig_ = std::move(*rig);
    machine_ = &rig_->node().machine();
    start_ = Clock::now();
    if (auto status = open_table(); !status) return status;
    auto warning = rig_->open_nccl(options_.versus, options_.nccl);
    if (!warning) return warning.status();
    if (!warning->empty()) warnings_.push_back(*warning);
    return windows ? open_windows() : Status();
  }

  /// Leaves out what the machine cannot do: the ranks may not reach each other's memory.
  Status open_windows() {
    const auto cannot = [&](const coll::CallKey& which) {
      const device::Reduction reduction = reduction_of(which.arithmetic, rig_->node().size());
      return which.windows && !rig_->call_key_of(layout_of(which, reduction), reduction).windows;
    };
    if (std::erase_if(cases_, cannot) > 0)
      warnings_.push_back("calls between windows are left out: not every rank can map the others' memory.");
    if (rig_->nccl() == nullptr || !std::ranges::any_of(cases_, &coll::CallKey::windows)) return {};
    auto warning = rig_->open_nccl_windows();
    if (!warning) return warning.status();
    if (!warning->empty()) warnings_.push_back(*warning);
    return {};
  }

  Layout layout_of(const coll::CallKey& which, const device::Reduction& reduction) const {
    // An allgather in place has nothing to copy on its own rank; programs have both, and what is faster must be so
    // for each (32 blocks, 32 MiB a rank, two H100: 1.11 times as fast as NCCL in place, 0.97 otherwise).
    const bool in_place = which.operation != coll::Operation::allgather;
    const auto parts = Layout::parts(which.operation, rig_->node().size());
    return rig_->layout(which.operation, which.bytes * parts, reduction.type, in_place);
  }

  /// Returns NCCL's way to do the operation; no value where it cannot.
  std::optional<Way> nccls(const coll::CallKey& which) const {
    if (rig_->nccl() == nullptr || !Rig::nccl_can(which.operation, reduction_of(which.arithmetic, 2)) ||
        (which.windows && !rig_->nccl()->has_windows()))
      return std::nullopt;
    return Way{std::nullopt, false, which.windows};
  }

  /// Opens rank 0's own table, to be continued, with the layout of all ranks.
  Status open_table() {
    auto scratch = coll::wanted_scratch();
    Status status = scratch.status();
    if (status.ok() && machine_->fingerprint.empty())
      status = Status(Code::invalid_argument, "plans are kept for a machine that was measured", "SENNIT_MACHINE",
                      "Unset it");
    table_.fingerprint = machine_->fingerprint;
    table_.versions = plan::versions_of(*machine_);
    table_.scratch_bytes = scratch.ok() ? *scratch : 0;
    if (status.ok() && leads()) {
      auto file = plan::table_file(machine_->fingerprint);
      status = file.status();
      if (status.ok()) file_ = *file;
      auto kept = status.ok() ? plan::load_table(file_) : Result<plan::Table>(status);
      Status suited = kept.status();
      if (kept.ok()) suited = plan::suits(*kept, *machine_, table_.scratch_bytes);
      if (suited.ok())
        table_ = std::move(*kept);
      else if (suited.code() != Code::not_found)
        warnings_.push_back(fmt::format("what was kept before is replaced: {}.", suited.what()));
      if (options_.again)
        std::erase_if(table_.entries,
                      [&](const plan::Entry& entry) { return std::ranges::count(cases_, entry.which) > 0; });
    }
    const std::string own = leads() ? to_json(table_).dump() : std::string();
    comm::Writer mine;
    mine.text(rig_->node().device_id()).text(own);
    auto all = comm::agree(rig_->node().group().exchange(), status, mine.take());
    if (!all) return all.status();
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
      comm::Reader reader((*all)[rank]);
      layout_.push_back(reader.text());
      if (rank != 0) continue;
      auto document = parse_json(reader.text(), "rank 0's table");
      if (!document) return document.status();
      auto table = plan::table_from_json(*document, "rank 0's table");
      if (!table) return table.status();
      table_ = std::move(*table);
    }
    found_ = table_;
    found_.entries.clear();
    figures_ = plan::figures_of(*machine_, layout_);
    return {};
  }

  /// Returns whether the case is tuned: not where tables of before had no plans of few blocks, nor beside another
  /// NCCL than there is now.
  bool is_tuned(const coll::CallKey& which) const {
    const plan::Entry* const entry = table_.find(layout_, which);
    if (entry == nullptr || !entry->has_plan_within(plan::Entry::kBesideKernels)) return false;
    return !nccls(which) || entry->nccl == nccl_name(rig_->nccl()->version());
  }

  /// Returns whether rank 0's clock is within the budget; equal on every rank.
  bool within_budget() {
    const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
    auto all = rig_->node().group().exchange().all_gather(comm::Writer().number(spent < options_.budget_s).take());
    return all.ok() && comm::Reader(all->front()).number() == 1;
  }

  /// False: the budget ended before it was found out; the next run begins it anew.
  Result<bool> tune(const coll::CallKey& which) {
    const coll::Team& team = rig_->collectives().scratch()->team();
    const device::Reduction reduction = reduction_of(which.arithmetic, team.size);
    const Layout layout = layout_of(which, reduction);
    const device::Kind kind = rig_->executor().kind();
    std::vector<plan::Candidate> candidates;
    for (const coll::Plan& each : coll::candidates(which, team, kind))
      candidates.push_back({each, coll::predict_us(which, each, team, figures_)});
    std::ranges::stable_sort(candidates, {}, &plan::Candidate::predicted_us);
    // The plan that would be taken without a table comes first.
    const coll::Plan model = coll::choose(which, team, kind, figures_);
    const auto own = std::ranges::find(candidates, model, &plan::Candidate::plan);
    if (own != candidates.end())
      std::rotate(candidates.begin(), own, own + 1);
    else
      candidates.insert(candidates.begin(), {model, coll::predict_us(which, model, team, figures_)});
    // The model is of GPUs: on the host executor it orders nothing.
    if (kind == device::Kind::host)
      for (plan::Candidate& each : candidates) each.predicted_us = 0;

    const auto measure = [&](const coll::Plan& each, int effort) -> Result<plan::Timed> {
      const Way way{each};
      if (effort == 1)
        if (auto status = rig_->verify(way, layout, reduction); !status) return status;
      auto times = rig_->time(way, layout, reduction, kLeastSeconds * effort);
      if (!times) return times.status();
      return plan::Timed{each, times->summary.median_us, times->summary.spread_us};
    };
    const auto within = [&] { return found_.entries.empty() || within_budget(); };
    auto found = plan::halve(candidates, measure, within);
    // A program that leaves its kernels room keeps blocks for messages, too.
    std::erase_if(candidates, [&](const plan::Candidate& each) {
      return coll::fits(each.plan, plan::Entry::kBesideKernels) &&
             !coll::has_room_beside_messages(which, each.plan, team);
    });
    if (found.ok()) found = plan::add_narrow(*std::move(found), candidates, measure, within);
    if (!found) return found.status();
    for (const coll::Plan& wrong : found->wrong)
      warnings_.push_back(fmt::format("{} by {} gave wrong results and is left out.", describe(which), name(wrong)));
    if (!found->finished) return false;
    plan::Entry entry{layout_, which, std::move(found->plans), found->model_us, 0, {}, found->timed};
    if (const auto way = nccls(which)) {
      auto times = rig_->time(*way, layout, reduction, kLeastSeconds * 4);
      if (!times) return times.status();
      entry.nccl_us = times->summary.median_us;
      entry.nccl = nccl_name(rig_->nccl()->version());
    }
    plan::insert(found_, entry);
    plan::insert(table_, std::move(entry));
    table_.date = found_.date = machine::today();
    // The table is kept at once, so that what was found survives whatever comes.
    const Status kept = leads() ? keep() : Status();
    if (auto agreed = comm::agree(rig_->node().group().exchange(), kept, {}); !agreed) return agreed.status();
    return true;
  }

  /// Keeps the table beside what another run has found meanwhile, also of cases that were there before.
  Status keep() const {
    const auto there = plan::load_table(file_);
    const auto merged = there.ok() ? plan::merge(*there, found_) : Result<plan::Table>(there.status());
    return write_json(file_, to_json(merged.ok() ? *merged : table_));
  }

  const TunerOptions& options_;
  std::vector<coll::CallKey> cases_;
  std::unique_ptr<Rig> rig_;
  const machine::Machine* machine_ = nullptr;
  plan::Layout layout_;
  coll::Figures figures_;
  plan::Table table_;           // what was there, with what is found
  plan::Table found_;           // by this run alone; one case is always finished, whatever the budget
  std::filesystem::path file_;  // rank 0's
  Clock::time_point start_;
  std::vector<std::string> warnings_;
};

}  // namespace

Result<std::vector<coll::CallKey>> cases_of(const TunerOptions& options, bool gpus) {
  using enum coll::Operation;
  // The operations stand in the order in which programs spend their time.
  std::vector<coll::Operation> operations = {allreduce, allgather, reduce_scatter, broadcast, all_to_all,
                                             sendrecv,  reduce,    gather,         scatter};
  if (!options.operations.empty() && options.operations != std::vector<std::string>{"all"}) {
    Options asked;
    asked.operations = options.operations;
    auto some = operations_of(asked);
    if (!some) return some.status();
    operations = std::move(*some);
    for (const coll::Operation operation : operations)
      if (operation == barrier || operation == all_to_all_v)
        return Status(Code::invalid_argument, fmt::format("{} has one plan for all sizes", coll::name(operation)),
                      "--operations", "Leave it out");
  }
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : options.sizes) {
    auto bytes = parse_bytes(text);
    if (!bytes) return std::move(bytes).status().in("--sizes");
    if (*bytes == 0 || *bytes % 8 != 0)
      return Status(Code::invalid_argument, fmt::format("{} bytes are no whole number of elements", *bytes),
                    "--sizes", "Use a multiple of 8");
    sizes.push_back(*bytes);
  }
  const std::uint64_t most = gpus ? (options.thorough ? GiB : 256 * MiB) : 4 * MiB;
  if (sizes.empty())
    for (std::uint64_t bytes = options.thorough ? 256 : KiB; bytes <= most; bytes *= options.thorough ? 2 : 4)
      sizes.push_back(bytes);
  // Gradients are reduced in buckets of 25 MiB and a little more.
  constexpr std::uint64_t kBuckets = 32 * MiB;
  if (options.sizes.empty() && gpus && !options.thorough)
    sizes.insert(std::ranges::upper_bound(sizes, kBuckets), kBuckets);
  std::vector<coll::CallKey> cases;
  // Most programs have no windows: what fits into a budget is first of ordinary buffers.
  for (const bool windows : {false, true})
    for (const coll::Operation operation : operations) {
      const bool reduces = coll::reduces(operation);
      if (windows && !std::ranges::any_of(coll::algorithms_of(operation), coll::needs_windows)) continue;
      for (const std::uint64_t bytes : sizes) {
        cases.push_back({operation, reduces ? coll::Arithmetic::fast : coll::Arithmetic::none, bytes, windows});
        if (reduces && options.thorough) cases.push_back({operation, coll::Arithmetic::general, bytes, windows});
      }
    }
  return cases;
}

Result<Exit> run_tuner(const TunerOptions& options) {
  Tuner tuner(options);
  if (auto status = tuner.run(); !status) return status;
  return Exit::ok;
}

}  // namespace sennit::bench::collective
