#include "machine/known.h"

#include <string>
#include <utility>

#include "base/environment.h"
#include "machine/cache.h"
#include "machine/document.h"

namespace sennit::machine {

Result<Known> known_machine(std::string_view named, std::string_view executor, const std::vector<GpuExtra>& extras) {
  if (const std::string name = named.empty() ? environment("SENNIT_MACHINE") : std::string(named); !name.empty()) {
    auto loaded = load(name);
    if (!loaded) return loaded.status();
    return Known{std::move(*loaded), false};
  }
  auto here = this_machine(executor, extras);
  if (!here) return here.status();
  auto measured = load_cached(here->fingerprint);
  if (measured.ok()) return Known{std::move(*measured), false};
  return Known{std::move(*here), true};
}

}  // namespace sennit::machine
