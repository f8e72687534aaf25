// Asks what MPI's partitioned messages do here, a question a job: the answer to some is that a rank hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/partitioned/link.h"

namespace sennit::bench::partitioned {

enum class Question {
  early,          ///< does a partition arrive before another one is ready? By size
  start_all,      ///< do both messages arrive that one MPI_Startall has started?
  before_start,   ///< does a partition arrive that is ready before the receiver has started?
  while_waiting,  ///< does a message arrive whose partitions are ready while another thread waits for something else?
};
std::string_view name(Question question);
/// Errors: invalid_argument.
Result<Question> parse_question(std::string_view text);

/// Returns [{"bytes", "early", "lead_us"} …] for `early` and {"works"} else; on the receiver nothing that counts.
/// Collective; `began`: called before each message. Errors: unsupported, corrupt, those of MPI.
Result<Json> probe(Link& link, Question question, const std::vector<std::uint64_t>& sizes,
                   const std::function<void(const std::string& what)>& began);

}  // namespace sennit::bench::partitioned
