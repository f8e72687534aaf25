#include "doctor/namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

std::filesystem::path tree(const std::string& ipc, const std::string& pid, const std::string& net) {
  const auto root = scratch();
  link(root / "proc/self/ns/ipc", ipc);
  link(root / "proc/self/ns/pid", pid);
  link(root / "proc/self/ns/net", net);
  link(root / "proc/1/ns/net", "net:[4026531840]");
  return root;
}

TEST(Namespaces, AreTheHostsOutsideContainers) {
  const auto root = tree("ipc:[4026531839]", "pid:[4026531836]", "net:[4026531840]");
  write(root / "proc/1/cgroup", "0::/init.scope\n");
  const NamespaceReadings readings = read_namespaces(root);
  EXPECT_EQ(readings.container, "");
  EXPECT_FALSE(readings.own_ipc || readings.own_pid || readings.own_net);
  EXPECT_EQ(judge_namespaces(readings).state, State::works);
}

TEST(Namespaces, OfADockerContainerAreItsOwn) {
  const auto root = tree("ipc:[4026532900]", "pid:[4026532901]", "net:[4026532903]");
  write(root / ".dockerenv", "");
  const NamespaceReadings readings = read_namespaces(root);
  EXPECT_EQ(readings.container, "Docker");
  EXPECT_TRUE(readings.own_ipc && readings.own_pid);
  EXPECT_FALSE(readings.own_net) << "process 1 is the container's own";
  const Check check = judge_namespaces(readings);
  EXPECT_EQ(check.state, State::degraded);
  EXPECT_THAT(check.detail, HasSubstr("IPC, PID namespaces of its own"));
  EXPECT_THAT(check.fix, HasSubstr("--ipc=host"));
}

TEST(Namespaces, NameTheContainersKind) {
  const auto root = tree("ipc:[4026532900]", "pid:[4026531836]", "net:[4026532903]");
  write(root / "proc/1/cgroup", "12:devices:/kubepods/besteffort/pod1\n");
  NamespaceReadings readings = read_namespaces(root);
  EXPECT_EQ(readings.container, "Kubernetes");
  EXPECT_TRUE(readings.own_net);
  EXPECT_THAT(judge_namespaces(readings).fix, HasSubstr("hostIPC: true"));
  write(root / "proc/1/cgroup", "0::/libpod-1\n");
  EXPECT_EQ(read_namespaces(root).container, "Podman");
  EXPECT_EQ(read_namespaces(root, "/images/a.sif").container, "Apptainer");
}

TEST(Namespaces, OfAnUnknownContainerAreNamedToo) {
  const Check check = judge_namespaces(read_namespaces(tree("ipc:[4026532900]", "pid:[4026532901]", "net:[1]")));
  EXPECT_EQ(check.state, State::degraded);
  EXPECT_THAT(check.detail, HasSubstr("unknown kind"));
}

TEST(Namespaces, UnreadableOnesAreNoFinding) {
  EXPECT_EQ(judge_namespaces(read_namespaces(scratch())).state, State::works);
}

}  // namespace
}  // namespace sennit::doctor
