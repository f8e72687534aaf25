#include "shim/nccl/communicator.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "coll/team.h"
#include "shim/nccl/abi/types.h"
#include "shim/nccl/call_mismatch.h"
#include "shim/shared_gpu.h"

namespace sennit::shim::nccl {

namespace {

/// A default: for how many seconds the loss of a rank that others wait for is no error of theirs. Under NCCL such a
/// wait ends by ncclCommAbort alone, and a program that goes on without the rank needs seconds to notice and to
/// abort; one with a watchdog (PyTorch) ends at the first asynchronous error. The emulation waits in the call, where
/// no program can abort.
constexpr double kBelief = 10, kEmulatedBelief = 1;

/// A kernel waits as long for another rank as NCCL's would, since programs have their own ideas of how long
/// is too long (a rank may write a checkpoint meanwhile), and end what waits by ncclCommAbort.
constexpr std::chrono::nanoseconds kWithoutEnd = std::chrono::hours(24 * 365);

/// Values of EndingSlot::leaving.
constexpr std::uint64_t kQuiet = 1;     ///< nothing of this rank runs any more
constexpr std::uint64_t kUnmapped = 2;  ///< and it has given up what it had mapped of others

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Collective over the node's ranks: the table that all go by, since they would decide differently by different ones.
/// One that is of no use ends no program: NCCL is there.
Result<plan::Table> common_table(node::Node& node, std::uint64_t scratch_bytes, const Switches& switches) {
  auto own = plan::own_table(node.machine(), scratch_bytes);
  const bool of_use = own.ok() && !reason_against(*own, switches);
  const auto tables =
      comm::agree(node.group().exchange(), own.status(), comm::Writer().text(of_use ? plan::hash(*own) : "").take());
  if (!tables) return tables.status();
  if (std::ranges::adjacent_find(*tables, std::not_equal_to()) != tables->end())
    return Status(Code::mismatch, "not all ranks have the same table of collectives", {},
                  "Give all ranks the same SENNIT_CACHE or SENNIT_TABLE");
  return own;
}

/// Returns true for a collective in which ranks wait for each other: NCCL ends one that moves nothing at once.
bool waits_for_others(const Call& call) {
  return !call.is_message() && call.count > 0;
}

}  // namespace

/// Times the stages of the making.
class Communicator::Stages {
 public:
  void end(std::string_view name) {
    const double now = seconds_now();
    text_ += fmt::format(" {} {:.1f} ms", name, 1e3 * (now - std::exchange(start_, now)));
  }
  const std::string& text() const { return text_; }

 private:
  double start_ = seconds_now();
  std::string text_;
};

// ---- how it is made -----------------------------------------------------------------------------------------------

Result<Communicator::Made> Communicator::create(std::unique_ptr<comm::Exchange> exchange, const CommPlace& place,
                                                const Config& config, stage::PointerCache& memories,
                                                const Switches& switches, bool own_thread) {
  Stages stages;
  auto executor = memories.executor_for_communicator(own_thread ? place.device : -1);
  stages.end("executor");
  const plan::Room room =
      executor.ok() ? room_on((*executor)->concurrent_blocks(place.device), allowed_blocks(config)) : plan::Room();
  const auto scratch = coll::wanted_scratch();
  CommInfo info = CommInfo::of(switches, config, room, scratch.ok() ? *scratch : 0);
  if (executor.ok()) info.look_at_map(**executor, place.device);
  auto infos = comm::agree(*exchange, executor.ok() ? scratch.status() : executor.status(), info.write());
  if (!infos) return infos.status();
  tell_of_map(*infos, place.rank);
  const auto agreed = compare(*infos, place.rank);
  if (!agreed) return agreed.status();
  // Kernels of sennit's would take SMs all the same.
  if (agreed->no_blocks) return Made{nullptr, "a rank wants no CTAs (NCCL_CTA_POLICY)"};
  if (!takes_any(switches)) return Made{nullptr, "SENNIT_OPS names none of its calls"};
  if (switches.take == Take::measured && !agreed->any_table) return Made{nullptr, kNoPlan};
  auto own_message = (*executor)->allocate(place.device, 2);
  Status ready = claim_gpu(**executor, place.device);
  if (switches.take == Take::all || !own_message) ready = own_message.status();
  if (auto all = comm::agree(*exchange, ready, {}); !all) return all.status();
  stages.end("switches");
  std::unique_ptr<Communicator> made(new Communicator());
  made->place_ = place;
  made->agreed_ = *agreed;
  made->switches_ = switches;
  made->executor_ = *executor;
  made->own_message_ = std::move(*own_message);
  auto reason = made->build(std::move(exchange), stages);
  if (!reason) return reason.status();
  if (!reason->empty()) return Made{nullptr, *std::move(reason)};
  stages.end("collectives");
  log(LogLevel::info, fmt::format("a communicator of {} ranks is also sennit's:{}", place.size, stages.text()));
  return Made{std::move(made), {}};
}

Result<std::string> Communicator::build(std::unique_ptr<comm::Exchange> exchange, Stages& stages) {
  node::Node::Options options;
  options.device = place_.device;
  options.outlast_failure = true;
  auto inner = plan::Communicator::create(std::move(exchange), executor_, std::move(options));
  if (!inner) return inner.status();
  inner_ = std::move(*inner);
  stages.end("node");
  comm::Group& group = node().group();
  group.on_abort([failed = failed_](const Status&) { failed->store(seconds_now()); });
  if (group.node_ranks().size() != static_cast<std::size_t>(group.size()))
    return Status(Code::unsupported, "its ranks do not reach each other's sockets and memory");
  counts_ = &group.slots(place_.rank).ending.counts;
  // What the program has ended may be kept until the process ends, without a goodbye: see mark_finalized().
  group.excuse(
      [&group](int rank) { return group.slots(rank).ending.finalized.load(std::memory_order_acquire) != 0; });
  std::optional<plan::Table> table;
  if (switches_.take == Take::measured) {
    auto common = common_table(node(), agreed_.scratch_bytes, switches_);
    if (!common) return common.status();
    if (auto reason = reason_against(*common, switches_)) return *std::move(reason);
    table = *std::move(common);
  }
  auto chooser = std::make_unique<plan::Chooser>(std::move(table), false, agreed_.room);
  plan::Chooser& chosen_by = *chooser;
  inner_->choose_by(std::move(chooser));
  collectives().keep_blocks_for_messages();
  if (auto status = collectives().meet(); !status) return status;
  executor_->set_timeout(kWithoutEnd);
  order_ = std::make_unique<StreamOrder>(*executor_, place_.device, collectives(),
                                         switches_.emulate ? &node().lane() : nullptr);
  decider_ = std::make_unique<Decider>(collectives(), chosen_by, switches_, place_.size);
  windows_ = std::make_unique<SymmetricWindows>(node(), collectives());
  return std::string();
}

// ---- calls --------------------------------------------------------------------------------------------------------

Status Communicator::is_open() const {
  if (!is_aborted_.load(std::memory_order_acquire)) return {};
  return {Code::aborted, "the program has ended the communicator", "ncclCommAbort"};
}

Status Communicator::enqueue(const Call& call, device::Lane& lane) {
  if (auto status = is_open(); !status) return status;
  const auto reduction = reduction_of(call);
  if (!reduction)
    return {Code::invalid_argument, fmt::format("there is no operator {} for type {}", call.op, call.type)};
  coll::Request request;
  request.operation = operation_of(call.entry);
  request.input = call.entry == Entry::bcast ? call.output : call.input;
  request.output = call.output;
  request.count = call.count;
  request.reduction = *reduction;
  if (coll::has_root(request.operation)) request.root = call.root;
  const Decision& decision = decider_->decide(call);
  const std::uint64_t before = collectives().calls();
  auto status = collectives().call(request, lane, decision.forced ? &*decision.forced : nullptr);
  // A captured call is not counted: no rank waits for it yet.
  if (status.ok())
    counts_->fetch_add(CallCounts::kSennits * (collectives().calls() - before), std::memory_order_relaxed);
  return status;
}

void Communicator::note_nccls(const Call& call) {
  if (waits_for_others(call)) counts_->fetch_add(CallCounts::kNccls, std::memory_order_relaxed);
}

void Communicator::note_refused(const Call& call) {
  if (waits_for_others(call)) counts_->fetch_sub(CallCounts::kNccls, std::memory_order_relaxed);
}

Status Communicator::perform(const Call& call, bool on_side_stream) {
  if (call.is_message()) return perform_messages(std::span(&call, 1), on_side_stream);
  const auto lane = on_side_stream ? order_->side_stream(std::span(&call.stream, 1)) : order_->lane(call.stream);
  return lane.ok() ? enqueue(call, **lane) : lane.status();
}

Status Communicator::perform_messages(std::span<const Call> calls, bool on_side_stream) {
  if (auto status = is_open(); !status) return status;
  std::vector<coll::Message> messages;
  std::vector<Stream> streams;
  for (const Call& call : calls) {
    const auto type = type_of(call.type);
    if (!type) return Status(Code::invalid_argument, fmt::format("there is no type {}", call.type));
    const bool sends = call.entry == Entry::send;
    coll::Message message;
    message.peer = call.root;
    message.sends = sends;
    message.at = static_cast<std::byte*>(sends ? const_cast<void*>(call.input) : call.output);
    message.bytes = call.count * device::bytes_of(*type);
    messages.push_back(message);
    if (std::ranges::find(streams, call.stream) == streams.end()) streams.push_back(call.stream);
  }
  const auto lane = on_side_stream ? order_->side_stream(streams) : order_->lane(streams.front());
  return lane.ok() ? collectives().send_receive(messages, **lane) : lane.status();
}

Status Communicator::finish_emulated() {
  if (!switches_.emulate) return {};
  for (;;) {
    const auto idle = collectives().idle();
    if (!idle.ok() || *idle) break;
    if (auto status = check(); !status) {
      executor_->abort();  // as a program's watchdog would end it
      (void)node().lane().synchronize();
      return status;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  auto status = node().lane().synchronize();
  return status.ok() || node().check().ok() ? status : node().check();
}

Status Communicator::open_window(void* data, std::uint64_t bytes, WindowHandle handle) {
  if (agreed_.any_siblings)
    return Status(Code::unsupported, "ranks of one process make such calls one after another");
  auto status = windows_->open(data, bytes, handle);
  if (status.ok()) decider_->set_windows(true);
  return status;
}

void Communicator::close_window(WindowHandle handle) {
  windows_->close(handle);
  decider_->set_windows(windows_->any());
}

// ---- how it ends --------------------------------------------------------------------------------------------------

Status Communicator::check() {
  const Status group = node().check();
  if (auto work = executor_->fault(); !work) return group.ok() ? collectives().explain(work) : group;
  if (group.ok()) return check_calls_match();
  // Nothing is wrong with a rank that is gone and that no call waits for.
  if (seconds_now() - failed_->load() < (switches_.emulate ? kEmulatedBelief : kBelief)) return {};
  const auto idle = collectives().idle();
  return idle.ok() && *idle ? Status() : group;
}

Status Communicator::check_calls_match() {
  const comm::Group& group = node().group();
  std::vector<comm::Operation> latest;
  std::vector<bool> ended;
  std::vector<CallCounts> counts;
  for (int rank = 0; rank < place_.size; ++rank) {
    latest.push_back(group.last_operation(rank));
    ended.push_back(group.slots(rank).ending.finalized.load(std::memory_order_acquire) != 0);
    counts.push_back(CallCounts::of(group.slots(rank).ending.counts.load(std::memory_order_relaxed)));
  }
  const auto gone = ended_before(latest, ended, place_.rank);
  auto mismatch = mismatch_among(latest, place_.rank);
  if (!mismatch) mismatch = mismatch_between_libraries(latest, counts, place_.rank);
  if ((!gone && !mismatch) || is_idle()) return {};
  if (gone)
    return Status(Code::peer_lost,
                  fmt::format("rank {} has ended the communicator, and does not come to this call", *gone), {},
                  "Let all ranks make the same calls before they end it");
  // One rank's word is enough.
  auto& said = group.slots(0).ending.mismatch;
  if (said.exchange(1, std::memory_order_relaxed) == 0) log(LogLevel::warning, *mismatch);
  return {};
}

void Communicator::abort() {
  // Kernels of others are left to them: what follows on their streams must not begin as if they had ended well.
  node().group().abort(Status(Code::aborted, "the program ended the communicator", "ncclCommAbort"));
  executor_->abort();
  is_aborted_.store(true, std::memory_order_release);
}

void Communicator::mark_finalized() {
  node().group().slots(place_.rank).ending.finalized.store(1, std::memory_order_release);
}

bool Communicator::is_idle() {
  const auto idle = collectives().idle();
  return !idle.ok() || *idle;
}

Status Communicator::flush() {
  for (;;) {
    const auto idle = collectives().idle();
    if (!idle.ok()) return idle.status();
    // What was aborted runs no more either.
    if (auto status = check(); !status || *idle) return status;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

bool Communicator::can_release() {
  // A graph may run, now or later, whatever the program has said of the communicator.
  if (has_graphs()) return false;
  comm::Group& group = node().group();
  const auto others_are = [&](std::uint64_t state) {
    for (int rank = 0; rank < place_.size; ++rank)
      if (rank != place_.rank && group.slots(rank).ending.leaving.load(std::memory_order_acquire) < state &&
          !group.has_left(rank))
        return false;
    return true;
  };
  auto& own = group.slots(place_.rank).ending.leaving;
  if (own.load(std::memory_order_relaxed) == 0) {
    if (!is_idle()) return false;
    own.store(kQuiet, std::memory_order_release);
  }
  if (own.load(std::memory_order_relaxed) == kQuiet) {
    if (!others_are(kQuiet)) return false;
    windows_->unmap();
    collectives().unmap();
    own.store(kUnmapped, std::memory_order_release);
  }
  return others_are(kUnmapped);
}

}  // namespace sennit::shim::nccl
