#include "capi/communicator.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "coll/layout_version.h"
#include "comm/bootstrap.h"
#include "path/plan_inputs.h"

namespace sennit::capi {

namespace {

/// cudaStreamPerThread, which builds without CUDA know as well.
const void* const kStreamPerThread = reinterpret_cast<const void*>(std::uintptr_t{2});

/// Returns what ranks tell each other at set-up: their build and their options.
comm::Bytes card_of(bool messages, unsigned most_blocks) {
  const unsigned any = messages ? coll::kMostBlocks / 2 : coll::kMostBlocks;
  return comm::Writer()
      .text(coll::build_of(SENNIT_VERSION))
      .number(std::uint64_t(messages))
      .number(most_blocks == 0 ? any : std::min(most_blocks, any))
      .take();
}

/// Returns how many blocks a plan may have on every rank. Errors: mismatch.
Result<unsigned> compare_cards(const std::vector<comm::Bytes>& cards) {
  std::uint64_t least = coll::kMostBlocks;
  std::vector<bool> theirs;
  std::string first;
  for (const comm::Bytes& card : cards) {
    comm::Reader reader(card);
    std::string build = reader.text();
    if (theirs.empty()) first = build;
    if (build != first)
      return Status(Code::mismatch,
                    fmt::format("rank 0 has sennit {}, rank {} another build, {}", first, theirs.size(), build), {},
                    "Give all ranks the same libsennit");
    theirs.push_back(reader.number() != 0);
    least = std::min(least, reader.number());
    if (auto status = reader.finish(); !status) return status;
    if (theirs.back() != theirs.front())
      return Status(Code::mismatch,
                    fmt::format("options.messages is {} on rank 0 and {} on rank {}", int(theirs.front()),
                                int(theirs.back()), theirs.size() - 1),
                    {}, "Give all ranks the same");
  }
  return static_cast<unsigned>(least);
}

}  // namespace

Communicators& communicators() {
  static auto* all = new Communicators("communicator");
  return *all;
}

Registrations& registrations() {
  static auto* all = new Registrations("window");
  return *all;
}

PartitionedMessages& partitioned_messages() {
  static auto* all = new PartitionedMessages("partitioned message");
  return *all;
}

Result<std::shared_ptr<Communicator>> Communicator::create(std::unique_ptr<comm::Exchange> exchange,
                                                           Options options) {
  std::shared_ptr<Communicator> made(new Communicator());
  // An executor of its own: an abort ends one communicator, not its neighbours in the process.
  auto executor = device::open_executor();
  // A variable that makes no sense is an error here, though what reads it is made with the first window.
  const Status ready = executor.ok() ? path::transfer_options(false, false).status() : executor.status();
  auto cards = comm::agree(*exchange, ready, card_of(options.messages, options.most_blocks));
  if (!cards) return cards.status();
  auto most_blocks = compare_cards(*cards);
  if (!most_blocks) return most_blocks.status();
  options.most_blocks = *most_blocks;
  made->executor_ = std::move(*executor);
  const device::SetUp set_up(made->executor_.get());  // another thread may be capturing
  made->options_ = options;
  auto inner = plan::Communicator::create(std::move(exchange), made->executor_, std::move(options.node));
  if (!inner) return inner.status();
  made->inner_ = std::move(*inner);
  made->inner_->choose_by(
      std::make_unique<plan::Chooser>(std::nullopt, true, plan::Room{*most_blocks, *most_blocks}));
  made->options_.node.device = made->node().device();
  made->lanes_[nullptr].lane = &made->node().lane();
  if (options.messages) {
    made->collectives().keep_blocks_for_messages(*most_blocks);
    // The two ranks of a message meet no other rank, so all ranks must meet now.
    if (auto status = made->collectives().meet(); !status) return status;
  }
  return made;
}

Result<path::PartitionedService*> Communicator::partitioned() {
  const std::lock_guard lock(partitioned_mutex_);
  if (partitioned_ == nullptr) {
    auto made = path::PartitionedService::create(node());
    if (!made) return made.status();
    partitioned_ = std::move(*made);
  }
  return partitioned_.get();
}

Result<Communicator::Adopted*> Communicator::adopt(void* stream) {
  {
    const std::shared_lock lock(lanes_mutex_);
    if (const auto found = lanes_.find(stream); found != lanes_.end()) return &found->second;
  }
  // A communicator waits for the streams that it was called with, from any thread.
  if (stream == kStreamPerThread)
    return Status(Code::invalid_argument, "cudaStreamPerThread is another stream in every thread", "stream",
                  "Pass a stream of your own (cudaStreamCreate)");
  auto own = executor_->adopt(node().device(), stream);
  if (!own) return std::move(own).status().in("stream");
  const std::unique_lock lock(lanes_mutex_);
  Adopted& adopted = lanes_[stream];
  if (adopted.lane == nullptr) {
    adopted.own = std::move(*own);
    adopted.lane = adopted.own.get();
  }
  return &adopted;
}

Result<device::Lane*> Communicator::lane(void* stream) {
  auto adopted = adopt(stream);
  if (!adopted) return adopted.status();
  (*adopted)->used.store(true, std::memory_order_release);
  return (*adopted)->lane;
}

Status Communicator::wait(Adopted& adopted) {
  // The flag is cleared before the wait: what another thread enqueues meanwhile is not lost.
  adopted.used.store(false, std::memory_order_release);
  return inner_->synchronize(*adopted.lane);
}

Status Communicator::synchronize(void* stream) {
  auto adopted = adopt(stream);
  return adopted ? wait(**adopted) : adopted.status();
}

Status Communicator::settle() {
  std::vector<Adopted*> used;
  {
    const std::shared_lock lock(lanes_mutex_);
    for (auto& [stream, adopted] : lanes_)
      if (adopted.used.load(std::memory_order_acquire)) used.push_back(&adopted);
  }
  Status first;
  for (Adopted* adopted : used)
    if (auto status = wait(*adopted); first.ok()) first = std::move(status);
  if (collectives().has_graphs()) {  // which are replayed on whatever streams
    auto status = collectives().follow(node().lane());
    if (status.ok()) status = inner_->synchronize(node().lane());
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status Communicator::check() {
  return inner_->check();
}

Result<void*> Communicator::keep(Result<device::Memory> memory) {
  if (!memory) return memory.status();
  void* data = memory->data();
  const std::lock_guard lock(memory_mutex_);
  memory_.emplace(data, std::move(*memory));
  return data;
}

Result<void*> Communicator::allocate(std::uint64_t bytes) {
  if (auto status = node().check(); !status) return status;
  return bytes == 0 ? nullptr : keep(executor_->allocate(node().device(), bytes));
}

Result<void*> Communicator::allocate_pinned(std::uint64_t bytes) {
  if (auto status = node().check(); !status) return status;
  return bytes == 0 ? nullptr : keep(executor_->allocate_pinned(bytes));
}

Status Communicator::free(void* data) {
  // A transfer that failed is no longer in progress either, and its error is not this call's.
  (void)settle();
  device::Memory freed;  // ends after the lock
  const std::lock_guard lock(memory_mutex_);
  const auto found = memory_.find(data);
  if (found == memory_.end())
    return Status(Code::invalid_argument, fmt::format("{} is not memory that this communicator allocated", data), {},
                  "Free once, the address that sennit_memory_allocate gave");
  const std::byte* const begin = found->second.data();
  const std::byte* const end = begin + found->second.bytes();
  for (const path::Window* window : windows_)
    if (const auto bytes = window->bytes(node().rank());
        bytes != 0 && window->data() < end && begin < window->data() + bytes)
      return Status(Code::invalid_argument, fmt::format("{} is registered", data), {}, "Deregister it first");
  freed = std::move(found->second);
  memory_.erase(found);
  return {};
}

std::string_view Communicator::name(Call call) {
  switch (call) {
    case Call::open: return "sennit_register";
    case Call::open_symmetric: return "sennit_register_symmetric";
    case Call::close: return "sennit_deregister";
    case Call::barrier: return "sennit_comm_barrier";
    case Call::leave: return "sennit_comm_destroy";
    case Call::split: return "sennit_comm_split";
  }
  return "another call";
}

Status Communicator::compare(const std::vector<comm::Bytes>& cards, Call call, std::uint64_t number) const {
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    comm::Reader reader(cards[rank]);
    const auto theirs = Call(reader.number());
    const std::uint64_t their_number = reader.number();
    if (!reader.finish().ok() || theirs != call)
      return Status(Code::mismatch,
                    fmt::format("rank {} calls {}, rank {} {}", rank, name(theirs), node().rank(), name(call)), {},
                    "Make the same collective calls in the same order on every rank");
    if (their_number != number)
      return Status(
          Code::mismatch,
          fmt::format("rank {} deregisters window {}, rank {} window {}", rank, their_number, node().rank(), number),
          {}, "Deregister windows in the same order on every rank");
  }
  return {};
}

// Every collective call begins so. It is a barrier already.
Status Communicator::meet(Call call, std::uint64_t number) {
  comm::Group& group = node().group();
  if (group.failed()) return group.check();
  if (leaving_ && call != Call::leave)
    return Status(Code::invalid_argument, "comm is being destroyed by another thread", {}, "Make calls before that");
  auto cards = comm::agree(group.exchange(), executor_->fault(),
                           comm::Writer().number(std::uint64_t(call)).number(number).take());
  if (cards.ok()) return compare(*cards, call, number);
  // A dead rank closes the exchange's connection too: its name, which the group learns in a moment, says more.
  const auto patience = comm::Deadline::after(std::chrono::milliseconds(200));
  while (cards.status().code() == Code::peer_lost && !group.failed() && !patience.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return group.failed() ? group.check() : cards.status();
}

Status Communicator::barrier() {
  const std::lock_guard lock(collective_);
  return meet(Call::barrier, 0);
}

Result<comm::Part> Communicator::divide(int color, int key) {
  const std::lock_guard lock(collective_);
  if (auto status = meet(Call::split, 0); !status) return status;
  comm::Group& group = node().group();
  return comm::divide(group.exchange(), {color, key, group.leader()});
}

Result<std::shared_ptr<Communicator>> Communicator::split(int color, int key) {
  auto part = divide(color, key);
  if (!part) return part.status();
  if (part->place.size == 0) return std::shared_ptr<Communicator>();
  auto exchange = comm::meet_over_tcp(part->place, std::move(part->listener));
  if (!exchange) return exchange.status();
  return create(std::move(*exchange), options_);
}

Result<std::shared_ptr<path::Window>> Communicator::open(void* data, std::uint64_t bytes, bool symmetric) {
  const std::lock_guard lock(collective_);
  if (auto status = meet(symmetric ? Call::open_symmetric : Call::open, 0); !status) return status;
  auto window = one_sided().open(data, bytes);
  if (!window) return window;
  if (symmetric)
    if (auto status = collectives().use(*window); !status) {
      (void)one_sided().close(*window);  // on every rank: the error is the same
      return status;
    }
  const std::lock_guard memory_lock(memory_mutex_);
  windows_.push_back(window->get());
  return window;
}

Status Communicator::close(const std::shared_ptr<path::Window>& window) {
  const std::lock_guard lock(collective_);
  {
    const std::lock_guard memory_lock(memory_mutex_);
    std::erase(windows_, window.get());
  }
  Status settled = settle();
  if (auto status = meet(Call::close, window->number()); !status) {
    // The window's memory may be freed after this; and of ranks that end different windows each would go on with
    // another one.
    collectives().forget_windows();
    return status;
  }
  collectives().forget(*window);
  if (auto status = one_sided().close(window); !status) return status;
  return settled;
}

Status Communicator::leave() {
  const std::lock_guard lock(collective_);
  {
    // Once all ranks have come, no rank writes to another's memory.
    const std::lock_guard partitioned_lock(partitioned_mutex_);
    if (partitioned_ != nullptr) partitioned_->stop();
  }
  Status settled = settle();
  if (auto status = meet(Call::leave, 0); !status) return status;
  if (auto status = collectives().close(); !status) return status;
  return settled;
}

}  // namespace sennit::capi
