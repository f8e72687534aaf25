#include "shim/mpi/p2p/receives.h"

#include <array>
#include <cstring>
#include <utility>

namespace sennit::shim::mpi {

bool Receives::begin_to_watch(bool request) {
  if (is_watching()) return true;
  if (job_.communicators == nullptr) return false;
  if (!job_.memories.cuda_initialized() || unseen_.load(std::memory_order_relaxed) ||
      transports_.messages() == nullptr) {
    if (request) unseen_.store(true, std::memory_order_relaxed);
    return false;
  }
  (void)transports_.pipeline();  // what is looked at may be its RTS
  job_.communicators->listen();
  watching_.store(true, std::memory_order_release);
  return true;
}

std::unique_ptr<Receive> Receives::watch(const Call& call, const StagedBuffers& staged) {
  const std::size_t index = static_cast<std::size_t>(call.count) - 1;  // the last buffer is what is received into
  const Part& part = call.parts[index];
  Shape shape;
  if ((part.address == nullptr && !part.absolute) || part.elements.type == kNoHandle ||
      job_.mpi.shape(part.elements.type, shape) != 0)
    return nullptr;
  const std::int64_t capacity = part.count() * shape.size;
  if (capacity < static_cast<std::int64_t>(msg::kLeastLookedAt)) return nullptr;
  auto receive = std::make_unique<Receive>();
  receive->function = call.function();
  if (reporting_.explains()) receive->detail = staged.how();
  receive->landed = staged.memory()[index];
  receive->goes_on = staged.scattered(index) && staged.memory().types[index] != kNoHandle;
  receive->buffer = receive->goes_on ? receive->landed : const_cast<void*>(part.address);
  receive->held = receive->goes_on ? stage::MemInfo{} : staged.held(index);
  receive->capacity = capacity;
  receive->source = call.source;
  receive->tag = call.tag;
  if (!receive->goes_on && !job_.mpi.uniform(part.elements.type)) {
    receive->type = job_.mpi.keep(part.elements.type, receive->type_keeper);
    if (receive->type == kNoHandle) return nullptr;
  }
  return receive;
}

void Receives::look(Receive& receive, std::int64_t bytes, Program program) {
  receive.looked = true;
  fetch_announced(receive, bytes, program);
  if (!reporting_.explains() || receive.incoming != nullptr || receive.error != 0) return;
  if (receive.held.device < 0 || bytes <= 0) return;  // the host's, which passes as it is
  reporting_.explain_way(receive.function, static_cast<std::uint64_t>(bytes), "staged: " + std::string(kFromHost),
                         receive.detail);
}

void Receives::fetch_announced(Receive& receive, std::int64_t bytes, Program program) {
  if (bytes < static_cast<std::int64_t>(msg::kLeastLookedAt) || bytes > static_cast<std::int64_t>(msg::kLongestRts))
    return;
  const void* came = receive.landed;
  std::array<std::byte, msg::kLongestRts> packed;
  if (receive.type != kNoHandle) {
    // Only what may be an RTS is packed of a large element.
    const auto rows = job_.mpi.strided(receive.type);
    if (rows && rows->data() >= bytes)
      stage::gather(*rows, static_cast<const std::byte*>(receive.landed), bytes, packed.data());
    else if (const int code = job_.mpi.pack(receive.landed, receive.type, bytes, packed.data()); code != 0)
      receive.error = code;
    if (receive.error != 0) return;
    came = packed.data();
  }
  const auto length = static_cast<std::uint64_t>(bytes);
  msg::Messages* const messages = transports_.live_messages();
  msg::Pipeline* const pipeline = transports_.live_pipeline();
  const bool matched = !receive.source;
  if (messages->is_rts(came, length)) {
    msg::Rts rts{};  // what came may be where the message goes
    std::memcpy(&rts, came, sizeof rts);
    const auto to = target(receive, rts.bytes);
    if (!to) return messages->refuse(rts, matched);
    // Several are copied by one kernel of their sender's, which takes hardly longer for them than for one.
    const bool at_once = program == Program::waits && receive.held.sync_memops && to->device >= 0 &&
                         rts.bytes <= msg::kMostKernelGet && !requests_.any_pending_receive();
    receive.incoming = messages->fetch(rts, matched, to->data, to->device, at_once);
  } else if (pipeline != nullptr && pipeline->is_rts(came, length)) {
    msg::Pipeline::Rts rts{};
    std::memcpy(&rts, came, sizeof rts);
    const auto to = target(receive, rts.bytes);
    if (!to) return pipeline->refuse(rts);
    receive.incoming = pipeline->fetch(rts, to->data, to->device);
  }
}

std::optional<Receives::Target> Receives::target(Receive& receive, std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(receive.capacity)) {
    receive.error = job_.mpi.err_truncate();
    return std::nullopt;
  }
  if (receive.type == kNoHandle) return Target{receive.buffer, receive.held.device};
  auto room = staging_.host()->acquire(bytes);
  if (!room) {
    receive.error = job_.mpi.err_no_memory();
    return std::nullopt;
  }
  receive.packed = std::move(*room);
  return Target{receive.packed.data(), -1};
}

bool Receives::arrived(Receive& receive, Handle comm) {
  if (receive.incoming == nullptr || receive.error != 0) return true;
  const auto done = receive.incoming->test();
  if (!done) {
    reporting_.say("receiving a message", comm, done.status());
    receive.error = reporting_.code_of(done.status());
    return true;
  }
  if (*done && reporting_.explains())
    reporting_.explain_way(receive.function, receive.incoming->bytes(), receive.incoming->how(),
                           receive.type != kNoHandle ? ", and unpacked there" : "");
  return *done;
}

int Receives::complete(Receive& receive, Handle comm, StagedBuffers* staged, std::int64_t& bytes,
                       stage::SmallCopyBatch* copies) {
  if (receive.error != 0) {
    if (staged != nullptr) staged->mark_written(staged->bytes());
    return job_.mpi.fail(comm, receive.error);
  }
  if (receive.incoming == nullptr) {
    const auto given = staged != nullptr ? staged->copy_out(bytes, copies) : Status();
    return given.ok() ? 0 : reporting_.fail("receiving a message", comm, given);
  }
  bytes = static_cast<std::int64_t>(receive.incoming->bytes());
  if (receive.goes_on) {
    const auto given = staged != nullptr ? staged->copy_out(bytes) : Status();
    return given.ok() ? 0 : reporting_.fail("receiving a message", comm, given);
  }
  if (receive.type == kNoHandle) {
    if (staged != nullptr) staged->mark_written(msg::kLongestRts);
    return 0;
  }
  if (const int code = job_.mpi.unpack(receive.packed.data(), bytes, receive.landed, receive.type); code != 0)
    return job_.mpi.fail(comm, code);
  const auto given = staged != nullptr ? staged->copy_out(bytes) : Status();
  if (!given.ok()) return reporting_.fail("receiving a message", comm, given);
  staging_.host()->release(std::move(receive.packed));
  return 0;
}

}  // namespace sennit::shim::mpi
