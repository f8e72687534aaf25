#include "shim/mpi/p2p/transports.h"

namespace sennit::shim::mpi {

namespace {

/// A rank may take so long to say whether it looks at all it receives, once: a default, a thousand times as long as
/// it takes. A rank that is stopped has its first messages staged.
constexpr std::chrono::milliseconds kAnswering(100);

}  // namespace

msg::IpcCache* Transports::ipc_cache() {
  stage::Gpus* const gpus = staging_.gpus();
  if (gpus == nullptr || job_.communicators == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (ipc_cache_ == nullptr)
    ipc_cache_ = std::make_unique<msg::IpcCache>(job_.communicators->group(), gpus->executor());
  return ipc_cache_.get();
}

msg::Messages* Transports::messages() {
  msg::IpcCache* const exported = ipc_cache();
  if (exported == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (messages_ == nullptr) {
    messages_ = std::make_unique<msg::Messages>(
        job_.communicators->group(), job_.communicators->job(), *staging_.made_gpus(), *exported, look_alikes_,
        [memories = &job_.memories] { return memories->executor_for_communicator(); });
    live_messages_.store(messages_.get(), std::memory_order_release);
  }
  return messages_.get();
}

msg::Pipeline* Transports::pipeline() {
  if (job_.communicators == nullptr || job_.communicators->beside() == kNoHandle) return nullptr;
  stage::Gpus* const gpus = staging_.gpus();
  if (gpus == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (pipeline_ == nullptr) {
    CommRegistry& all = *job_.communicators;
    carrier_ = std::make_unique<MpiCarrier>(job_.mpi, all.beside(), all.peer_query());
    pipeline_ =
        std::make_unique<msg::Pipeline>(*carrier_, job_.rank, all.job(), *gpus, *staging_.host(), look_alikes_);
  }
  return pipeline_.get();
}

msg::Facts Transports::facts_of(std::uint64_t bytes, int world_rank) {
  CommRegistry& all = *job_.communicators;
  msg::Facts facts{.bytes = bytes, .same_node = all.group().same_node(world_rank)};
  const auto is_staged = [&] { return msg::select(facts).protocol == msg::Protocol::staged; };
  if (is_staged()) return facts;
  if (!facts.same_node) facts.may_pipeline = job_.switches.between != Between::staged && pipeline() != nullptr;
  if (is_staged()) return facts;
  facts.listens = facts.same_node ? all.listens(world_rank) : all.peer_query().listens(world_rank, kAnswering);
  return facts;
}

std::unique_ptr<msg::SendTransfer> Transports::announce(const Call& call, std::string_view& why) {
  const Part& part = call.parts[0];
  const auto uniform = part.elements.type == kNoHandle ? std::nullopt : job_.mpi.uniform(part.elements.type);
  why = "derived type with gaps";
  if (!uniform) return nullptr;
  const std::uint64_t bytes = static_cast<std::uint64_t>(part.count()) * static_cast<std::uint64_t>(uniform->count) *
                              bytes_of(uniform->meaning);
  why = "small";
  if (part.count() < 0 || bytes < msg::kLeastAnnounced) return nullptr;
  why = "a tag that MPI refuses";  // which MPICH need not say of an RTS either, and its receiver never comes
  if (call.tag < 0 || call.tag > job_.mpi.largest_tag()) return nullptr;
  why = "SENNIT_OPS";
  if (!job_.wants(call)) return nullptr;
  why = "to itself, or a process of another job";
  const auto to =
      job_.communicators != nullptr ? job_.communicators->peer(call.comm, call.dest) : CommRegistry::Peer();
  if (to.world_rank < 0 || to.world_rank == job_.rank) return nullptr;
  const msg::Facts facts = facts_of(bytes, to.world_rank);
  const auto selected = msg::select(facts);
  why = selected.reason;
  if (selected.protocol == msg::Protocol::staged) return nullptr;
  const stage::MemInfo held = job_.memories.info_of(part.address);
  const msg::Envelope envelope{to.world_rank, call.tag, call.comm, to.members};
  if (!facts.same_node) {
    why = "too many on their way";
    return pipeline()->announce(part.address, bytes, held.device, envelope);
  }
  why = msg::select({.bytes = bytes, .shareable = false}).reason;
  msg::Messages* const here = messages();
  if (here == nullptr) return nullptr;
  return here->announce(part.address, bytes, envelope, held.sync_memops, call.family == Family::Ssend);
}

void Transports::finish() {
  live_messages_.store(nullptr, std::memory_order_release);
  messages_.reset();
  ipc_cache_.reset();
}

}  // namespace sennit::shim::mpi
