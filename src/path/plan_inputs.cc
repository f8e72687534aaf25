#include "path/plan_inputs.h"

#include <fmt/format.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/units.h"
#include "node/node.h"
#include "path/forced.h"

namespace sennit::path {

std::shared_ptr<const PutTable> tuned_puts(const machine::Machine& machine) {
  if (machine.fingerprint.empty()) return nullptr;
  auto table = load_put_table(machine.fingerprint);
  if (table.ok()) return std::make_shared<const PutTable>(std::move(*table));
  if (table.status().code() != Code::not_found)
    log(LogLevel::warning, fmt::format("messages take the direct path alone: {}", table.status().text()));
  return nullptr;
}

Result<PlanInputs> find_plan_inputs(const device::Executor& executor) {
  auto machine = node::find_machine(executor, std::nullopt);
  if (!machine) return machine.status();
  auto tuned = tuned_puts(*machine);
  return PlanInputs{std::move(*machine), std::move(tuned)};
}

Result<TransferEngine::Options> transfer_options(bool tuned, bool given) {
  TransferEngine::Options options;
  auto staging = parse_bytes(environment("SENNIT_STAGING"));
  if (!staging) return std::move(staging).status().in("SENNIT_STAGING");
  options.staging_bytes = staging_one_way(*staging);
  auto adapt = environment_switch("SENNIT_ADAPT");
  if (!adapt) return adapt.status();
  options.adapt = *adapt;
  if (const std::string shares = environment("SENNIT_SPLIT"); !shares.empty()) {
    auto forced = parse_forced(shares);
    if (!forced) return std::move(forced).status().in("SENNIT_SPLIT");
    options.splits.forced = std::move(*forced);
  }
  options.splits.single = !tuned && !given && environment("SENNIT_MACHINE").empty() && options.splits.forced.empty();
  return options;
}

}  // namespace sennit::path
