// Traffic from files: matrices as text, what Open MPI's monitoring writes, and profiles of `sennit profile`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "place/traffic.h"

namespace sennit::place {

/// Reads a matrix of n × n numbers, a line a sender: bytes from rank to rank, separated by commas, semicolons or
/// blanks; a line that begins with # is a comment. A message is taken to be one a pair. `origin` names the text.
/// Errors: invalid_argument (not square, negative, no number, too many ranks; says in which line).
Result<Traffic> parse_matrix(std::string_view text, std::string_view origin);

/// Reads what Open MPI's monitoring component wrote (`--mca pml_monitoring_filename NAME`, a file a rank, here one
/// behind the other): lines "E from to N bytes M msgs sent …" of messages, "I …" of those that collectives consist
/// of. One-sided transfers (S, R) and its sums of collectives (C, D, …) are left out: their messages are in I.
/// Errors: invalid_argument.
Result<Traffic> parse_monitoring(std::string_view text, std::string_view origin);

/// Whether text is of monitoring, not a matrix.
bool is_monitoring(std::string_view text);

/// Reads files of either kind: one matrix, or all that monitoring wrote. Errors: those of the parsers; not_found.
Result<Traffic> read_traffic(const std::vector<std::filesystem::path>& files);

/// What a profile says of collectives in which all ranks of the job took part: what was counted.
struct Collective {
  std::string function;  ///< "MPI_Allreduce", "ncclAllReduce"
  double calls = 0;      ///< of one rank
  double bytes = 0;      ///< of one call and rank: those of its larger side
};

/// Where a rank's process ran.
struct Bound {
  std::string host;
  std::vector<int> numa_nodes;  ///< that its launcher bound it to; empty: to none
};

struct ProfiledTraffic {
  Traffic traffic{0};  ///< messages between two ranks
  std::vector<Collective> collectives;
  std::vector<Bound> bound;  ///< of each rank; empty where the profile does not say it of all
  double lost = 0;           ///< part of the job's ranks that wrote no profile
};

/// Reads a profile document (schemas/profile.schema.json). Errors: corrupt (no profile, ranks out of range),
/// invalid_argument (a rank's file is missing: the others' messages to it are known, its own are not).
Result<ProfiledTraffic> traffic_of(const Json& profile, std::string_view origin);

}  // namespace sennit::place
