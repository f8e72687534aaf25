#include "doctor/examine.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "doctor/binding.h"
#include "doctor/driver.h"
#include "doctor/libraries.h"
#include "doctor/locked_memory.h"
#include "doctor/management.h"
#include "doctor/memory.h"
#include "doctor/namespaces.h"
#include "doctor/neighbours.h"
#include "doctor/own.h"
#include "doctor/peers.h"
#include "doctor/shared_memory.h"
#include "doctor/sharing.h"
#include "doctor/tracing.h"
#include "doctor/visibility.h"

namespace sennit::doctor {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Questions with names, so that each answer finds its way back.
class Round {
 public:
  void add(const std::string& name, Question question) {
    names_.push_back(name);
    questions_.push_back(std::move(question));
  }
  void add(const std::string& name, std::vector<std::string> probe) {
    Question question;
    question.arguments = {"--probe"};
    question.arguments.insert(question.arguments.end(), probe.begin(), probe.end());
    add(name, std::move(question));
  }
  void run() {
    std::vector<Answer> answers = ask(std::move(questions_));
    for (std::size_t i = 0; i < answers.size(); ++i) answers_[names_[i]] = std::move(answers[i]);
  }
  /// An empty answer when it was not asked.
  const Answer& operator[](const std::string& name) { return answers_[name]; }

 private:
  std::vector<std::string> names_;
  std::vector<Question> questions_;
  std::map<std::string, Answer> answers_;
};

/// Adds two processes joined by a socket.
void add_sharing(Round& round, const std::string& kind) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return;
  int end = 0;
  for (const char* side : {"giver", "taker"}) {
    Question question;
    question.arguments = {"--probe", side, kind};
    question.silence = milliseconds(12000);  // one may wait for the other to open its GPUs
    question.file = UniqueFd(ends[end++]);
    round.add(fmt::format("{} {}", side, kind), std::move(question));
  }
}

struct Libraries {
  std::vector<std::string> mpi, nccl, ucx;  ///< files and plain names to open
  std::string launcher, ucx_tool, nvcc;
};

std::vector<std::string> files(const std::vector<fs::path>& folders, const std::vector<std::string>& names) {
  std::vector<std::string> list;
  for (const fs::path& file : find_libraries(folders, names)) list.push_back(file.string());
  // The loader's own places (its cache and configured folders) come by plain name.
  for (const std::string& name : names) list.push_back(name);
  return list;
}

Libraries find_neighbours(const Places& places) {
  Libraries found;
  std::vector<fs::path> folders = library_folders(places), nccl = folders, ucx = folders;
  for (const fs::path& packages : package_folders(places)) {
    nccl.insert(nccl.begin(), packages / "nvidia/nccl/lib");
    ucx.insert(ucx.begin(), packages / "libucx/lib");
    std::error_code ignored;
    if (const fs::path tool = packages / "libucx/bin/ucx_perftest";
        found.ucx_tool.empty() && fs::is_regular_file(tool, ignored))
      found.ucx_tool = tool.string();
  }
  found.mpi = files(folders, kMpiNames);
  found.nccl = files(nccl, {"libnccl.so.2"});
  found.ucx = files(ucx, {"libucp.so.0"});
  for (const char* name : {"mpirun", "mpiexec"})
    if (found.launcher.empty()) found.launcher = find_program(places, name).string();
  if (const fs::path tool = find_program(places, "ucx_perftest"); !tool.empty()) found.ucx_tool = tool.string();
  Places compilers = places;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const folder = std::getenv(variable); folder != nullptr)
      compilers.path.push_back(fs::path(folder) / "bin");
  compilers.path.emplace_back("/usr/local/cuda/bin");
  found.nvcc = find_program(compilers, "nvcc").string();
  return found;
}

void add_libraries(Round& round, LibraryKind kind, const std::vector<std::string>& list) {
  for (const std::string& file : list) round.add("library " + file, library_question(kind, file));
}

std::vector<LibraryReading> readings(Round& round, const std::vector<std::string>& list) {
  std::vector<LibraryReading> read;
  for (const std::string& file : list) read.push_back(library_reading(file, round["library " + file]));
  return read;
}

/// GPUs that a rank may exchange with, before CUDA was asked: what locked memory is reckoned for.
int gpus_at_hand(const VisibilityReadings& visibility) {
  return std::max({visibility.in_proc, visibility.nodes, 1});
}

}  // namespace

std::vector<Check> examine(const Situation& situation) {
  // Only this process's own word: tracing readings want one that stays where it is.
  static const char readable = 1;
  VisibilityReadings visibility = read_visibility();
  const char* const apptainer = std::getenv("APPTAINER_CONTAINER");
  const NamespaceReadings namespaces = read_namespaces("/", apptainer != nullptr ? apptainer : "");
  const bool container = visibility.container = !namespaces.container.empty() || namespaces.own_pid;
  LockedMemoryReadings locked = read_locked_memory(gpus_at_hand(visibility) - 1);
  const Libraries neighbours = find_neighbours(read_places());

  Round round;
  round.add("own", {"own", situation.executor});
  round.add("tracing",
            {"tracing", std::to_string(getpid()), std::to_string(reinterpret_cast<std::uint64_t>(&readable))});
  add_sharing(round, "host");
  if (situation.gpus()) {
    round.add("driver", {"driver"});
    round.add("nvml", {"nvml"});
    if (situation.cuda_build) {
      round.add("peers", {"peers", std::to_string(locked.wanted)});
      add_sharing(round, "cuda");
    }
  }
  add_libraries(round, LibraryKind::mpi, neighbours.mpi);
  add_libraries(round, LibraryKind::nccl, neighbours.nccl);
  add_libraries(round, LibraryKind::ucx, neighbours.ucx);
  if (!neighbours.nvcc.empty()) {
    Question version;
    version.program = neighbours.nvcc;
    version.arguments = {"--version"};
    version.plain = true;
    round.add("nvcc", std::move(version));
  }
  round.run();

  const OwnReadings own = own_readings(round["own"]);
  const DriverReadings driver = driver_readings(round["driver"]);
  const machine::NvmlReadings nvml = management_readings(round["nvml"]);
  const PeerReadings peers = peer_readings(round["peers"]);
  TracingReadings tracing = read_tracing();
  if (const Json* const error = round["tracing"].find("error"))
    tracing.other_error = error->get<int>();
  else
    tracing.trouble = round["tracing"].trouble();
  if (peers.pinned) {
    locked.pinned = peers.pinned->ok();
    locked.problem = peers.pinned->what();
  }
  std::set<std::string> gpus;
  for (const CudaDevice& device : driver.devices) gpus.insert(device.pci);
  const int count = int(std::max(driver.devices.size(), nvml.gpus.size()));
  const auto sharing = [&](const char* kind, Sharing what) {
    return judge_sharing(
        situation, sharing_readings(round[fmt::format("giver {}", kind)], round[fmt::format("taker {}", kind)], what),
        what, container);
  };
  return {
      judge_build(situation),
      judge_driver(situation, driver),
      judge_toolkit(situation, neighbours.nvcc, round["nvcc"].text),
      judge_management(situation, nvml),
      judge_hwloc(own),
      judge_gpus(situation, driver),
      judge_hidden(situation, visibility, nvml, driver),
      judge_nvlinks(situation, nvml),
      judge_peers(situation, peers, nvml),
      judge_peer_bytes(situation, peers, nvml),
      sharing("cuda", Sharing::handle),
      sharing("cuda", Sharing::file),
      sharing("host", Sharing::host),
      judge_namespaces(namespaces),
      judge_locked_memory(situation, locked, container),
      judge_memory(read_memory(), locked.wanted * std::uint64_t(std::max(count, 1))),
      judge_shared_memory(read_shared_memory(), count, container),
      judge_binding(situation, read_binding(gpus), Labels(nvml)),
      judge_tracing(tracing, container),
      judge_mpi(readings(round, neighbours.mpi), neighbours.launcher),
      judge_nccl(situation, readings(round, neighbours.nccl)),
      judge_ucx(readings(round, neighbours.ucx), neighbours.ucx_tool),
      judge_measured(situation, own),
      judge_tuned(situation, own),
  };
}

Status run_probe(const std::vector<std::string>& what) {
  // Ended with the doctor, also when that is killed.
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto argument = [&](std::size_t i) { return i < what.size() ? what[i] : std::string(); };
  const std::string name = argument(0);
  if (name == "driver")
    probe_driver();
  else if (name == "nvml")
    probe_management();
  else if (name == "own")
    probe_own(argument(1));
  else if (name == "peers")
    probe_peers(std::strtoull(argument(1).c_str(), nullptr, 10));
  else if (name == "giver")
    probe_giver(argument(1) == "host");
  else if (name == "taker")
    probe_taker(argument(1) == "host");
  else if (name == "library")
    probe_library(argument(1), argument(2));
  else if (name == "tracing")
    probe_tracing(std::strtol(argument(1).c_str(), nullptr, 10), std::strtoull(argument(2).c_str(), nullptr, 10));
  else
    return Status(Code::invalid_argument, fmt::format("there is no probe '{}'", name), {},
                  "See: sennit-doctor --help");
  return {};
}

}  // namespace sennit::doctor
