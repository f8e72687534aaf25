#include "shim/nccl/rendezvous.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/thread.h"
#include "comm/frame.h"
#include "comm/handshake.h"
#include "comm/socket.h"
#include "comm/tcp_exchange.h"
#include "shim/nccl/meeting.h"

namespace sennit::shim::nccl {

namespace {

constexpr const char* kPurposeAcross = "nccl across nodes";

/// More ranks than that are NCCL's: a limit.
constexpr int kMostAnnounced = 1024;

/// Where NCCL's own address is in its id, and ours: behind all that NCCL writes.
constexpr std::size_t kNcclAddress = 8, kOurs = 96;
/// How often whoever listens looks whether a rank is done: a default.
constexpr auto kGlance = comm::milliseconds(20);
/// How long an announcement may take: a default. The host may be busy with others.
constexpr auto kPatienceToAnnounce = std::chrono::seconds(5);

struct Invitation {
  char mark[8] = {'s', 'e', 'n', 'n', 'i', 't', ' ', '1'};
  std::uint64_t port = 0;
};

/// NCCL's address in an id, as text; empty where there is none that is known.
std::string address_in(const UniqueId& id) {
  const char* const at = id.bytes + kNcclAddress;
  sa_family_t family = 0;
  std::memcpy(&family, at, sizeof family);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, at, sizeof address);
    return inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size()) != nullptr ? text.data() : "";
  }
  if (family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, at, sizeof address);
    return inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size()) != nullptr ? text.data() : "";
  }
  return {};
}

/// Number 0 of the exchange is whoever listens: ranks come behind it.
comm::Door door_of(const std::string& key) {
  return {kPurposeAcross, key, 0, kMostAnnounced + 1};
}

/// The ranks that announced themselves until the first one was done, and how many there should be.
struct Announced {
  std::map<int, UniqueFd> ranks;
  int most = 0;
  std::set<int> done;
};

/// Reads the word that a rank is done.
Result<int> hear_done(int fd, comm::Deadline deadline) {
  auto frame = comm::receive_frame(fd, comm::Kind::item, deadline);
  if (!frame) return frame.status();
  comm::Reader reader(frame->body);
  const auto most = static_cast<int>(reader.number());
  if (auto status = reader.finish(); !status) return status;
  return most;
}

std::optional<Announced> await_done(int listener, const std::string& key) {
  Announced all;
  std::set<int> expected;
  for (int rank = 1; rank <= kMostAnnounced; ++rank) expected.insert(rank);
  for (;;) {
    // Of an id that nobody uses, no rank ever comes: nothing is done meanwhile.
    if (all.ranks.empty()) {
      pollfd door{listener, POLLIN, 0};
      (void)::poll(&door, 1, -1);
    }
    auto came = comm::admit(listener, door_of(key), expected, false, comm::Deadline::after(kGlance));
    for (auto& [rank, fd] : came.ranks) {
      expected.erase(rank);
      all.ranks.emplace(rank, std::move(fd));
    }
    for (const auto& [rank, fd] : all.ranks) {
      if (!comm::wait_for(fd.get(), POLLIN, comm::Deadline::after({}))) continue;
      const auto most = hear_done(fd.get(), comm::Deadline::after(kGlance));
      if (!most) return all;  // it is gone: what it made is on one node, or it has died
      all.most = *most;
      all.done.insert(rank);
      return all;
    }
  }
}

/// The listening side, on a thread of its own.
void host(UniqueFd listener, const std::string& key) {
  auto all = await_done(listener.get(), key);
  const auto limit = comm::wait_limit();
  if (!all || !limit) return;
  Status status;
  // Numbers are from 1 on, each once.
  if (all->most < 1 || static_cast<int>(all->ranks.size()) != all->most || all->ranks.rbegin()->first != all->most)
    status = Status(Code::unsupported, "not all ranks of the communicator run with this sennit and SENNIT_RAILS");
  const auto deadline = comm::Deadline::after(*limit);
  for (const auto& [rank, fd] : all->ranks)
    if (status.ok() && !all->done.contains(rank)) status = hear_done(fd.get(), deadline).status();
  auto exchange = comm::host_exchange(all->most + 1, key, {std::move(all->ranks), status});
  // Until the ranks have no more to say to each other.
  while (exchange.ok() && (*exchange)->all_gather({}).ok()) {
  }
}

/// Among the ranks alone.
class WithoutHost final : public comm::Exchange {
 public:
  explicit WithoutHost(std::unique_ptr<comm::Exchange> all) : all_(std::move(all)) {}
  int rank() const override { return all_->rank() - 1; }
  int size() const override { return all_->size() - 1; }
  std::string secret() const override { return all_->secret(); }
  void set_limit(comm::Clock::duration limit) override { all_->set_limit(limit); }
  void cancel() override { all_->cancel(); }
  Result<std::vector<comm::Bytes>> all_gather(std::span<const std::byte> mine) override {
    auto items = all_->all_gather(mine);
    if (items.ok()) items->erase(items->begin());
    return items;
  }

 private:
  const std::unique_ptr<comm::Exchange> all_;
};

}  // namespace

void invite(UniqueId& id) {
  static_assert(kOurs + sizeof(Invitation) <= sizeof id.bytes);
  const bool is_free = std::all_of(id.bytes + kOurs, id.bytes + sizeof id.bytes, [](char c) { return c == 0; });
  const std::string address = address_in(id);
  if (!is_free || address.empty()) return;
  auto listener = comm::listen_tcp({address, "0"});
  if (!listener) return;
  Invitation invitation;
  invitation.port = static_cast<std::uint64_t>(comm::local_port(listener->get()));
  UniqueId invited = id;
  std::memcpy(invited.bytes + kOurs, &invitation, sizeof invitation);
  // Without a thread nobody is invited.
  auto started =
      start_thread([own = std::move(*listener), key = key_of({invited.bytes, sizeof invited.bytes})]() mutable {
        try {
          host(std::move(own), key);
        } catch (const std::bad_alloc&) {  // the ranks see their connections end
        }
      });
  if (!started) return;
  id = invited;
  started->detach();
}

std::unique_ptr<Rendezvous> Rendezvous::announce(const UniqueId& id, std::string key, int index, int most) {
  Invitation invitation;
  std::memcpy(&invitation, id.bytes + kOurs, sizeof invitation);
  if (std::memcmp(invitation.mark, Invitation().mark, sizeof invitation.mark) != 0 || index < 0 || index >= most ||
      most > kMostAnnounced)
    return nullptr;
  const comm::Address address{address_in(id), std::to_string(invitation.port)};
  const auto deadline = comm::Deadline::after(kPatienceToAnnounce);
  while (!deadline.passed()) {
    auto there = comm::connect_tcp(address, deadline);
    if (!there) return nullptr;
    const auto status = comm::knock(there->get(), door_of(key), index + 1, deadline);
    if (status.ok())
      return std::unique_ptr<Rendezvous>(new Rendezvous(std::move(key), index, most, std::move(*there)));
    // Between two glances nobody answers.
    if (status.code() != Code::peer_lost && status.code() != Code::timed_out) return nullptr;
  }
  return nullptr;
}

Result<std::unique_ptr<comm::Exchange>> Rendezvous::meet() {
  const auto limit = comm::wait_limit();
  if (!limit) return limit.status();
  comm::Frame done{comm::Kind::item, comm::Writer().number(static_cast<std::uint64_t>(most_)).take(), {}};
  if (auto status = comm::send_frame(host_.get(), std::move(done), comm::Deadline::after(*limit)); !status)
    return status;
  auto exchange = comm::guest_exchange(index_ + 1, most_ + 1, key_, std::move(host_));
  if (!exchange) return exchange.status();
  return std::unique_ptr<comm::Exchange>(std::make_unique<WithoutHost>(std::move(*exchange)));
}

}  // namespace sennit::shim::nccl
