#include "comm/job_place.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "comm/socket.h"

extern "C" char** environ;

namespace sennit::comm {

namespace {

constexpr const char* kHydra = "sennit.hydra";

std::optional<int> integer(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Reads one launcher's variables; remembers the first that is wrong.
class Source {
 public:
  explicit Source(const Environment& environment) : environment_(environment) {}

  std::string text(const char* name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() ? std::string() : found->second;
  }
  bool has(const char* name) const { return !text(name).empty(); }

  int needed(const char* name) {
    if (!has(name)) {
      complain(fmt::format("{} is not set", name), name);
      return 0;
    }
    return optional(name, 0);
  }
  int optional(const char* name, int fallback) {
    if (!has(name)) return fallback;
    if (const auto value = integer(text(name))) return *value;
    complain(fmt::format("{}='{}' is not a whole number from 0", name, text(name)), name);
    return fallback;
  }
  void complain(std::string what, const char* name) {
    if (status_.ok())
      status_ = Status(Code::invalid_argument, std::move(what), "the launcher's environment",
                       fmt::format("Start all ranks with one launcher, or unset {}", name));
  }
  const Status& status() const { return status_; }

 private:
  const Environment& environment_;
  Status status_;
};

// Names are ordered from general to particular; parts that a launcher does not set stay empty on all its ranks.
std::string job_name(const Source& from, std::initializer_list<const char*> names) {
  std::string name;
  for (const char* one : names) name += from.text(one) + "/";
  return name;
}

JobPlace from_sennit(Source& from) {
  const int rank = from.needed("SENNIT_RANK"), size = from.needed("SENNIT_SIZE");
  return {rank, size, rank, size, "sennit", {}, {}, {}};
}

JobPlace from_torchrun(Source& from, const char* launcher) {
  // Without torchrun, RANK and WORLD_SIZE say nothing of hosts: one host is assumed unless LOCAL_WORLD_SIZE is set.
  const int rank = from.needed("RANK"), size = from.needed("WORLD_SIZE");
  return {rank,
          size,
          from.optional("LOCAL_RANK", rank),
          from.optional("LOCAL_WORLD_SIZE", size),
          launcher,
          {},
          {},
          job_name(from, {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT"})};
}

JobPlace from_open_mpi(Source& from) {
  const int rank = from.has("OMPI_COMM_WORLD_RANK") ? from.needed("OMPI_COMM_WORLD_RANK") : from.needed("PMIX_RANK");
  const int size = from.has("OMPI_COMM_WORLD_SIZE") ? from.needed("OMPI_COMM_WORLD_SIZE")
                                                    : from.optional("SLURM_STEP_NUM_TASKS", 0);
  if (size == 0) from.complain("PMIX_RANK is set but no variable says how many ranks there are", "PMIX_RANK");
  const bool slurm = !from.has("OMPI_COMM_WORLD_LOCAL_RANK");
  const int local_rank = from.optional(slurm ? "SLURM_LOCALID" : "OMPI_COMM_WORLD_LOCAL_RANK", rank);
  const int on_node = slurm_tasks_on_node(from.text("SLURM_STEP_TASKS_PER_NODE"), from.optional("SLURM_NODEID", 0));
  const int local_size = slurm ? on_node : from.optional("OMPI_COMM_WORLD_LOCAL_SIZE", 0);
  return {rank,       size,
          local_rank, local_size,
          "openmpi",  {},
          {},         job_name(from, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"})};
}

JobPlace from_hydra(Source& from) {
  const int rank = from.needed("PMI_RANK"), size = from.needed("PMI_SIZE");
  return {rank,
          size,
          from.optional("MPI_LOCALRANKID", rank),
          from.optional("MPI_LOCALNRANKS", 0),
          "hydra",
          {},
          {},
          job_name(from, {"PMI_ID", "PMI_JOBID", "PMI_KVS", kHydra})};
}

JobPlace from_slurm(Source& from) {
  const int rank = from.needed("SLURM_PROCID");
  const int size =
      from.has("SLURM_STEP_NUM_TASKS") ? from.needed("SLURM_STEP_NUM_TASKS") : from.needed("SLURM_NTASKS");
  const std::string nodes =
      from.has("SLURM_STEP_NUM_NODES") ? from.text("SLURM_STEP_NUM_NODES") : from.text("SLURM_NNODES");
  int local_size = slurm_tasks_on_node(from.text("SLURM_STEP_TASKS_PER_NODE"), from.optional("SLURM_NODEID", 0));
  if (local_size == 0 && nodes == "1") local_size = size;
  return {rank,
          size,
          from.optional("SLURM_LOCALID", rank),
          local_size,
          "slurm",
          {},
          {},
          job_name(from, {"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID"})};
}

JobPlace read(Source& from) {
  if (from.has("SENNIT_RANK")) return from_sennit(from);
  if (from.has("TORCHELASTIC_RUN_ID") && from.has("RANK")) return from_torchrun(from, "torchrun");
  if (from.has("OMPI_COMM_WORLD_RANK")) return from_open_mpi(from);
  // srun --mpi=pmi2 and --mpi=pmix set PMI_RANK and PMIX_RANK too, but not what Hydra and PRRTE say of the host.
  const bool srun = from.has("SLURM_STEP_ID") && from.has("SLURM_PROCID");
  if (from.has("PMI_RANK") &&
      !(srun && from.text("SLURM_PROCID") == from.text("PMI_RANK") && !from.has("MPI_LOCALRANKID")))
    return from_hydra(from);
  if (from.has("PMIX_RANK") && !(srun && from.text("SLURM_PROCID") == from.text("PMIX_RANK")))
    return from_open_mpi(from);
  if (srun) return from_slurm(from);
  if (from.has("RANK") && from.has("WORLD_SIZE")) return from_torchrun(from, "environment");
  return {0, 1, 0, 1, "alone", {}, {}, {}};
}

// A process id is reused, a process id with its start time is not.
std::string process_name(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(stat, line);
  // Fields are counted from after the command's name, which may itself hold blanks: start time is the 20th.
  std::size_t at = line.rfind(')');
  for (int field = 0; at != std::string::npos && field < 20; ++field) at = line.find(' ', at + 1);
  const std::string start = at == std::string::npos ? "" : line.substr(at + 1, line.find(' ', at + 1) - at - 1);
  return fmt::format("{}.{}", pid, start);
}

}  // namespace

int slurm_tasks_on_node(const std::string& tasks_per_node, int index) {
  for (std::size_t at = 0; at < tasks_per_node.size();) {
    const std::size_t end = std::min(tasks_per_node.find(',', at), tasks_per_node.size());
    const std::string part = tasks_per_node.substr(at, end - at);
    const std::size_t bracket = part.find("(x");
    const int tasks = integer(part.substr(0, bracket)).value_or(0);
    const int nodes = bracket == std::string::npos || part.back() != ')'
                          ? 1
                          : integer(part.substr(bracket + 2, part.size() - bracket - 3)).value_or(1);
    if (index < nodes) return tasks;
    index -= nodes;
    at = end + 1;
  }
  return 0;
}

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!environment.contains("PMI_RANK")) return environment;
  // The proxy holds the other end of PMI_FD, also when a shell or a wrapper stands between; else it is the parent.
  const auto fd = environment.find("PMI_FD");
  const std::optional<int> number = fd == environment.end() ? std::nullopt : integer(fd->second);
  pid_t proxy = number ? peer_pid(*number) : 0;
  if (proxy <= 0) proxy = ::getppid();
  environment[kHydra] = process_name(proxy);
  return environment;
}

Result<JobPlace> place_from(const Environment& environment) {
  Source from(environment);
  JobPlace place = read(from);
  if (!from.status().ok()) return from.status();
  if (place.size < 1 || place.rank >= place.size)
    return Status(Code::invalid_argument, fmt::format("rank {} of {} cannot be", place.rank, place.size),
                  "environment of launcher " + place.launcher, "Start all ranks with one launcher");
  place.rendezvous = from.text("SENNIT_RENDEZVOUS");
  place.secret = from.text("SENNIT_SECRET");
  if (place.size > 1 && !place.rendezvous.empty() && place.secret.empty())
    return Status(Code::invalid_argument, "SENNIT_RENDEZVOUS is set but SENNIT_SECRET is not", {},
                  "Give all ranks one SENNIT_SECRET, such as the output of: openssl rand -hex 16");
  const bool named = place.job.find_first_not_of('/') != std::string::npos;
  if (place.size > 1 && place.rendezvous.empty() && !named)
    return Status(Code::invalid_argument,
                  fmt::format("launcher '{}' does not say where its ranks meet", place.launcher), {},
                  "Set SENNIT_RENDEZVOUS=host:port and one SENNIT_SECRET for all ranks");
  place.job = named ? place.launcher + "/" + place.job : std::string();
  return place;
}

Result<JobPlace> place_from_environment() {
  return place_from(own_environment());
}

}  // namespace sennit::comm
