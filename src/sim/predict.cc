#include "sim/predict.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/units.h"
#include "coll/candidates.h"

namespace sennit::sim {

namespace {

/// Calls back to back are faster than one alone, but by far less than this.
constexpr double kSlow = 3;

/// Ranks of one socket, by the memory that their GPUs hang off.
std::vector<int> sockets_of(const machine::Machine& machine, const std::vector<std::string>& gpus) {
  std::vector<int> sockets;
  for (const std::string& gpu : gpus) sockets.push_back(machine.find(gpu)->numa);
  return sockets;
}

Result<std::vector<std::string>> ranks_on(const machine::Machine& machine, int ranks) {
  std::vector<std::string> gpus = gpus_of(machine);
  const auto all = static_cast<int>(gpus.size());
  const int wanted = ranks == 0 ? std::min(all, coll::kMostRanks) : ranks;
  if (wanted < 2 || wanted > all || wanted > coll::kMostRanks)
    return Status(Code::invalid_argument, fmt::format("{} ranks on the {} GPUs of '{}'", wanted, all, machine.name),
                  {}, fmt::format("Use 2 to {}, or a machine with more", std::min(all, coll::kMostRanks)));
  gpus.resize(static_cast<std::size_t>(wanted));
  return gpus;
}

Status no_such_plan(const Question& question) {
  return Status(Code::invalid_argument,
                fmt::format("{} of {} has no such plan", coll::name(question.what.operation),
                            format_bytes(question.what.bytes)),
                {},
                fmt::format("Use more blocks, {} at most, or another algorithm: sennit explain says what each takes",
                            coll::kMostBlocks));
}

}  // namespace

std::vector<std::string> gpus_of(const machine::Machine& machine) {
  std::vector<std::string> gpus;
  for (const machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::gpu) gpus.push_back(device.id);
  return gpus;
}

Result<std::optional<Prediction>> predict(const machine::Machine& machine, const Question& question,
                                          const coll::Plan& plan, double most_us) {
  auto gpus = ranks_on(machine, question.ranks);
  if (!gpus) return gpus.status();
  // One block stands for all of a launch: see replay().
  auto job = Job::create(sockets_of(machine, *gpus), question.scratch_bytes, 1);
  if (!job) return job.status();
  Collective what = question.what;
  what.plan = plan;
  if (!job->admits(what)) return std::optional<Prediction>();
  Setting setting{std::move(*gpus), question.costs, question.epsilon_us, question.timeline};
  Prediction prediction;
  prediction.plan = plan;
  if (auto status = job->call(what); !status) return status;
  auto once = replay(job->recording(), machine, setting);
  if (!once) return once.status();
  if (once->us > most_us) return std::optional<Prediction>();
  prediction.once = std::move(*once);
  if (question.timeline) prediction.recording = job->recording();
  // Where all wait for all they are soon together again, and the skew would only be noise in a difference.
  setting.skew_us = coll::has_root(what.operation) ? question.costs.skew_us : 0;
  setting.timeline = false;
  double first_us = prediction.once.us;
  if (setting.skew_us > 0) {
    const auto first = replay(job->recording(), machine, setting);
    if (!first) return first.status();
    first_us = first->us;
  }
  for (int call = 1; call < question.calls; ++call)
    if (auto status = job->call(what); !status) return status;
  const auto all = replay(job->recording(), machine, setting);
  if (!all) return all.status();
  prediction.back_to_back_us = (all->us - first_us) / (question.calls - 1);
  return std::optional(std::move(prediction));
}

Result<Schedule> schedule_of(const machine::Machine& machine, const Question& question, const coll::Plan& plan) {
  auto gpus = ranks_on(machine, question.ranks);
  if (!gpus) return gpus.status();
  auto job = Job::create(sockets_of(machine, *gpus), question.scratch_bytes);
  if (!job) return job.status();
  Collective what = question.what;
  what.plan = plan;
  if (!job->admits(what)) return no_such_plan(question);
  if (auto status = job->call(what); !status) return status;
  return Schedule{job->recording(), job->promises()};
}

Result<std::vector<Prediction>> predict(const machine::Machine& machine, const Question& question) {
  auto gpus = ranks_on(machine, question.ranks);
  if (!gpus) return gpus.status();
  const coll::Operation operation = question.what.operation;
  if (coll::has_root(operation) && (question.what.root < 0 || question.what.root >= static_cast<int>(gpus->size())))
    return Status(Code::invalid_argument, fmt::format("there is no rank {} to be the root", question.what.root), {},
                  fmt::format("Use 0 to {}", gpus->size() - 1));
  if (question.what.bytes == 0 && operation != coll::Operation::barrier)
    return Status(Code::invalid_argument, "of 0 bytes nothing is launched", {}, "Ask for a message of some bytes");
  coll::Team team;
  team.size = static_cast<int>(gpus->size());
  team.shape = coll::Shape::of(question.scratch_bytes, team.size);
  coll::CallKey which =
      coll::call_key_of(operation, question.what.reduction, question.what.bytes, question.registered);
  std::vector<coll::Plan> plans;
  for (coll::Plan plan : coll::candidates(which, team, device::Kind::cuda)) {
    if (question.algorithm && plan.algorithm != *question.algorithm) continue;
    // Threads of a block do not count here: of both widths one is enough.
    if (question.blocks) plan.blocks = *question.blocks;
    if (std::ranges::find_if(plans, [&](const coll::Plan& other) {
          return other.algorithm == plan.algorithm && other.blocks == plan.blocks;
        }) == plans.end())
      plans.push_back(plan);
  }
  // One that is named need not be sensible.
  if (plans.empty() && question.algorithm) plans.push_back({*question.algorithm, question.blocks.value_or(1), 256});
  std::vector<Prediction> predictions;
  // Few blocks have many chunks each, which takes long to replay: those of most blocks first, which tell what is
  // slow.
  std::ranges::stable_sort(plans, std::greater<>(), &coll::Plan::blocks);
  std::map<coll::Algorithm, double> least_us;
  for (const coll::Plan& plan : plans) {
    Question without = question;
    without.timeline = question.timeline && plans.size() == 1;
    double& least = least_us.try_emplace(plan.algorithm, kNever).first->second;
    auto one = predict(machine, without, plan, kSlow * least);
    if (!one) return one.status();
    if (!*one) continue;
    least = std::min(least, (*one)->once.us);
    predictions.push_back(std::move(**one));
  }
  if (predictions.empty()) return no_such_plan(question);
  std::ranges::stable_sort(predictions, {}, &Prediction::back_to_back_us);
  if (question.timeline && plans.size() > 1) {
    auto first = predict(machine, question, predictions.front().plan);
    if (!first) return first.status();
    predictions.front() = std::move(**first);
  }
  return predictions;
}

}  // namespace sennit::sim
