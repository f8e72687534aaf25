#include "shim/nccl/meeting.h"

#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/environment.h"
#include "coll/layout_version.h"
#include "comm/handshake.h"
#include "comm/secret.h"
#include "comm/socket.h"
#include "comm/tcp_exchange.h"

namespace sennit::shim::nccl {

namespace {

constexpr const char* kPurpose = "nccl";

}  // namespace

std::string own_build() {
  return coll::build_of(SENNIT_VERSION);
}

std::string key_of(std::string_view shared, std::string_view build) {
  const comm::Digest digest = comm::Sha256().add(build).add(" ").add(shared).finish();
  return comm::hex(digest);
}

Meeting::Meeting(std::string key, int index, int most)
    : key_(std::move(key)), node_(environment("SENNIT_NODE")), index_(index), most_(most) {
  auto listening = comm::listen_unix(name(std::to_string(index)));
  announced_ = listening.status();
  if (listening.ok()) there_ = std::move(*listening);
}

// The key proves who belongs to the communicator, and a socket's name is seen by everyone.
std::string Meeting::name(std::string_view who) const {
  return "sennit-nccl-" + comm::hex(comm::Sha256().add(key_).add(node_).add(" ").add(who).finish()).substr(0, 40);
}

std::vector<int> Meeting::present() const {
  std::vector<int> there;
  for (int index = 0; index < most_; ++index)
    if (comm::connect_unix(name(std::to_string(index)), comm::Deadline::after(comm::milliseconds(1000))).ok())
      there.push_back(index);
  return there;
}

Result<std::unique_ptr<comm::Exchange>> Meeting::meet(int rank, int size) const {
  if (size == 1) return comm::alone();
  const auto limit = comm::wait_limit();
  if (!limit) return limit.status();
  const auto deadline = comm::Deadline::after(*limit);
  const comm::Door door{kPurpose, key_, 0, size};
  if (rank == 0) {
    auto listener = comm::listen_unix(name("host"));
    if (!listener) return listener.status();
    std::set<int> expected;
    for (int guest = 1; guest < size; ++guest) expected.insert(guest);
    return comm::host_exchange(size, key_, comm::admit(listener->get(), door, expected, true, deadline));
  }
  for (;;) {
    auto host = comm::connect_unix(name("host"), deadline);
    Status status = host.status();
    if (status.ok()) status = comm::knock(host->get(), door, rank, deadline);
    if (status.ok()) return comm::guest_exchange(rank, size, key_, std::move(*host));
    // Rank 0 may not have come so far.
    if (status.code() != Code::not_found || deadline.passed()) return status;
    std::this_thread::sleep_for(comm::milliseconds(1));
  }
}

}  // namespace sennit::shim::nccl
