#include "shim/nccl/decide.h"

#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::shim::nccl {

namespace {

/// A limit: with more, bytes of all ranks are no 64-bit number.
constexpr std::size_t kMostElements = std::size_t{1} << 56;

/// `measured`: as a table has it.
std::string another_nccl(std::string_view measured, const Switches& switches) {
  return fmt::format("{} was measured here, this is {} (sennit tune collectives --nccl {})",
                     measured.empty() ? "another one" : measured, switches.nccl, switches.nccl_file);
}

}  // namespace

std::optional<std::string> reason_against(const plan::Table& table, const Switches& switches) {
  std::optional<std::string> other_nccl;
  bool others = false;
  for (const plan::Entry& entry : table.entries) {
    if (entry.nccl_us <= 0) continue;
    if (entry.nccl != switches.nccl) {
      if (!other_nccl) other_nccl = another_nccl(entry.nccl, switches);
    } else if (switches.takes(switch_of(entry.which.operation))) {
      return std::nullopt;
    } else {
      others = true;
    }
  }
  if (others) return "no plan was measured here for what SENNIT_OPS names";
  return other_nccl.value_or(kNoPlan);
}

void Decider::set_windows(bool any) {
  const std::lock_guard lock(mutex_);
  has_windows_ = any;
  latest_decision_ = nullptr;
}

const Decision& Decider::decide(const Call& call) {
  static const Decision unknown{false, "NCCL: its type or operator"}, nothing{false, "NCCL: no bytes, or too many"},
      root{false, "NCCL: its root or peer"};
  const coll::Operation operation = operation_of(call.entry);
  if (call.count == 0 || call.count > kMostElements) return nothing;
  if ((coll::has_root(operation) || call.is_message()) && (call.root < 0 || call.root >= ranks_)) return root;
  const std::lock_guard lock(mutex_);
  // Programs make the same call again and again.
  const bool is_same_memory = !has_windows_ || (latest_.input == call.input && latest_.output == call.output);
  if (latest_decision_ != nullptr && latest_.is_alike(call) && is_same_memory) return *latest_decision_;
  const auto reduction = reduction_of(call);
  if (!reduction) return unknown;
  const std::uint64_t bytes = call.count * device::bytes_of(reduction->type);
  const coll::CallKey which = coll::bucket_of(coll::call_key_of(operation, *reduction, bytes));
  auto [found, is_new] = decisions_.try_emplace(which);
  if (is_new) found->second = in_buffers(which);
  if (is_between_windows(call, *reduction)) {
    const Decision& otherwise = found->second;
    coll::CallKey between = which;
    between.windows = true;
    std::tie(found, is_new) = decisions_.try_emplace(between);
    if (is_new) found->second = between_windows(otherwise, which);
  }
  latest_ = call;
  latest_decision_ = &found->second;  // which stays where it is
  return found->second;
}

Decision Decider::in_buffers(const coll::CallKey& which) {
  if (!switches_.takes(switch_of(which.operation))) return {false, "NCCL: not in SENNIT_OPS"};
  const coll::Plan plan = collectives_.plan(which);
  if (switches_.take == Take::all) return {true, coll::name(plan)};
  const std::vector<plan::Entry> measured = chooser_.measured(which);
  if (measured.empty()) return {false, "NCCL: this size was not measured here (sennit tune collectives)"};
  for (const plan::Entry& entry : measured) {
    const std::string size = format_bytes(entry.which.bytes) + (which.windows ? " between windows" : "");
    if (entry.plans.empty())
      return {false, fmt::format("NCCL: no plan that was measured at {} fits in (blocks, scratch memory)", size)};
    if (entry.nccl_us == 0)
      return {
          false,
          fmt::format("NCCL: it was not measured at {} when this machine was tuned (sennit tune collectives)", size)};
    if (entry.nccl != switches_.nccl) return {false, "NCCL: " + another_nccl(entry.nccl, switches_)};
    if (!entry.beats_nccl())
      return {false, fmt::format("NCCL: measured faster at {} ({:.1f} µs, sennit {:.1f})", size, entry.nccl_us,
                                 entry.plans.front().us)};
  }
  return {true, coll::name(plan)};
}

bool Decider::is_between_windows(const Call& call, const device::Reduction& reduction) const {
  if (!has_windows_) return false;
  const auto* const input = static_cast<const std::byte*>(call.entry == Entry::bcast ? call.output : call.input);
  return collectives_.reaches({operation_of(call.entry),
                               input,
                               static_cast<std::byte*>(call.output),
                               call.count * device::bytes_of(reduction.type),
                               call.root,
                               reduction,
                               {}});
}

// Each library has other ways between windows, so times of ordinary buffers say little of them: NCCL's allreduce of
// 64 MiB takes 376 µs there instead of 326, and sennit's by 32 blocks 327 instead of 371 (4 × H100).
//
// Where nothing was tuned between windows, what is sennit's without them is so with them, and the model says whether
// they help. Where they do not, the plan that measured fastest without them: not the one that is current there, since
// ranks may ask for it at different times.
Decision Decider::between_windows(const Decision& otherwise, const coll::CallKey& which) {
  coll::CallKey between = which;
  between.windows = true;
  if (switches_.take == Take::measured && !chooser_.measured(between).empty()) return in_buffers(between);
  if (!otherwise.ours) return otherwise;
  if (const coll::Plan plan = collectives_.plan(between); coll::needs_windows(plan.algorithm))
    return {true, coll::name(plan)};
  const auto measured = chooser_.measured(which);
  const bool has_plan = !measured.empty() && !measured.front().plans.empty();
  const coll::Plan plan = has_plan ? measured.front().plans.front().plan : collectives_.plan(which);
  return {true, otherwise.how, plan};
}

}  // namespace sennit::shim::nccl
