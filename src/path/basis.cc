#include "path/basis.h"

#include <fmt/format.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/units.h"
#include "machine/known.h"
#include "path/extras.h"
#include "path/forced.h"

namespace sennit::path {

Result<Basis> find_basis(const device::Executor& executor, const std::optional<machine::Machine>& given) {
  auto known = given ? Result<machine::Known>({*given, false})
                     : machine::known_machine({}, device::name(executor.kind()), extras_of(executor));
  if (!known) return known.status();
  Basis basis{std::move(known->machine), nullptr};
  if (basis.machine.fingerprint.empty()) return basis;
  auto table = load_put_table(basis.machine.fingerprint);
  if (table.ok())
    basis.tuned = std::make_shared<PutTable>(std::move(*table));
  else if (table.status().code() != Code::not_found)
    log(LogLevel::warning, fmt::format("messages take the direct path alone: {}", table.status().text()));
  return basis;
}

Result<Mover::Options> mover_options(bool tuned, bool given) {
  Mover::Options options;
  auto staging = parse_bytes(environment("SENNIT_STAGING"));
  if (!staging) return std::move(staging).status().in("SENNIT_STAGING");
  options.staging_bytes = staging_one_way(*staging);
  // The others are read where they apply, and there a value that means nothing could only be passed over.
  for (const char* name : {"SENNIT_IPC", "SENNIT_PEER"})
    if (auto known = environment_switch(name); !known) return known.status();
  auto adapt = environment_switch("SENNIT_ADAPT");
  if (!adapt) return adapt.status();
  options.adapt = *adapt;
  if (auto level = parse_log_level(environment("SENNIT_LOG")); !level) return level.status();
  if (const std::string shares = environment("SENNIT_SPLIT"); !shares.empty()) {
    auto forced = parse_forced(shares);
    if (!forced) return std::move(forced).status().in("SENNIT_SPLIT");
    options.forced = std::move(*forced);
  }
  options.single = !tuned && !given && environment("SENNIT_MACHINE").empty() && options.forced.empty();
  return options;
}

}  // namespace sennit::path
