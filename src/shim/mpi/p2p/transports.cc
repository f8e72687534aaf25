#include "shim/mpi/p2p/transports.h"

namespace sennit::shim::mpi {

namespace {

/// How long a rank may take to say whether it looks at all it receives, once: a default, a thousand times as long as
/// it takes. One that is stopped has its first messages staged.
constexpr std::chrono::milliseconds kAnswering(100);

}  // namespace

IpcCache* Transports::ipc_cache() {
  stage::Gpus* const gpus = staging_.gpus();
  if (gpus == nullptr || job_.communicators == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (ipc_cache_ == nullptr) ipc_cache_ = std::make_unique<IpcCache>(job_.communicators->group(), gpus->executor());
  return ipc_cache_.get();
}

Messages* Transports::messages() {
  IpcCache* const lent = ipc_cache();
  if (lent == nullptr) return nullptr;
  stage::Gpus& gpus = *staging_.made_gpus();
  const std::lock_guard lock(mutex_);
  if (messages_ == nullptr) {
    messages_ =
        std::make_unique<Messages>(job_.communicators->group(), job_.communicators->job(), gpus, *lent, look_alikes_,
                                   [memories = &job_.memories] { return memories->executor_for_communicator(); });
    live_messages_.store(messages_.get(), std::memory_order_release);
  }
  return messages_.get();
}

Pipeline* Transports::pieces() {
  if (job_.communicators == nullptr || job_.communicators->beside() == kNoHandle) return nullptr;
  stage::Gpus* const gpus = staging_.gpus();
  if (gpus == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (pieces_ == nullptr)
    pieces_ = std::make_unique<Pipeline>(job_.mpi, job_.communicators->beside(), job_.rank, job_.communicators->job(),
                                         job_.communicators->peer_query(), *gpus, *staging_.host(), look_alikes_);
  return pieces_.get();
}

std::unique_ptr<SendTransfer> Transports::announce(const Call& call, std::string_view& why) {
  const Part& part = call.parts[0];
  const auto uniform = part.elements.type == kNoHandle ? std::nullopt : job_.mpi.uniform(part.elements.type);
  why = "derived type with gaps";
  if (!uniform) return nullptr;
  const std::uint64_t bytes = static_cast<std::uint64_t>(part.count()) * static_cast<std::uint64_t>(uniform->count) *
                              bytes_of(uniform->meaning);
  why = "small";
  if (part.count() < 0 || bytes < kLeastAnnounced) return nullptr;
  why = "a tag that MPI refuses";  // which MPICH need not say of an RTS either, and its receiver never comes
  if (call.tag < 0 || call.tag > job_.mpi.largest_tag()) return nullptr;
  why = "SENNIT_OPS";
  if (!job_.wants(call)) return nullptr;
  why = "to itself, or a process of another job";
  const auto to =
      job_.communicators != nullptr ? job_.communicators->peer(call.comm, call.dest) : CommRegistry::Peer();
  if (to.world_rank < 0 || to.world_rank == job_.rank) return nullptr;
  const Envelope envelope{to.world_rank, call.tag, call.comm, to.members};
  if (!job_.communicators->group().same_node(to.world_rank))
    return announce_elsewhere(part.address, bytes, envelope, why);
  why = "to a process that uses no GPU yet";
  if (!job_.communicators->listens(to.world_rank)) return nullptr;
  why = "memory that cannot be shared, or too many on their way";
  Messages* const here = messages();
  if (here == nullptr) return nullptr;
  const bool synchronous = call.family == Family::Ssend;
  return here->announce(part.address, bytes, envelope, job_.memories.info_of(part.address).sync_memops, synchronous);
}

std::unique_ptr<SendTransfer> Transports::announce_elsewhere(const void* data, std::uint64_t bytes,
                                                             const Envelope& to, std::string_view& why) {
  why = "to another node, and short";
  if (bytes < Pipeline::kLeast) return nullptr;
  why = "to another node";
  if (job_.switches.between == Between::staged || pieces() == nullptr) return nullptr;
  why = "to a process of another node that uses no GPU yet";
  if (!job_.communicators->peer_query().listens(to.dest, kAnswering)) return nullptr;
  why = "too many on their way";
  return pieces_->announce(data, bytes, job_.memories.info_of(data).device, to);
}

void Transports::finish() {
  live_messages_.store(nullptr, std::memory_order_release);
  messages_.reset();
  ipc_cache_.reset();
}

}  // namespace sennit::shim::mpi
