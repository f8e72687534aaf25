#include "base/environment.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace sennit {

namespace {

constexpr std::array kVariables = {
    Variable{"SENNIT_EXECUTOR", "auto", "Executor to use: cuda, host, or auto (cuda where a GPU answers)"},
    Variable{"SENNIT_MACHINE", "", "Machine file to plan from, instead of this machine's measured one"},
    Variable{"SENNIT_CACHE", "", "Folder of measured machines; default $XDG_CACHE_HOME/sennit or ~/.cache/sennit"},
    Variable{"SENNIT_SPLIT", "", "Shares that replace the computed ones, such as direct=0.9,host=0.1"},
    Variable{"SENNIT_ADAPT", "1", "0 keeps splits and tuned plans as they are instead of following what is measured"},
    Variable{"SENNIT_TIMEOUT", "30", "Seconds that any wait between ranks may take before it fails"},
    Variable{"SENNIT_STAGING", "64M",
             "Most pinned host memory one pair of devices may use for staging, both ways together"},
    Variable{"SENNIT_SCRATCH", "64M", "Device memory a communicator may use as scratch for collectives"},
    Variable{"SENNIT_TABLE", "",
             "File of tuned collectives instead of this machine's own; none: the cost model alone"},
    Variable{"SENNIT_IPC", "1", "0 forbids sharing GPU memory between processes (as some containers do)"},
    Variable{"SENNIT_EARLY", "1",
             "0 lets small collectives start only after the end of what is before them on their GPU"},
    Variable{"SENNIT_PEER", "1", "0 forbids direct access between GPUs, so that only staged paths remain"},
    Variable{"SENNIT_NODE", "", "Name of the node this rank pretends to be on; divides one host into several"},
    Variable{"SENNIT_HOST_DEVICES", "4", "Devices that the host executor presents"},
    Variable{"SENNIT_HOST_MEMORY", "",
             "Memory that each device of the host executor has for a process, such as 256M; none: the host's"},
    Variable{"SENNIT_RANK", "", "Rank of this process, set by sennit's own launcher"},
    Variable{"SENNIT_SIZE", "", "Number of ranks, set by sennit's own launcher"},
    Variable{"SENNIT_RENDEZVOUS", "", "host:port where ranks meet, set by sennit's own launcher"},
    Variable{"SENNIT_SECRET", "", "Secret of the job; ranks that do not know it are turned away"},
    Variable{"SENNIT_DISABLE", "0", "1: `sennit run` and the drop-ins change nothing"},
    Variable{"SENNIT_OBSERVER", "", "Library that sees the program's calls of MPI and NCCL before the drop-ins do"},
    Variable{"SENNIT_OPS", "", "Operations that the drop-ins take, such as allreduce,bcast; default all"},
    Variable{"SENNIT_REPORT", "0", "1: at the end rank 0 prints what the drop-ins did with the program's calls"},
    Variable{"SENNIT_EXPLAIN", "0", "1: rank 0 prints how calls travel, once for each operation and size"},
    Variable{"SENNIT_PROFILE", "", "Folder where each process writes its profile; `sennit profile` sets it"},
    Variable{
        "SENNIT_PROFILE_NODE_FOLDER", "",
        "Folder of the node where processes' files lie until the end; else the profile's own, or TMPDIR, /tmp or "
        "/dev/shm where that is on a file system of other machines"},
    Variable{"SENNIT_PROFILE_GPU_TIMES", "sampled",
             "Whose time on the GPU a profile has of NCCL's calls: sampled, all, none, or kernel (by CUPTI)"},
    Variable{"SENNIT_PROFILE_KERNELS", "0",
             "Seconds from the first call of a GPU's memory in which a profile has kernels; 0: to the end"},
    Variable{"SENNIT_PROFILE_PVAR", "*queue*,*recvq*,*msgq*,*unexp*,*posted*",
             "Variables of the MPI (MPI_T) that a profile has samples of: names with * and commas between, or none"},
    Variable{"SENNIT_PROFILE_NEXT_PLUGIN", "",
             "What NCCL_PROFILER_PLUGIN said before `sennit profile` set it: that plug-in is loaded, too"},
    Variable{"SENNIT_REORDER", "0", "1: the drop-in for MPI answers `reorder` of MPI_Cart_create and its like"},
    Variable{"SENNIT_MAP", "",
             "UUIDs of the GPUs that a map gives the ranks of this node, by local rank; `sennit run --map` sets it"},
    Variable{"SENNIT_BETWEEN", "rails",
             "How the drop-ins' collectives travel between nodes: rails, adapters, leaders or staged"},
    Variable{
        "SENNIT_TAKE", "measured",
        "Which of NCCL's calls the drop-in takes: those that measured faster here (measured), or all that it can"},
    Variable{"SENNIT_LINGER", "30",
             "Microseconds that a block stays on a GPU for the next small message's copy; 0: none does"},
    Variable{"SENNIT_ACCUMULATE", "0",
             "Bytes from which a GPU does an MPI program's one-sided accumulates of GPU memory, not the host"},
    Variable{"SENNIT_EMULATE", "0", "1: the drop-ins take the host executor's memory for GPU memory (tests do)"},
    Variable{"SENNIT_LOG", "warning", "What is logged to stderr: error, warning, info or debug"},
};

}  // namespace

std::span<const Variable> variables() {
  return kVariables;
}

std::string environment(std::string_view name) {
  for (const Variable& variable : kVariables) {
    if (variable.name != name) continue;
    const char* value = std::getenv(std::string(name).c_str());
    return value != nullptr && *value != '\0' ? value : std::string(variable.fallback);
  }
  fmt::print(stderr, "sennit: environment variable {} is not in the documented list\n", name);
  std::abort();
}

Result<long long> environment_integer(std::string_view name) {
  const std::string text = environment(name);
  long long number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && rest == text.data() + text.size()) return number;
  return Status(Code::invalid_argument, fmt::format("{}='{}' is not a whole number", name, text), {},
                fmt::format("Unset {} or give it a whole number", name));
}

Result<bool> environment_switch(std::string_view name) {
  const std::string text = environment(name);
  for (const char* yes : {"1", "true", "yes", "on"})
    if (text == yes) return true;
  for (const char* no : {"0", "false", "no", "off"})
    if (text == no) return false;
  return Status(Code::invalid_argument, fmt::format("{}='{}' is neither on nor off", name, text), {},
                fmt::format("Unset {} or set it to 1 or 0", name));
}

}  // namespace sennit
