// Describes one line of the doctor: what was looked at, whether it works, why, and what to do about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace sennit::doctor {

enum class State {
  works,
  degraded,        ///< sennit runs, but slower or with less than this machine could give
  missing,         ///< it does not work or is not there; a failure of the machine only where `needed`
  not_applicable,  ///< nothing to check on this kind of machine
};

std::string_view name(State state);

struct Check {
  std::string id;  ///< stable, for scripts
  std::string title;
  State state = State::works;
  bool needed = false;  ///< sennit cannot work without it on this kind of machine
  std::string detail;   ///< one sentence: what was found
  std::string fix;      ///< exact command or setting; empty exactly when there is nothing to mend
};

/// Says what a check is about; the rest is found out.
struct Subject {
  std::string_view id, title;
  bool needed = false;
};

Check works(const Subject& subject, std::string detail);
Check degraded(const Subject& subject, std::string detail, std::string fix);
Check missing(const Subject& subject, std::string detail, std::string fix);
/// Makes a check that is never `needed`: what cannot be checked cannot be lacking.
Check not_applicable(const Subject& subject, std::string detail);

/// True when something needed is missing: the program then ends with exit code 3.
bool lacking(const std::vector<Check>& checks);

/// {"version": 1, "date", "host", "checks": […]}; `date` in ISO 8601, UTC.
Json document(const std::vector<Check>& checks, const std::string& date, const std::string& host);

/// "1 GPU", "4 GPUs".
std::string counted(long count, std::string_view thing);

}  // namespace sennit::doctor
