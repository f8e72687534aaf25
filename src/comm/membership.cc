#include "comm/membership.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/environment.h"
#include "comm/secret.h"

namespace sennit::comm {

Result<Member> describe_self(int rank) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (!std::getline(file, boot) || boot.empty())
    return Status(Code::system_error, "cannot read /proc/sys/kernel/random/boot_id", {},
                  "Mount /proc in the container: ranks of one host recognise each other by it");
  Result<std::string> socket = random_hex(16), nonce = random_hex(32);
  if (!socket) return socket.status();
  if (!nonce) return nonce.status();
  Member member;
  member.rank = rank;
  const Digest hash = sha256(boot);
  std::memcpy(&member.host, hash.data(), sizeof member.host);
  struct stat network {};
  if (::stat("/proc/self/ns/net", &network) == 0) member.network = network.st_ino;
  member.node = environment("SENNIT_NODE");
  member.socket = "sennit-" + *socket;
  member.nonce = *nonce;
  member.pid = ::getpid();
  member.uid = ::getuid();
  return member;
}

Bytes encode(const Member& member) {
  return Writer()
      .number(std::uint64_t(member.rank))
      .number(member.host)
      .number(member.network)
      .text(member.node)
      .text(member.socket)
      .text(member.nonce)
      .number(std::uint64_t(member.pid))
      .number(member.uid)
      .take();
}

Result<Member> decode_member(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Member member;
  member.rank = int(reader.number());
  member.host = reader.number();
  member.network = reader.number();
  member.node = reader.text();
  member.socket = reader.text();
  member.nonce = reader.text();
  member.pid = pid_t(reader.number());
  member.uid = uid_t(reader.number());
  if (Status status = reader.finish(); !status.ok()) return status;
  if (member.socket.size() != 39 || !member.socket.starts_with("sennit-"))
    return Status(Code::corrupt, "a rank gives a socket name that is none of sennit's");
  return member;
}

bool may_share_node(const Member& a, const Member& b) {
  return a.host == b.host && a.node == b.node && a.uid == b.uid;
}

std::vector<int> divide(const std::vector<std::vector<int>>& reached) {
  std::vector<int> node_of(reached.size());
  for (int rank = 0; rank < int(reached.size()); ++rank) {
    const auto reaches = [&](int other) { return std::ranges::find(reached[rank], other) != reached[rank].end(); };
    node_of[rank] = rank;
    for (int leader = 0; leader < rank && node_of[rank] == rank; ++leader) {
      if (node_of[leader] != leader) continue;
      bool all = true;
      for (int other = leader; other < rank; ++other) all = all && (node_of[other] != leader || reaches(other));
      if (all) node_of[rank] = leader;
    }
  }
  return node_of;
}

}  // namespace sennit::comm
