#include "bench/measure/staged.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "bench/measure/abandon.h"
#include "bench/measure/figures.h"
#include "bench/measure/fit.h"
#include "bench/measure/on_node.h"
#include "path/engine_channel.h"
#include "path/kernel_channel.h"

namespace sennit::bench::measure {

using machine::Method;
using machine::Source;
using machine::StagedPath;

namespace {

/// Slots of an engine's ring. A default: as a put uses, so that what is measured is what will run.
constexpr unsigned kEngineSlots = 4;

/// Times of one shape of the path.
struct Trial {
  std::vector<Sample> samples;
  std::vector<Summary> summaries;

  /// Returns the mean logarithm, which compares shapes over all sizes alike.
  double score() const {
    double sum = 0;
    for (const Sample& sample : samples) sum += std::log(sample.us);
    return sum / double(samples.size());
  }
};

Result<Trial> time_once(Rig& rig, const Stop& from, const Stop& to, const Carry& carry, const StagedSweep& sweep) {
  Trial trial;
  for (const std::uint64_t bytes : sweep.sizes) {
    if (bytes > rig.room()) break;
    const Result<Summary> summary = repeat(sweep.repeat, [&]() -> Status {
      auto lane = carry(to.to(), from.from(), bytes);
      if (!lane) return std::move(lane).status();
      return (*lane)->synchronize();
    });
    if (!summary) return summary.status();
    trial.samples.push_back({bytes, summary->median_us});
    trial.summaries.push_back(*summary);
  }
  return trial;
}

/// Times that make no line come from a disturbance; one that passes must not cost a path.
Result<Trial> time_sizes(Rig& rig, const Stop& from, const Stop& to, const Carry& carry, const StagedSweep& sweep) {
  constexpr int kAttempts = 3;  // a default
  Result<Trial> trial = time_once(rig, from, to, carry, sweep);
  for (int attempt = 1; attempt < kAttempts && trial.ok() && !fit_line(trial->samples).ok(); ++attempt)
    trial = time_once(rig, from, to, carry, sweep);
  return trial;
}

/// Keeps the best shape of a path.
class Best {
 public:
  Best(const Stop& from, const Stop& stage, const Stop& to, Method method) {
    path_.from = from.id, path_.stage = stage.id, path_.to = to.id, path_.method = method;
  }

  void offer(const Trial& trial, std::uint64_t chunk_bytes, int blocks) {
    const Result<FittedLine> line = fit_line(trial.samples);
    if (!line) {
      refused_ = line.status();
      return;
    }
    if (trial.score() >= score_) return;
    score_ = trial.score();
    path_.chunk_bytes = chunk_bytes;
    path_.blocks = blocks;
    std::vector<std::string> sizes;
    for (const Sample& sample : trial.samples) sizes.push_back(format_bytes(sample.bytes));
    const Summary &first = trial.summaries.front(), &last = trial.summaries.back();
    const double spread = line->rate_gbps * last.spread_us / last.median_us;
    line_ = fmt::format("line through {}", fmt::join(sizes, ", "));
    path_.startup_us = {rounded(line->startup_us), Source::measured, rounded(first.spread_us), {}};
    path_.rate_gbps = {rounded(line->rate_gbps), Source::measured, rounded(spread), {}};
    repetitions_ = first.repetitions;
  }

  Result<StagedPath> take(const std::string& tried) {
    if (!std::isfinite(score_)) return refused_;
    path_.startup_us.note = path_.rate_gbps.note = measured_note(repetitions_, line_ + "; best of " + tried);
    return path_;
  }

 private:
  StagedPath path_;
  double score_ = std::numeric_limits<double>::infinity();
  int repetitions_ = 0;
  std::string line_;
  Status refused_ = Status(Code::invalid_argument, "no shape of the path was tried", {}, "Give chunks and sizes");
};

std::string in_words(const Stop& from, const Stop& stage, const Stop& to) {
  return fmt::format("{} → {} → {}", from.id, stage.id, to.id);
}

std::string sizes_in_words(const std::vector<std::uint64_t>& sizes) {
  std::vector<std::string> words;
  for (const std::uint64_t bytes : sizes) words.push_back(format_bytes(bytes));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

Result<StagedPath> staged_engine(Rig& rig, Verifier& verifier, const Stop& from, const Stop& stage, const Stop& to,
                                 const StagedSweep& sweep) {
  const auto where = [&](Status status) { return std::move(status).in(in_words(from, stage, to) + " (engine)"); };
  if (sweep.chunks.empty()) return where(Status(Code::invalid_argument, "no chunk sizes were given"));
  const OnNode bound(stage.is_host() ? stage.numa : -1);
  auto channel = path::EngineChannel::create(rig.executor(), {from.device, stage.device, to.device},
                                             std::ranges::max(sweep.chunks), kEngineSlots);
  if (!channel) return where(channel.status());
  std::uint64_t chunk = std::ranges::min(sweep.chunks);
  const Carry carry = [&](path::End dst, path::End src, std::uint64_t bytes) -> Result<device::Lane*> {
    if (auto status = (*channel)->start(dst, src, bytes, chunk, nullptr); !status) return status;
    while (!(*channel)->finished())
      if (auto status = (*channel)->step(); !status) return status;
    return &(*channel)->last_lane();
  };
  if (auto status = verifier.check(from, to, carry); !status) {
    // A channel that hangs must outlive its copies.
    if (status.code() == Code::timed_out) abandon(std::move(*channel));
    return where(std::move(status));
  }
  Best best(from, stage, to, Method::engine);
  for (const std::uint64_t tried : sweep.chunks) {
    chunk = tried;
    auto trial = time_sizes(rig, from, to, carry, sweep);
    if (!trial) return where(trial.status());
    best.offer(*trial, tried, 0);
  }
  auto path = best.take("chunks " + sizes_in_words(sweep.chunks));
  return path ? std::move(path) : where(path.status());
}

Result<StagedPath> staged_kernel(Rig& rig, Verifier& verifier, const Stop& from, const Stop& stage, const Stop& to,
                                 const StagedSweep& sweep) {
  const auto where = [&](Status status) { return std::move(status).in(in_words(from, stage, to) + " (sm)"); };
  const OnNode bound(stage.numa);
  Best best(from, stage, to, Method::sm);
  bool verified = false;
  for (const std::uint64_t slot : sweep.slots)
    for (const unsigned blocks : sweep.blocks) {
      path::KernelChannel::Shape shape;
      shape.blocks = blocks;
      shape.slot_bytes = slot;
      auto channel = path::KernelChannel::create(rig.executor(), from.device, to.device, shape);
      if (!channel) return where(channel.status());
      const Carry carry = [&](path::End dst, path::End src, std::uint64_t bytes) -> Result<device::Lane*> {
        if (auto status = (*channel)->run(dst, src, bytes, int(blocks), slot, nullptr); !status) return status;
        return &(*channel)->last_lane();
      };
      if (!verified)
        if (auto status = verifier.check(from, to, carry); !status) {
          if (status.code() == Code::timed_out) abandon(std::move(*channel));
          return where(std::move(status));
        }
      verified = true;
      auto trial = time_sizes(rig, from, to, carry, sweep);
      if (!trial) return where(trial.status());
      best.offer(*trial, slot, int((*channel)->shape().blocks));
    }
  auto path = best.take(
      fmt::format("{} blocks with slots of {}", fmt::join(sweep.blocks, ", "), sizes_in_words(sweep.slots)));
  return path ? std::move(path) : where(path.status());
}

}  // namespace sennit::bench::measure
