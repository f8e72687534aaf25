// Checks whether this process is in a container, and whether processes outside it could share memory with it.
#pragma once

#include <filesystem>
#include <string>

#include "doctor/check.h"

namespace sennit::doctor {

struct NamespaceReadings {
  std::string container;  ///< "Docker", "Podman", "Kubernetes", "Apptainer", …; empty outside
  bool own_ipc = false;   ///< not the host's IPC namespace
  bool own_pid = false;   ///< not the host's PID namespace
  bool own_net = false;   ///< not the network namespace of process 1, where that may be read
};

/// Reads below `root`; `apptainer` is the value of APPTAINER_CONTAINER or SINGULARITY_CONTAINER.
NamespaceReadings read_namespaces(const std::filesystem::path& root = "/", const std::string& apptainer = {});

Check judge_namespaces(const NamespaceReadings& readings);

}  // namespace sennit::doctor
