#include "comm/deadline.h"

#include <fmt/format.h>

#include "base/environment.h"

namespace sennit::comm {

Result<Clock::duration> wait_limit() {
  const Result<long long> seconds = environment_integer("SENNIT_TIMEOUT");
  if (!seconds) return seconds.status();
  if (*seconds >= 1 && *seconds <= 1'000'000) return Clock::duration(std::chrono::seconds(*seconds));
  return Status(Code::invalid_argument, fmt::format("SENNIT_TIMEOUT={} is out of range", *seconds), {},
                "Unset SENNIT_TIMEOUT or give it 1 to 1000000 seconds");
}

}  // namespace sennit::comm
