#include "coll/collectives.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "coll/reduce_alone.h"
#include "device/launch.h"

namespace sennit::coll {

namespace {

constexpr bool overlap(const std::byte* a, std::uint64_t a_bytes, const std::byte* b, std::uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

/// Says what a rank reads and writes.
struct Buffers {
  std::uint64_t input_bytes = 0, output_bytes = 0;  ///< 0: none
  std::uint64_t input_own = 0, output_own = 0;      ///< where this rank's own message is in them

  /// Describes an operation where every rank gives or gets a message of `bytes`.
  Buffers(Operation operation, std::uint64_t bytes, bool is_root, int rank, int size) {
    const auto ranks = static_cast<unsigned>(size);
    if (gives(operation, is_root)) input_bytes = bytes * (scatters(operation) ? ranks : 1);
    if (takes(operation, is_root)) output_bytes = bytes * (gathers(operation) ? ranks : 1);
    if (scatters(operation) && !gathers(operation)) input_own = bytes * static_cast<unsigned>(rank);
    if (gathers(operation) && !scatters(operation)) output_own = bytes * static_cast<unsigned>(rank);
  }
};

/// Does the call of a rank alone.
Status do_alone(const Call& call, device::Lane& lane) {
  if (call.operation == Operation::barrier) return {};
  if (reduces(call.operation))
    return reduce_alone({call.input, call.output, call.bytes, call.reduction, kEveryRank, {}}, lane);
  if (call.operation == Operation::sendrecv) return lane.copy(call.output, call.input, call.bytes);
  const Exchange::Message own =
      call.operation == Operation::all_to_all_v
          ? call.messages.with[0]
          : exchange_of(call.operation, call.input, call.output, call.bytes, call.root, 0, 1).with[0];
  return own.from == own.to ? Status() : lane.copy(own.to, own.from, own.sent);
}

}  // namespace

Status Collectives::check_buffer(const void* data, std::uint64_t bytes, device::Access access,
                                 std::string_view what) const {
  if (data == nullptr)
    return Status(Code::invalid_argument, fmt::format("{} is null", what), {}, "Pass the address of an allocation");
  return check_memory(data, bytes, access).in(std::string(what));
}

Status Collectives::check_memory(const void* data, std::uint64_t bytes, device::Access access) const {
  device::Executor& executor = node_.executor();
  // A glance is enough for what GPUs reach; what it does not know deserves a name.
  if (executor.kind() == device::Kind::cuda && executor.holder(data)) return {};
  auto location = executor.describe(data, bytes);
  if (!location) return location.status();
  const bool reachable = location->place != device::Place::pageable;
  if (!reachable && executor.kind() == device::Kind::cuda)
    return Status(Code::invalid_argument, fmt::format("{} is pageable host memory, which kernels cannot reach", data),
                  {}, "Pass GPU memory, or pinned or managed host memory");
  const bool known = location->bytes != 0;
  const auto before =
      known ? static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location->base) : std::uint64_t{0};
  if (known ? bytes > location->bytes - before : !device::is_usable(data, bytes, access))
    return Status(Code::invalid_argument,
                  fmt::format("{} from {} reach beyond the memory there", format_bytes(bytes), data), {},
                  "Check the count and the type");
  return {};
}

Status Collectives::prepare() {
  if (scratch_ == nullptr) {
    auto bytes = wanted_scratch();
    Status status = bytes.status();
    if (status.ok()) status = load_algorithms(node_.executor(), node_.device());
    // The lowest rank's size counts: each has an environment of its own.
    auto sizes = comm::agree(node_.group().exchange(), status, comm::Writer().number(bytes ? *bytes : 0).take());
    if (!sizes) return sizes.status();
    comm::Reader first(sizes->front());
    const std::uint64_t wanted = first.number();
    auto scratch = Scratch::create(node_, wanted, keeps_blocks_for_messages() ? blocks_.first : kMostBlocks);
    if (!scratch) return scratch.status();
    if (status = chooser_->meet(node_, (*scratch)->team(), wanted); !status.ok()) {
      (void)(*scratch)->close();  // peers map it
      return status;
    }
    scratch_ = std::move(*scratch);
  }
  return {};
}

Status Collectives::meet() {
  const std::lock_guard lock(mutex_);
  return node_.size() == 1 ? Status() : prepare();
}

void Collectives::note(const Call& call) {
  const Noted noted{call.operation, noted_.load(std::memory_order_relaxed).sequence + 1};
  noted_.store(noted, std::memory_order_relaxed);
  node_.group().note(name(noted.operation), noted.sequence, -1, call.bytes);
}

Status Collectives::follow(device::Lane& lane) {
  const std::lock_guard lock(mutex_);
  return order_.follow(lane);
}

Plan Collectives::plan(const CallKey& which) {
  const std::lock_guard lock(mutex_);
  return chooser_->plan(which);
}

void Collectives::forget_windows() {
  const std::lock_guard lock(mutex_);
  windows_ = {};
}

bool Collectives::reaches(const Call& call) {
  const std::lock_guard lock(mutex_);
  return windows_.reach(call, node_.size()).has_value();
}

Status Collectives::use(const std::shared_ptr<path::Window>& window) {
  auto one = Windows::look_at(node_, *window);  // meets all ranks: not while other threads' calls wait
  if (!one) return one.status();
  const std::lock_guard lock(mutex_);
  if (*one) windows_.add(**one);
  return {};
}

bool Collectives::uses(const path::Window& window) {
  const std::lock_guard lock(mutex_);
  return windows_.has(window);
}

void Collectives::forget(const path::Window& window) {
  const std::lock_guard lock(mutex_);
  windows_.remove(window);
}

Status Collectives::check(const Request& request) const {
  const device::Reduction& reduction = request.reduction;
  if (reduces(request.operation) && !device::supports(reduction.type, reduction.op))
    return Status(Code::invalid_argument,
                  fmt::format("{} is not for {}", device::name(reduction.op), device::name(reduction.type)), {},
                  "Bit and logical operators are for integers");
  if (has_root(request.operation) && (request.root < 0 || request.root >= node_.size()))
    return Status(Code::invalid_argument, fmt::format("there is no rank {} to be the root", request.root), {},
                  fmt::format("Use 0 to {}", node_.size() - 1));
  if (request.count > ~std::uint64_t{0} / device::bytes_of(reduction.type) / static_cast<unsigned>(node_.size()))
    return Status(Code::invalid_argument, fmt::format("{} elements are more than any memory holds", request.count));
  return {};
}

Status Collectives::check_buffers(const Request& request, std::uint64_t bytes) const {
  const Buffers buffers(request.operation, bytes, node_.rank() == request.root, node_.rank(), node_.size());
  const auto* const input = static_cast<const std::byte*>(request.input);
  const auto* const output = static_cast<const std::byte*>(request.output);
  const bool reads = buffers.input_bytes != 0, writes = buffers.output_bytes != 0;
  const bool in_place = reads && writes && input != nullptr && output != nullptr &&
                        input + buffers.input_own == output + buffers.output_own;
  // The larger buffer holds the other, where the call works in place.
  const auto access = in_place ? device::Access::write : device::Access::read;
  if (reads && !(in_place && buffers.input_bytes <= buffers.output_bytes))
    if (auto status = check_buffer(input, buffers.input_bytes, access, "input"); !status) return status;
  if (writes && !(in_place && buffers.output_bytes < buffers.input_bytes))
    if (auto status = check_buffer(output, buffers.output_bytes, device::Access::write, "output"); !status)
      return status;
  if (in_place && request.operation == Operation::sendrecv)
    return Status(Code::invalid_argument, "a message cannot come to where one is sent from", {},
                  "Give it another output");
  if (!in_place && reads && writes && overlap(input, buffers.input_bytes, output, buffers.output_bytes))
    return Status(Code::invalid_argument, "input and output overlap without being the same", {},
                  "Work in place (this rank's own message at the same address in both), or into another buffer");
  return {};
}

Result<Exchange> Collectives::messages_of(const Request& request) const {
  const auto ranks = static_cast<std::size_t>(node_.size());
  const auto own = static_cast<std::size_t>(node_.rank());
  for (const auto& array : {request.sent, request.sent_from, request.received, request.received_to})
    if (array.size() != ranks)
      return Status(Code::invalid_argument, fmt::format("{} counts for {} ranks", array.size(), ranks), {},
                    "Give counts and places for every rank");
  if (request.sent[own] != request.received[own])
    return Status(
        Code::invalid_argument,
        fmt::format("this rank sends itself {} elements and receives {}", request.sent[own], request.received[own]),
        {}, "Make both the same");
  const std::uint64_t width = device::bytes_of(request.reduction.type);
  const std::uint64_t most = ~std::uint64_t{0} / width / 2;
  const auto* const input = static_cast<const std::byte*>(request.input);
  auto* const output = static_cast<std::byte*>(request.output);
  Exchange exchange;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const std::uint64_t number :
         {request.sent[rank], request.sent_from[rank], request.received[rank], request.received_to[rank]})
      if (number > most)
        return Status(Code::invalid_argument, fmt::format("{} elements are more than any memory holds", number));
    Exchange::Message& with = exchange.with[rank];
    with.sent = request.sent[rank] * width;
    with.received = request.received[rank] * width;
    if (with.sent != 0) with.from = input + request.sent_from[rank] * width;
    if (with.received != 0) with.to = output + request.received_to[rank] * width;
    // Each message may lie in an allocation of its own, and the address that places count from in no allocation.
    if (with.sent != 0)
      if (auto status = check_buffer(with.from, with.sent, device::Access::read, "input"); !status) return status;
    if (with.received != 0)
      if (auto status = check_buffer(with.to, with.received, device::Access::write, "output"); !status) return status;
  }
  for (std::size_t to = 0; to < ranks; ++to)
    for (std::size_t from = 0; from < ranks; ++from) {
      const Exchange::Message &sent = exchange.with[to], &received = exchange.with[from];
      const bool stays = from == own && received.from == received.to;  // no rank writes there
      if (sent.sent == 0 || received.received == 0 || stays) continue;
      if (overlap(sent.from, sent.sent, received.to, received.received))
        return Status(Code::invalid_argument,
                      fmt::format("the message to rank {} and the one from rank {} overlap", to, from), {},
                      "Receive into memory that nothing is sent from; this rank's own message may stay where it is");
    }
  return exchange;
}

Status Collectives::call(const Request& request, device::Lane& lane, const Plan* forced) {
  if (auto status = node_.admits(); !status) return status;
  if (auto status = check(request); !status) return status;
  Call call{request.operation,
            static_cast<const std::byte*>(request.input),
            static_cast<std::byte*>(request.output),
            request.count * device::bytes_of(request.reduction.type),
            request.root,
            request.reduction,
            {}};
  call.reduction.ranks = static_cast<std::uint32_t>(node_.size());
  // Other ranks may have work in these operations where this one has none.
  const bool always = call.operation == Operation::barrier || call.operation == Operation::all_to_all_v;
  if (call.operation == Operation::all_to_all_v) {
    auto messages = messages_of(request);
    if (!messages) return messages.status();
    call.messages = *messages;
  }
  if (always) call.bytes = 0;
  if (call.bytes != 0)
    if (auto status = check_buffers(request, call.bytes); !status) return status;

  const std::lock_guard lock(mutex_);
  if (node_.size() == 1) {
    auto turn = order_.take(lane);
    if (!turn) return turn.status();
    if (auto status = do_alone(call, lane); !status) return status;
    return order_.end(lane, *turn);
  }
  if (auto status = prepare(); !status) return status;
  if (call.bytes == 0 && !always) return {};
  call.reach = windows_.reach(call, node_.size());
  const CallKey which = call_key_of(call.operation, call.reduction, call.bytes, call.reach.has_value());
  const Plan plan = forced != nullptr ? *forced : chooser_->call(which);
  if (uses_engines(plan.algorithm) && engines_ == nullptr) {
    const device::SetUp set_up(&node_.executor());
    auto engines = CopyEngines::create(node_.executor(), lane.device(), scratch_->team());
    if (!engines) return engines.status();
    engines_ = std::move(*engines);
  }
  auto turn = order_.take(lane);
  if (!turn) return turn.status();
  if (turn->turn->capture == 0) note(call);
  if (forced == nullptr)
    if (auto status = chooser_->starts(lane); !status) return status;
  if (auto status = launch(plan, call, scratch_->team(), engines_.get(), lane); !status) return status;
  if (forced == nullptr)
    if (auto status = chooser_->ends(lane); !status) return status;
  return order_.end(lane, *turn);
}

Status Collectives::send_receive(std::span<const Message> messages, device::Lane& lane) {
  if (auto status = node_.admits(); !status) return status;
  std::vector<Message> planned;
  for (const Message& one : messages) {
    if (one.peer < 0 || one.peer >= node_.size())
      return Status(Code::invalid_argument, fmt::format("there is no rank {}", one.peer), {},
                    fmt::format("Use 0 to {}", node_.size() - 1));
    if (one.bytes == 0) continue;  // on both sides
    const auto access = one.sends ? device::Access::read : device::Access::write;
    const char* const what = one.sends ? "input" : "output";
    if (auto status = check_buffer(one.at, one.bytes, access, what); !status)
      return std::move(status).in(fmt::format("{} rank {}", one.sends ? "to" : "from", one.peer));
    planned.push_back(one);
  }
  if (planned.empty()) return {};
  const std::lock_guard lock(mutex_);
  auto turn = order_.take(lane);
  if (!turn) return turn.status();
  const bool is_alone = node_.size() == 1;
  for (Message& one : planned) {
    if (is_alone) break;
    const Plan plan = chooser_->plan({Operation::sendrecv, Arithmetic::none, one.bytes});
    one.blocks = std::min(plan.blocks, most_of_a_message_);
    one.threads = plan.threads;
  }
  const Team team = is_alone ? Team{} : scratch_->team();
  if (auto status = coll::send_receive(planned, team, blocks_, lane); !status) return status;
  return order_.end(lane, *turn);
}

Status Collectives::explain(Status status) {
  comm::Group& group = node_.group();
  // The mutex is not taken: a thread that asks how things stand must not wait for a call that another thread makes.
  const Noted noted = noted_.load(std::memory_order_relaxed);
  const std::uint64_t calls = noted.sequence;
  if (status.code() != Code::timed_out || calls == 0 || group.failed()) return status;
  const std::string_view latest = name(noted.operation);
  std::vector<std::string> missing;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank()) continue;
    const comm::Operation last = group.last_operation(rank);
    const bool collective = parse_operation(last.name).ok();
    if (collective && (last.sequence > calls || (last.sequence == calls && last.name == latest))) continue;
    missing.push_back(last.name.empty() ? fmt::format("rank {} (which has called nothing)", rank)
                      : collective && last.sequence == calls
                          ? fmt::format("rank {} (which called {} instead)", rank, last.name)
                          : fmt::format("rank {} (last seen in {} {})", rank, last.name, last.sequence));
  }
  if (!missing.empty())
    status = Status(Code::timed_out,
                    fmt::format("{} {} waited longer than its limit for {}", latest, calls, fmt::join(missing, ", ")),
                    std::string(status.where()),
                    "Every rank must make the same collective calls; see where that one is, or raise SENNIT_TIMEOUT");
  group.abort(status);
  return status;
}

Result<bool> Collectives::idle() {
  // A thread that enqueues may wait for room in its stream while it holds the mutex: the calls before are not over
  // then.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock ? order_.idle() : Result<bool>(false);
}

void Collectives::unmap() {
  const std::lock_guard lock(mutex_);
  if (scratch_ != nullptr) scratch_->unmap();
}

Status Collectives::close() {
  const std::lock_guard lock(mutex_);
  return scratch_ != nullptr ? scratch_->close() : Status();
}

}  // namespace sennit::coll
