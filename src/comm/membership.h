// Says who is who, and which ranks can map each other's memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "comm/wire.h"

namespace sennit::comm {

/// Holds what every rank tells every other about itself.
struct Member {
  int rank = 0;
  std::uint64_t host = 0;     ///< hash of the kernel's boot id: equal on one host, containers included
  std::uint64_t network = 0;  ///< network namespace's number on that host
  std::string node;           ///< SENNIT_NODE; empty where it is not set
  std::string socket;         ///< abstract Unix socket its agent listens at; hexadecimal, 128 random bits
  std::string nonce;          ///< fresh random digits: all of them together make the group's key fresh
  pid_t pid = 0;              ///< in its own PID namespace
  uid_t uid = 0;
};

/// This process. Errors: system_error (no random numbers, no boot id).
Result<Member> describe_self(int rank);

Bytes encode(const Member& member);
/// Errors: corrupt, also when the socket's name is not one that describe_self() makes.
Result<Member> decode_member(std::span<const std::byte> bytes);

/// Returns whether two ranks could be of one node, before any rank has tried: they have one host, SENNIT_NODE and
/// user.
bool may_share_node(const Member& a, const Member& b);

/// Divides ranks into nodes: node_of[rank] is the lowest rank (the leader) of its node. `reached[r]` lists the
/// ranks below r whose socket r could really reach. A rank joins the first node all of whose ranks it reached,
/// so that within a node everybody reaches everybody. Pure: every rank computes the same.
std::vector<int> divide(const std::vector<std::vector<int>>& reached);

}  // namespace sennit::comm
