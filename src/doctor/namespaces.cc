#include "doctor/namespaces.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "doctor/text_file.h"

namespace sennit::doctor {

namespace {

namespace fs = std::filesystem;

// Numbers of the namespaces the kernel itself starts with (include/linux/proc_ns.h); every other is a later one.
constexpr const char* kHostIpc = "ipc:[4026531839]";
constexpr const char* kHostPid = "pid:[4026531836]";

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

/// Returns the target of a namespace link; empty where it may not be read.
std::string link(const fs::path& file) {
  std::error_code failed;
  const fs::path target = fs::read_symlink(file, failed);
  return failed ? std::string() : target.string();
}

std::string container_of(const fs::path& root, const std::string& apptainer) {
  if (!apptainer.empty()) return "Apptainer";
  if (is_there(root / "var/run/secrets/kubernetes.io")) return "Kubernetes";
  if (is_there(root / "run/.containerenv")) return "Podman";
  if (is_there(root / ".dockerenv")) return "Docker";
  const std::string groups = read_text(root / "proc/1/cgroup").value_or("");
  for (const auto& [word, name] : {std::pair{"kubepods", "Kubernetes"},
                                   {"docker", "Docker"},
                                   {"libpod", "Podman"},
                                   {"containerd", "containerd"},
                                   {"lxc", "LXC"}})
    if (groups.find(word) != std::string::npos) return name;
  return read_text(root / "run/systemd/container").value_or("");
}

std::string fix_for(const std::string& container) {
  if (container == "Kubernetes") return "Set hostIPC: true (and hostPID: true, hostNetwork: true) in the pod's spec";
  if (container == "Podman") return "podman run --ipc=host --pid=host --network=host …";
  if (container == "Apptainer") return "Start it without --ipc, --pid, --net and --containall";
  return "docker run --ipc=host --pid=host --network=host …";
}

}  // namespace

NamespaceReadings read_namespaces(const fs::path& root, const std::string& apptainer) {
  NamespaceReadings readings;
  readings.container = container_of(root, apptainer);
  const fs::path own = root / "proc/self/ns";
  const std::string ipc = link(own / "ipc"), pid = link(own / "pid"), net = link(own / "net");
  readings.own_ipc = !ipc.empty() && ipc != kHostIpc;
  readings.own_pid = !pid.empty() && pid != kHostPid;
  const std::string first_net = link(root / "proc/1/ns/net");
  // Process 1 is the container's in a PID namespace of its own, and says nothing about the host.
  readings.own_net = !readings.own_pid && !net.empty() && !first_net.empty() && net != first_net;
  return readings;
}

Check judge_namespaces(const NamespaceReadings& readings) {
  const Subject subject{"namespaces", "Namespaces"};
  std::string own;
  for (const auto& [is_own, what] :
       {std::pair{readings.own_ipc, "IPC"}, {readings.own_pid, "PID"}, {readings.own_net, "network"}})
    if (is_own) own += fmt::format("{}{}", own.empty() ? "" : ", ", what);
  const std::string place = !readings.container.empty() ? fmt::format("In {}", readings.container)
                            : own.empty()               ? "No container"
                                                        : "In a container of an unknown kind";
  if (own.empty())
    return works(subject,
                 fmt::format("{}; IPC and PID namespaces are the host's, so that ranks can share memory", place));
  return degraded(subject,
                  fmt::format("{}, with {} namespace{} of its own: ranks in here can share memory with each other, "
                              "not with ranks in other containers",
                              place, own, own.find(',') == std::string::npos ? "" : "s"),
                  fix_for(readings.container));
}

}  // namespace sennit::doctor
