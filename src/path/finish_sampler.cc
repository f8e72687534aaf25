#include "path/finish_sampler.h"

namespace sennit::path {

Result<std::unique_ptr<FinishSampler>> FinishSampler::create(device::Executor& executor, int device,
                                                             std::size_t shares) {
  std::unique_ptr<FinishSampler> sampler(new FinishSampler());
  auto start = executor.event(device, true);
  if (!start) return start.status();
  sampler->start_ = std::move(*start);
  for (std::size_t i = 0; i < shares; ++i) {
    auto end = executor.event(device, true);
    if (!end) return end.status();
    sampler->ends_.push_back(std::move(*end));
    auto observer = executor.lane(device);
    if (!observer) return observer.status();
    sampler->observers_.push_back(std::move(*observer));
  }
  return sampler;
}

Status FinishSampler::start(device::Lane& lane, std::size_t shares) {
  shares_ = shares;
  return lane.record(*start_);
}

Status FinishSampler::finished_on(device::Lane& lane, std::size_t share) {
  return lane.record(*ends_[share]);
}

std::optional<std::vector<double>> FinishSampler::read() {
  std::vector<double> times;
  for (std::size_t i = 0; i < shares_; ++i) {
    const auto done = ends_[i]->done();
    if (done.ok() && !*done) return std::nullopt;
    const auto time = ends_[i]->since(*start_);
    // A time that cannot be had ends the sample; the feedback ignores it.
    times.push_back(done.ok() && time.ok() ? *time : 0);
  }
  return times;
}

}  // namespace sennit::path
