#include "shim/mpi/p2p/probes.h"

namespace sennit::shim::mpi {

void Probes::match(Handle message, Handle comm) {
  if (!receives_.is_watching()) return;
  const std::lock_guard lock(mutex_);
  comms_[message] = comm;
}

Handle Probes::comm_of(Handle message) {
  const std::lock_guard lock(mutex_);
  const auto found = comms_.find(message);
  return found != comms_.end() ? found->second : kNoHandle;
}

std::optional<std::int64_t> Probes::announced(const CommRegistry::Peer& from, int tag, std::int64_t bytes,
                                              bool taken) {
  const auto ask = [&](auto& transport) -> std::optional<std::int64_t> {
    const auto length = static_cast<std::uint64_t>(bytes);
    const auto announced = transport.announced(from.world_rank, tag, from.members, length, taken);
    return announced ? std::optional(static_cast<std::int64_t>(*announced)) : std::nullopt;
  };
  if (from.world_rank < 0 || from.world_rank == job_.rank) return std::nullopt;
  if (job_.communicators->group().same_node(from.world_rank)) return ask(*transports_.live_messages());
  msg::Pipeline* const pipeline = transports_.pipeline();
  return pipeline != nullptr ? ask(*pipeline) : std::nullopt;
}

std::optional<std::int64_t> Probes::length(Handle comm, int source, int tag, std::int64_t bytes, bool taken) {
  if (transports_.live_messages() == nullptr || job_.communicators == nullptr ||
      !msg::Rts::step_of(static_cast<std::uint64_t>(bytes)))
    return bytes;
  const auto from = job_.communicators->peer(comm, source);
  if (!announced(from, tag, bytes, false)) return bytes;
  // A probe finds no message that an open receive takes, so these have been given others, that came before: perhaps
  // the RTS.
  const auto matched = [&](const Receive& receive) {
    return receive.source && (*receive.source == source || *receive.source == job_.mpi.any_source()) &&
           (receive.tag == tag || receive.tag == job_.mpi.any_tag());
  };
  if (requests_.any_unseen(comm, matched)) return std::nullopt;
  return announced(from, tag, bytes, taken).value_or(bytes);  // again: those may have been looked at meanwhile
}

}  // namespace sennit::shim::mpi
