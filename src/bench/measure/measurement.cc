// Measures a machine in the order in which results need each other: what arrives whole, then hosts, pairs, pairs at
// the same time, staged paths, relays, kernels. The parts share what was found trustworthy, so they are one class.
#include "bench/measure/measurement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "bench/measure/abandon.h"
#include "bench/measure/figures.h"
#include "bench/measure/together.h"
#include "bench/measure/trust.h"
#include "bench/measure/verify.h"
#include "machine/discover.h"
#include "machine/validate.h"

namespace sennit::bench::measure {

using machine::Curve;
using machine::Figure;
using machine::Machine;
using machine::Method;
using machine::StagedPath;
using machine::Traffic;

namespace {

/// Above so many ordered pairs (8 GPUs), a quick measurement times only the smallest and the largest size of pairs
/// that are linked like an earlier one. A default: keeps 16 GPUs within seconds.
constexpr std::size_t kManyPairs = 56;

class Measurement {
 public:
  Measurement(std::unique_ptr<Rig> rig, Verifier verifier, Machine machine, const Options& options,
              const Step& progress)
      : rig_(std::move(rig)),
        verifier_(std::move(verifier)),
        options_(options),
        progress_(progress),
        likeness_of_(machine),
        machine_(std::move(machine)) {}

  Result<Outcome> run();
  bool hung() const { return hung_; }

 private:
  struct Part {
    std::string what;
    std::function<Status()> run;
  };

  void add(std::string what, std::function<Status()> run) { parts_.push_back({std::move(what), std::move(run)}); }
  bool trusts(const Stop& from, const Stop& to) const { return trusted_.contains({from.id, to.id}); }
  Trusts trust() const {
    return [this](const Stop& from, const Stop& to) { return trusts(from, to); };
  }
  std::string like(const Stop& from, const Stop& to) const { return likeness(likeness_of_, from.id, to.id); }
  void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }

  void add_verification();
  Status verify(const Stop& from, const Stop& to);
  bool quarantined(const Stop& stop) const { return quarantined_.contains(stop.id); }
  void add_hosts();
  void add_pairs();
  void add_together();
  void add_staged();
  void add_relays();
  void add_kernels();

  void keep(Curve curve) {
    if (!curve.points.empty()) curves_.push_back(std::move(curve));
  }
  const Sweep& direct_sweep(const std::string& kind);
  /// Measures one staged path, or takes the figures of the first one of its kind.
  Status staged(const std::string& kind, const Stop& from, const Stop& stage, const Stop& to, Method method);

  Status distrust();
  void finish();
  Outcome outcome() { return {std::move(machine_), std::move(warnings_), hung_}; }

  std::unique_ptr<Rig> rig_;
  Verifier verifier_;
  const Options& options_;
  const Step& progress_;
  const Machine likeness_of_;  // as discovered: figures entered later must not change what is alike
  Machine machine_;
  std::vector<Part> parts_;
  Pairs trusted_, failed_;
  std::set<std::string> quarantined_;     // GPUs on which a copy hangs
  std::vector<std::string> unreachable_;  // pairs without peer access
  std::vector<std::string> notes_, warnings_;
  std::vector<Curve> curves_;
  std::set<std::string> swept_;
  Sweep ends_only_;
  std::map<std::pair<std::string, Method>, std::optional<StagedPath>> staged_of_kind_;
  std::vector<StagedPath> staged_;
  bool hung_ = false;
};

/// "PATH is left out: WHAT. REMEDY."
std::string left_out(const std::string& path, const Status& status) {
  const std::string remedy = status.remedy().empty() ? "See `sennit doctor`" : status.remedy();
  return fmt::format("{} is left out: {}. {}.", path, status.what(), remedy);
}

Status Measurement::verify(const Stop& from, const Stop& to) {
  const Carry carry = [this, &from, &to](path::End dst, path::End src, std::uint64_t bytes) -> Result<device::Lane*> {
    auto lane = rig_->lane(driver_of(from, to), from.is_host() ? 1 : 0);
    if (!lane) return lane.status();
    if (auto status = (*lane)->copy(dst.at_owner, src.at_owner, bytes); !status) return status;
    return *lane;
  };
  Status status = verifier_.check(from, to, carry);
  if (status) return status;
  if (status.code() == Code::timed_out) {
    // Whatever else is enqueued on these devices may wait for the copy that never ends.
    hung_ = true;
    for (const Stop* stop : {&from, &to})
      if (!stop->is_host()) quarantined_.insert(stop->id);
  }
  warn(left_out(fmt::format("{} → {}", from.id, to.id), status));
  return status;
}

void Measurement::add_verification() {
  // A path between GPU and host memory is checked through itself, there and back: neither direction can be told good
  // without the other.
  for (const Stop& host : rig_->hosts())
    for (const Stop& gpu : rig_->gpus())
      add(fmt::format("checking {} ⇄ {}", host.id, gpu.id), [this, &host, &gpu]() -> Status {
        const bool good = !quarantined(gpu) && verify(host, gpu).ok() && verify(gpu, host).ok();
        Pairs& pairs = good ? trusted_ : failed_;
        pairs.insert({host.id, gpu.id});
        pairs.insert({gpu.id, host.id});
        return {};
      });
  for (const Stop& from : rig_->gpus())
    for (const Stop& to : rig_->gpus()) {
      if (&from == &to) continue;
      add(fmt::format("checking {} → {}", from.id, to.id), [this, &from, &to]() -> Status {
        device::Executor& executor = rig_->executor();
        const bool readable = trusts(from, rig_->host_of(from)) && trusts(to, rig_->host_of(to));
        bool good = readable && !quarantined(from) && !quarantined(to);
        if (good && !(executor.reaches(from.device, to.device) && executor.reaches(to.device, from.device))) {
          good = false;
          unreachable_.push_back(fmt::format("{} → {}", from.id, to.id));
        }
        good = good && verify(from, to).ok();
        (good ? trusted_ : failed_).insert({from.id, to.id});
        return {};
      });
    }
}

Status Measurement::distrust() {
  if (trusted_.empty())
    return Status(Code::unsupported, "no path between memories works", warnings_.empty() ? "" : warnings_.front(),
                  "See `sennit doctor`, then measure again");
  if (!unreachable_.empty()) notes_.push_back(fmt::format("Without peer access: {}.", fmt::join(unreachable_, ", ")));
  for (const std::string& sentence : cut(machine_, failed_)) notes_.push_back(sentence + ".");
  return {};
}

const Sweep& Measurement::direct_sweep(const std::string& kind) {
  const std::size_t gpus = rig_->gpus().size();
  const bool first = swept_.insert(kind).second;
  return options_.thorough || first || gpus * (gpus - 1) <= kManyPairs ? options_.direct : ends_only_;
}

void Measurement::add_pairs() {
  for (const Stop& from : rig_->gpus())
    for (const Stop& to : rig_->gpus()) {
      if (&from == &to) continue;
      add(fmt::format("{} → {}", from.id, to.id), [this, &from, &to]() -> Status {
        if (!trusts(from, to)) return {};
        auto curve = one_way(*rig_, from, to, Method::engine, direct_sweep(like(from, to)));
        if (!curve) return curve.status();
        keep(std::move(*curve));
        return {};
      });
    }
  for (std::size_t i = 0; i < rig_->gpus().size(); ++i)
    for (std::size_t j = i + 1; j < rig_->gpus().size(); ++j) {
      const Stop &one = rig_->gpus()[i], &other = rig_->gpus()[j];
      add(fmt::format("{} ⇄ {}", one.id, other.id), [this, &one, &other]() -> Status {
        if (!trusts(one, other) || !trusts(other, one)) return {};
        auto curves = both_ways(*rig_, one, other, options_.crowd);
        if (!curves) return curves.status();
        for (Curve& curve : *curves) keep(std::move(curve));
        return {};
      });
    }
}

void Measurement::add_hosts() {
  for (const Stop& host : rig_->hosts())
    for (const Stop& gpu : rig_->gpus()) {
      if (!options_.thorough && &host != &rig_->host_of(gpu)) continue;
      add(fmt::format("{} and {}", host.id, gpu.id), [this, &host, &gpu]() -> Status {
        if (!trusts(host, gpu) || !trusts(gpu, host)) return {};
        for (const auto& [from, to] : {std::pair(&host, &gpu), std::pair(&gpu, &host)}) {
          auto curve = one_way(*rig_, *from, *to, Method::engine, options_.direct);
          if (!curve) return curve.status();
          keep(std::move(*curve));
        }
        auto curves = both_ways(*rig_, host, gpu, options_.crowd);
        if (!curves) return curves.status();
        for (Curve& curve : *curves) keep(std::move(curve));
        return {};
      });
    }
}

void Measurement::add_together() {
  for (const Stop& host : rig_->hosts())
    add(fmt::format("{} and all GPUs at once", host.id), [this, &host]() -> Status {
      auto all = host_at_once(*rig_, host, trust(), options_.crowd);
      if (!all) return all.status();
      for (Curve& curve : all->curves) keep(std::move(curve));
      for (machine::Device& device : machine_.devices) {
        if (device.id != host.id) continue;
        if (all->read_gbps) device.read_gbps = all->read_gbps;
        if (all->write_gbps) device.write_gbps = all->write_gbps;
        if (all->read_write_gbps) device.read_write_gbps = all->read_write_gbps;
      }
      return {};
    });
  add("all GPUs at once", [this]() -> Status {
    auto curves = all_pairs_at_once(*rig_, trust(), options_.crowd);
    if (!curves) return curves.status();
    for (Curve& curve : *curves) keep(std::move(curve));
    return {};
  });
  for (const Stop& gpu : rig_->gpus())
    add(fmt::format("{} and its peers at once", gpu.id), [this, &gpu]() -> Status {
      auto limits = gpu_limits(*rig_, gpu, trust(), options_.crowd.sizes.back(), options_.crowd.repeat);
      if (!limits) return limits.status();
      for (machine::Device& device : machine_.devices) {
        if (device.id != gpu.id) continue;
        if (limits->read_gbps) device.read_gbps = limits->read_gbps;
        if (limits->write_gbps) device.write_gbps = limits->write_gbps;
      }
      return {};
    });
}

Status Measurement::staged(const std::string& kind, const Stop& from, const Stop& stage, const Stop& to,
                           Method method) {
  if (hung_) return {};  // new rings could not be allocated while a copy hangs
  auto found = staged_of_kind_.find({kind, method});
  if (found != staged_of_kind_.end() && !options_.thorough) {
    if (!found->second) return {};  // the first of its kind failed and was reported
    StagedPath copy = *found->second;
    const std::string origin =
        fmt::format("; measured from {} to {} through {}, which are linked alike", copy.from, copy.to, copy.stage);
    copy.from = from.id, copy.to = to.id, copy.stage = stage.id;
    copy.startup_us.note += origin;
    copy.rate_gbps.note += origin;
    staged_.push_back(std::move(copy));
    return {};
  }
  auto path = method == Method::engine ? staged_engine(*rig_, verifier_, from, stage, to, options_.staged)
                                       : staged_kernel(*rig_, verifier_, from, stage, to, options_.staged);
  staged_of_kind_[{kind, method}] = path ? std::optional(*path) : std::nullopt;
  if (path) {
    staged_.push_back(std::move(*path));
    return {};
  }
  // A staged path that cannot be had is a path less. What made the device itself fail shows at the next part.
  const Status status = path.status();
  hung_ = hung_ || status.code() == Code::timed_out;
  warn(left_out(status.where(), status));
  return {};
}

void Measurement::add_staged() {
  for (const Stop& from : rig_->gpus())
    for (const Stop& to : rig_->gpus()) {
      if (&from == &to) continue;
      std::vector<const Stop*> hosts{&rig_->host_of(from)};
      if (&rig_->host_of(to) != hosts.front()) hosts.push_back(&rig_->host_of(to));
      for (const Stop* host : hosts)
        add(fmt::format("{} → {} → {}", from.id, host->id, to.id), [this, &from, &to, host]() -> Status {
          if (!trusts(from, *host) || !trusts(*host, to)) return {};
          return staged(like(from, *host) + "|" + like(*host, to), from, *host, to, Method::engine);
        });
    }
}

void Measurement::add_relays() {
  const auto relay = [this](const Stop& from, const Stop& stage, const Stop& to) {
    add(fmt::format("{} → {} → {}", from.id, stage.id, to.id), [this, &from, &stage, &to]() -> Status {
      if (!trusts(from, stage) || !trusts(stage, to)) return {};
      return staged(like(from, stage) + "|" + like(stage, to), from, stage, to, Method::engine);
    });
  };
  for (const Stop& gpu : rig_->gpus())
    for (const Stop& stage : rig_->gpus()) {
      if (&gpu == &stage) continue;
      relay(rig_->host_of(gpu), stage, gpu);
      relay(gpu, stage, rig_->host_of(gpu));
    }
}

void Measurement::add_kernels() {
  for (const Stop& from : rig_->gpus())
    for (const Stop& to : rig_->gpus()) {
      if (&from == &to) continue;
      add(fmt::format("{} → {} by SMs", from.id, to.id), [this, &from, &to]() -> Status {
        const std::string kind = "sm " + like(from, to);
        if (hung_ || !trusts(from, to) || (!swept_.insert(kind).second && !options_.thorough)) return {};
        auto curve = one_way(*rig_, from, to, Method::sm, options_.direct);
        if (!curve) return curve.status();
        keep(std::move(*curve));
        return {};
      });
    }
  for (const Stop& from : rig_->gpus())
    for (const Stop& to : rig_->gpus()) {
      if (&from == &to) continue;
      const Stop& host = rig_->host_of(from);
      add(fmt::format("{} → {} → {} by SMs", from.id, host.id, to.id), [this, &from, &to, &host]() -> Status {
        if (!trusts(from, host) || !trusts(host, to)) return {};
        return staged(like(from, host) + "|" + like(host, to), from, host, to, Method::sm);
      });
    }
}

void Measurement::finish() {
  machine_.curves = std::move(curves_);
  machine_.staged = std::move(staged_);
  machine_.date = machine::today();
  apply_curves(machine_);
  // A memory's own limit is not below what one copy got of it: all at once may be slower for reasons elsewhere.
  for (machine::Device& device : machine_.devices)
    for (const Curve& curve : machine_.curves) {
      if (curve.method != Method::engine || curve.traffic != Traffic::one_way) continue;
      const bool reads = curve.from == device.id;
      if (!reads && curve.to != device.id) continue;
      // A GPU's limit counts towards other GPUs only.
      const machine::Device* other = machine_.find(reads ? curve.to : curve.from);
      if (device.kind == machine::DeviceKind::gpu && other->kind != machine::DeviceKind::gpu) continue;
      std::optional<Figure>& limit = reads ? device.read_gbps : device.write_gbps;
      const Figure one = rate_figure(
          curve.points.back(),
          fmt::format("one copy from {} to {}, {}", curve.from, curve.to, format_bytes(curve.points.back().bytes)));
      if (limit && limit->value < one.value) limit = one;
    }

  const std::vector<std::string> shaky = unsteady(machine_);
  if (!shaky.empty()) {
    std::string listed;
    for (std::size_t i = 0; i < std::min<std::size_t>(shaky.size(), 3); ++i) listed += (i > 0 ? ", " : "") + shaky[i];
    if (shaky.size() > 3) listed += fmt::format(" and {} more", shaky.size() - 3);
    warn(
        fmt::format("Times vary by more than a tenth (half the interquartile range): {}. Another job may be using "
                    "these GPUs or links; stop it and measure again, with --thorough to be sure.",
                    listed));
  }
  constexpr std::string_view kBefore = "Discovered, not measured";
  if (machine_.description.starts_with(kBefore)) machine_.description.replace(0, kBefore.size(), "Discovered");
  machine_.description += fmt::format(" Measured on {} ({}, median of {}).", machine_.date,
                                      options_.thorough ? "thorough" : "quick", options_.direct.repeat.repetitions);
  for (const std::string& id : rig_->hidden())
    machine_.description += fmt::format(" {} was not visible and not measured.", id);
  for (const std::string& note : notes_) machine_.description += " " + note;
  machine_.description = machine::printable(machine_.description);
}

Result<Outcome> Measurement::run() {
  ends_only_ = options_.direct;
  ends_only_.sizes = {options_.direct.sizes.front(), options_.direct.sizes.back()};
  add_verification();
  add("leaving out what failed", [this] { return distrust(); });
  add_hosts();
  add_pairs();
  add_together();
  add_staged();
  add_relays();
  add_kernels();

  const long total = long(parts_.size());
  Status failure;
  for (long done = 0; done < total; ++done) {
    const Part& part = parts_[std::size_t(done)];
    if (progress_) progress_(done, total, part.what);
    failure = part.run();
    // A fault of a kernel makes every later wait fail; what was measured before it stands.
    if (const Status fault = rig_->executor().fault(); !fault) {
      warn(fmt::format("{}: {}. Paths driven by SMs that were not measured yet are left out. {}.", part.what,
                       fault.what(), fault.remedy()));
      failure = {};
      break;
    }
    if (!failure) return std::move(failure).in(part.what);
  }
  if (hung_) warn("A copy never ended, so that staged paths were not measured after it. See `sennit doctor`.");
  finish();
  if (progress_) progress_(total, total, "done");
  return outcome();
}

}  // namespace

Result<Outcome> measure(std::shared_ptr<device::Executor> executor, Machine machine, const Options& options,
                        const Step& step) {
  // Blocks that wait for each other give up within the limit too.
  executor->set_timeout(options.limit);
  auto rig = Rig::open(executor, machine, options.room);
  if (!rig) return std::move(rig).status();
  auto verifier = Verifier::create(**rig, options.limit);
  if (!verifier) return std::move(verifier).status();
  auto measurement =
      std::make_unique<Measurement>(std::move(*rig), std::move(*verifier), std::move(machine), options, step);
  Result<Outcome> outcome = measurement->run();
  if (measurement->hung()) abandon(std::move(measurement));
  return outcome;
}

}  // namespace sennit::bench::measure
