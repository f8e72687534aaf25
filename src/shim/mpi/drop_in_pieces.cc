// What of the drop-in has to do with messages to and from ranks of other nodes.
#include <algorithm>

#include "shim/mpi/drop_in.h"

namespace sennit::shim::mpi {

namespace {

/// How long a rank may take to say whether it looks at all it receives, once: a default, a thousand times as long as
/// it takes. One that is stopped has its first messages staged.
constexpr std::chrono::milliseconds kAnswering(100);

}  // namespace

Pieces* DropIn::pieces() {
  if (communicators_ == nullptr || communicators_->beside() == kNoHandle || gpus() == nullptr) return nullptr;
  const std::lock_guard lock(gpus_mutex_);
  if (pieces_ == nullptr)
    pieces_ = std::make_unique<Pieces>(*mpi_, communicators_->beside(), rank_, communicators_->job(),
                                       communicators_->questions(), *gpus_, *host_, look_alikes_);
  return pieces_.get();
}

std::unique_ptr<Outgoing> DropIn::announce_elsewhere(const void* data, std::uint64_t bytes, const Envelope& to,
                                                     std::string_view& why) {
  why = "to another node, and short";
  if (bytes < Pieces::kLeast) return nullptr;
  why = "to another node";
  if (switches_.between == Between::staged || pieces() == nullptr) return nullptr;
  why = "to a process of another node that uses no GPU yet";
  if (!communicators_->questions().listens(to.dest, kAnswering)) return nullptr;
  why = "too many on their way";
  return pieces_->announce(data, bytes, memories_->held_again(data).device, to);
}

std::vector<int> DropIn::awaited_elsewhere() {
  std::vector<int> awaited;
  if (communicators_->beside() == kNoHandle) return awaited;
  const auto announcers = communicators_->questions().announcers();
  const auto may_announce = [&](int rank) { return std::ranges::find(announcers, rank) != announcers.end(); };
  for (const auto& [request, open] : requests_.moving()) {
    const std::lock_guard lock(open->mutex);
    if (!open->active) continue;
    if (open->outgoing != nullptr) awaited.push_back(open->outgoing->peer());
    if (open->receive == nullptr) continue;
    const Receive& receive = *open->receive;
    if (receive.incoming != nullptr) {
      awaited.push_back(receive.incoming->peer());
    } else if (receive.looked) {
      continue;
    } else if (const Handle comm = open->comm();
               receive.source && *receive.source != mpi_->any_source() && comm != kNoHandle) {
      const int from = communicators_->world_rank(comm, *receive.source);
      if (may_announce(from)) awaited.push_back(from);
    } else {
      awaited.insert(awaited.end(), announcers.begin(), announcers.end());
    }
  }
  std::ranges::sort(awaited);
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  std::erase_if(awaited, [&](int rank) { return rank < 0 || communicators_->group().same_node(rank); });
  return awaited;
}

}  // namespace sennit::shim::mpi
