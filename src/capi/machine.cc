#include "capi/machine.h"

#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "base/units.h"
#include "capi/errors.h"
#include "machine/document.h"
#include "machine/known.h"
#include "path/explain.h"
#include "path/split.h"

namespace sennit::capi {

Machines& machines() {
  static auto* all = new Machines("machine");
  return *all;
}

namespace {

Result<machine::Machine> here() {
  auto known = machine::known_machine({}, {});
  if (!known) return known.status();
  return std::move(known->machine);
}

Status give(Result<machine::Machine> made, sennit_machine** out) {
  if (!made) return made.status();
  *out = machines().add(std::make_shared<const machine::Machine>(std::move(*made)));
  return {};
}

/// Text that sennit_text_free() frees. Bytes that are not UTF-8 are replaced.
Status give(const Json& document, char** out) {
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace);
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return Status(Code::out_of_memory, "no memory");
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return {};
}

Status explain_put(const machine::Machine& machine, const char* from, const char* to, std::uint64_t bytes, bool named,
                   char** json) {
  path::SplitOptions options;
  auto forced = path::parse_forced(environment("SENNIT_SPLIT"));
  if (!forced) return std::move(forced).status().in("SENNIT_SPLIT");
  options.forced = std::move(*forced);
  auto answer = path::explain_put(machine, from, to, bytes, std::move(options), {.kept = true, .named = named});
  if (!answer) return std::move(answer).status();
  return give(*answer, json);
}

}  // namespace

}  // namespace sennit::capi

using namespace sennit;
using namespace sennit::capi;

void sennit_text_free(char* text) noexcept {
  std::free(text);
}

sennit_result sennit_machine_load(const char* name_or_file, sennit_machine** machine) noexcept {
  return guarded([&]() -> Status {
    if (name_or_file == nullptr) return null_argument("name_or_file");
    if (machine == nullptr) return null_argument("machine");
    return give(machine::load(name_or_file), machine).in("load machine");
  });
}

sennit_result sennit_machine_discover(sennit_machine** machine) noexcept {
  return guarded([&]() -> Status {
    if (machine == nullptr) return null_argument("machine");
    return give(here(), machine).in("discover machine");
  });
}

sennit_result sennit_machine_json(const sennit_machine* machine, char** json) noexcept {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_argument("json");
    const auto found = machines().find(machine, "machine");
    if (!found) return found.status();
    return give(machine::to_json(**found), json);
  });
}

sennit_result sennit_machine_free(sennit_machine* machine) noexcept {
  return guarded([&]() -> Status {
    if (machine == nullptr) return {};
    return machines().take(machine, "machine").status();
  });
}

sennit_result sennit_explain_put(const sennit_machine* machine, const char* from, const char* to, uint64_t bytes,
                                 char** json) noexcept {
  return guarded([&]() -> Status {
    if (from == nullptr) return null_argument("from");
    if (to == nullptr) return null_argument("to");
    if (json == nullptr) return null_argument("json");
    if (machine == nullptr) {
      const auto found = here();
      if (!found) return found.status();
      const bool named = !environment("SENNIT_MACHINE").empty();
      return explain_put(*found, from, to, bytes, named, json).in("explain put");
    }
    const auto found = machines().find(machine, "machine");
    if (!found) return found.status();
    return explain_put(**found, from, to, bytes, true, json).in("explain put");
  });
}
