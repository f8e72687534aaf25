#include "shim/nccl/rendezvous.h"

#include <algorithm>
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
#include "comm/wire.h"

namespace sennit::shim::nccl {

namespace {

constexpr const char* kPurpose = "nccl";

std::string key_of_id(const UniqueId& id) {
  return key_of(fmt::format("grow {}", std::string_view(reinterpret_cast<const char*>(&id), sizeof id)));
}

Status not_all_here() {
  return Status(Code::unsupported, "it was grown, and its ranks are not all on this machine, with this sennit");
}

/// Makes the bridge's message: 1 if all are there, and to the old ranks the key.
comm::Bytes word_of(bool complete, const std::string& key) {
  return comm::Writer().number(complete ? 1 : 0).text(key).take();
}

/// Returns the key in the one message that is not empty, if all are there.
Result<std::string> heard(const std::vector<comm::Bytes>& words) {
  const auto said = std::ranges::find_if(words, [](const comm::Bytes& word) { return !word.empty(); });
  if (said == words.end()) return not_all_here();
  comm::Reader reader(*said);
  const bool complete = reader.number() == 1;
  std::string key = reader.text();
  if (auto status = reader.finish(); !status) return status;
  if (!complete) return not_all_here();
  return key;
}

Result<std::string> exchanged(const LocalRendezvous& meeting, int rank, int size, const comm::Bytes& word) {
  auto exchange = meeting.meet(rank, size);
  if (!exchange) return exchange.status();
  const auto words = (*exchange)->all_gather(word);
  return words.ok() ? heard(*words) : words.status();
}

}  // namespace

std::string own_build() {
  return coll::build_of(SENNIT_VERSION);
}

std::string key_of(std::string_view shared, std::string_view build) {
  const comm::Digest digest = comm::Sha256().add(build).add(" ").add(shared).finish();
  return comm::hex(digest);
}

LocalRendezvous::LocalRendezvous(std::string key, int index, int most)
    : key_(std::move(key)), node_(environment("SENNIT_NODE")), index_(index), most_(most) {
  auto listening = comm::listen_unix(name(std::to_string(index)));
  published_ = listening.status();
  if (listening.ok()) there_ = std::move(*listening);
}

// The key proves who belongs to the communicator, and a socket's name is seen by everyone.
std::string LocalRendezvous::name(std::string_view who) const {
  return "sennit-nccl-" + comm::hex(comm::Sha256().add(key_).add(node_).add(" ").add(who).finish()).substr(0, 40);
}

std::vector<int> LocalRendezvous::present() const {
  std::vector<int> there;
  for (int index = 0; index < most_; ++index)
    if (comm::connect_unix(name(std::to_string(index)), comm::Deadline::after(comm::milliseconds(1000))).ok())
      there.push_back(index);
  return there;
}

Result<std::unique_ptr<comm::Exchange>> LocalRendezvous::meet(int rank, int size) const {
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

GrowRendezvous GrowRendezvous::of_old(std::string shared, int rank, int size, const UniqueId* id, int most) {
  GrowRendezvous made;
  made.old_rank_ = rank;
  made.old_size_ = size;
  made.of_olds_.emplace(std::move(shared), rank, size);
  if (id == nullptr) return made;
  made.key_ = key_of_id(*id);
  made.of_news_.emplace(made.key_, most, most + 1);
  return made;
}

GrowRendezvous GrowRendezvous::of_new(const UniqueId& id, int rank, int most) {
  GrowRendezvous made;
  made.key_ = key_of_id(id);
  made.of_news_.emplace(made.key_, rank, most + 1);
  return made;
}

Result<GrowRendezvous::Met> GrowRendezvous::meet(int rank, int size) const {
  auto key = !of_olds_ ? as_new() : of_news_ ? as_bridge(size) : as_old();
  if (!key) return key.status();
  Met met{key_of(*key + " all"), nullptr};
  auto exchange = LocalRendezvous(met.key, rank, size).meet(rank, size);
  if (!exchange) return exchange.status();
  met.exchange = std::move(*exchange);
  return met;
}

Result<std::string> GrowRendezvous::as_bridge(int size) const {
  const int news = static_cast<int>(of_news_->present().size()) - 1;
  const bool all_olds = of_olds_->present().size() == static_cast<std::size_t>(old_size_);
  bool complete = all_olds && news == size - old_size_;
  // No rank waits for those who have not published themselves: they would not come.
  if (news > 0) complete = exchanged(*of_news_, 0, news + 1, word_of(complete, {})).ok() && complete;
  if (all_olds) return exchanged(*of_olds_, old_rank_, old_size_, word_of(complete, key_));
  return not_all_here();
}

Result<std::string> GrowRendezvous::as_old() const {
  if (of_olds_->present().size() != static_cast<std::size_t>(old_size_)) return not_all_here();
  return exchanged(*of_olds_, old_rank_, old_size_, {});
}

Result<std::string> GrowRendezvous::as_new() const {
  const std::vector<int> present = of_news_->present();
  const auto place = std::ranges::find(present, of_news_->index());
  if (place == present.end() || present.back() != of_news_->most() - 1) return not_all_here();
  // The bridge is the last by number, and the first to be asked.
  const auto heard_word =
      exchanged(*of_news_, static_cast<int>(place - present.begin()) + 1, static_cast<int>(present.size()), {});
  return heard_word.ok() ? Result<std::string>(key_) : heard_word.status();
}

}  // namespace sennit::shim::nccl
