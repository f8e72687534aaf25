#include "machine/known.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "base/environment.h"
#include "machine/cache.h"
#include "machine/document.h"
#include "machine/probe.h"

namespace sennit::machine {

namespace {

/// GPUs are looked at once. Never destroyed, as a program may make communicators while its globals are taken down;
/// but its thread ends before the driver's libraries do.
Probe& gpus() {
  static Probe& probe = *new Probe([] { return read_nvml(); }, &read_beside_nvml);
  [[maybe_unused]] static const int at_exit = std::atexit([] { probe.end(); });
  return probe;
}

/// Devices of the host executor are as many as the environment says by now.
Result<Machine> look_here(std::string_view executor, const std::vector<GpuExtra>& extras) {
  if (executor != "cuda") return this_machine(executor, extras);
  Readings readings = *gpus().readings();
  readings.extras = extras;
  return machine_of_gpus(readings);
}

}  // namespace

void prefetch_machine() {
  if (environment("SENNIT_MACHINE").empty()) gpus().begin();
}

Result<Known> known_machine(std::string_view named, std::string_view executor, const std::vector<GpuExtra>& extras) {
  if (const std::string name = named.empty() ? environment("SENNIT_MACHINE") : std::string(named); !name.empty()) {
    auto loaded = load(name);
    if (!loaded) return loaded.status();
    return Known{std::move(*loaded), false};
  }
  auto here = look_here(executor, extras);
  if (!here) return here.status();
  auto measured = load_cached(here->fingerprint);
  if (measured.ok()) return Known{std::move(*measured), false};
  return Known{std::move(*here), true};
}

}  // namespace sennit::machine
