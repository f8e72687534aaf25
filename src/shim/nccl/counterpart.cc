#include "shim/nccl/counterpart.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "coll/team.h"
#include "shim/nccl/card.h"
#include "shim/nccl/translate.h"
#include "shim/shared_gpu.h"

namespace sennit::shim::nccl {

namespace {

/// For how many seconds the loss of a rank that others wait for is no error of theirs: a default. Under NCCL such a
/// wait ends by ncclCommAbort alone, and a program that goes on without the rank needs seconds to notice and to
/// abort; one with a watchdog (PyTorch) ends at the first asynchronous error. The emulation waits in the call, where
/// no program can abort.
constexpr double kBelief = 10, kEmulatedBelief = 1;

/// How long a kernel waits for another rank: as long as NCCL's would, since programs have their own ideas of how long
/// is too long (a rank may write a checkpoint meanwhile), and end what waits by ncclCommAbort.
constexpr std::chrono::nanoseconds kWithoutEnd = std::chrono::hours(24 * 365);

/// A limit: with more, bytes of all ranks are no 64-bit number.
constexpr std::size_t kMostElements = std::size_t{1} << 56;

constexpr const char* kNoPlan = "no plan was measured here beside this NCCL (sennit tune collectives)";

/// Slot of a rank in the control segment, and its words.
constexpr int kRanksSlot = plan::Chooser::kFirstSlot + plan::Chooser::kSlots;
enum Word : std::size_t {
  kLeaving,   ///< how far it has come with leaving: 0, kQuiet, kUnmapped
  kMistakes,  ///< of rank 0: whether a mistake of the program's was told
  kHasEnded,  ///< whether all of its work was done when the program ended the communicator
  kShares,    ///< which library has had how many of its collectives
};
constexpr std::uint64_t kQuiet = 1;     ///< nothing of this rank runs any more
constexpr std::uint64_t kUnmapped = 2;  ///< and it has given up what it had mapped of others

std::atomic<std::uint64_t>& word_of(const comm::Group& group, int rank, Word word) {
  return group.control().slot(group.node_index(rank), kRanksSlot).words[word];
}

/// `measured`: as a table has it.
std::string another_nccl(std::string_view measured, const Switches& switches) {
  return fmt::format("{} was measured here, this is {} (sennit tune collectives --nccl {})",
                     measured.empty() ? "another one" : measured, switches.nccl, switches.nccl_file);
}

/// Why no call is sennit's by this table; nothing where some may be, for having measured faster. What is made for
/// calls takes memory of all GPUs.
std::optional<std::string> no_use(const Switches& switches, const plan::Table& table) {
  std::optional<std::string> other_nccl;
  bool others = false;
  for (const plan::Entry& entry : table.entries) {
    if (entry.nccl_us <= 0) continue;
    if (entry.nccl != switches.nccl) {
      if (!other_nccl) other_nccl = another_nccl(entry.nccl, switches);
    } else if (switches.takes(switch_of(entry.which.operation))) {
      return std::nullopt;
    } else {
      others = true;
    }
  }
  if (others) return "no plan was measured here for what SENNIT_OPS names";
  return other_nccl.value_or(kNoPlan);
}

/// What NCCL's numbers say; none where sennit has no such, or where other ranks may say otherwise.
std::optional<device::Reduction> reduction_of(const Call& call) {
  const auto type = type_of(call.type);
  if (!type) return std::nullopt;
  if (!coll::reduces(operation_of(call.entry))) return device::Reduction{*type};
  const auto op = operator_of(call.op);
  if (!op || !device::supports(*type, *op)) return std::nullopt;
  return device::Reduction{*type, *op};
}

/// Seconds of the steady clock.
double clock_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Collective over the node's ranks: the table that all go by, since they would decide differently by different ones.
/// One that is of no use ends no program: NCCL is there.
Result<plan::Table> common_table(path::Node& node, std::uint64_t scratch_bytes, const Switches& switches) {
  auto own = plan::own_table(node.mover().machine(), scratch_bytes);
  const bool of_use = own.ok() && !no_use(switches, *own);
  const auto tables =
      comm::agree(node.group().exchange(), own.status(), comm::Writer().text(of_use ? plan::hash(*own) : "").take());
  if (!tables) return tables.status();
  if (std::ranges::adjacent_find(*tables, std::not_equal_to()) != tables->end())
    return Status(Code::mismatch, "not all ranks have the same table of collectives", {},
                  "Give all ranks the same SENNIT_CACHE or SENNIT_TABLE");
  return own;
}

/// What took how long.
class Stages {
 public:
  void end(std::string_view name) {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> took = now - std::exchange(start_, now);
    text_ += fmt::format(" {} {:.1f} ms", name, took.count());
  }
  const std::string& text() const { return text_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string text_;
};

}  // namespace

Result<Counterpart::Made> Counterpart::create(std::unique_ptr<comm::Exchange> exchange, const Shape& shape,
                                              const Config& config, Memories& memories, const Switches& switches,
                                              bool own_thread) {
  Stages stages;
  auto executor = memories.executor_for_communicator(own_thread ? shape.device : -1);
  stages.end("executor");
  const plan::Room room =
      executor.ok() ? room_on((*executor)->concurrent_blocks(shape.device), allowed_blocks(config)) : plan::Room();
  const auto scratch = coll::wanted_scratch();
  auto cards = comm::agree(*exchange, executor.ok() ? scratch.status() : executor.status(),
                           Card::of(switches, config, room, scratch.ok() ? *scratch : 0).write());
  if (!cards) return cards.status();
  const auto agreed = compare(*cards, shape.rank);
  if (!agreed) return agreed.status();
  // Kernels of sennit's would take SMs all the same.
  if (agreed->no_blocks) return Made{nullptr, "a rank wants no CTAs (NCCL_CTA_POLICY)"};
  if (!takes_any(switches)) return Made{nullptr, "SENNIT_OPS names none of its calls"};
  if (switches.take == Take::measured && !agreed->any_table) return Made{nullptr, kNoPlan};
  auto own_message = (*executor)->allocate(shape.device, 2);
  Status ready = claim_gpu(**executor, shape.device);
  if (switches.take == Take::all || !own_message) ready = own_message.status();
  if (auto all = comm::agree(*exchange, ready, {}); !all) return all.status();
  stages.end("switches");
  std::unique_ptr<Counterpart> made(new Counterpart());
  made->shape_ = shape;
  made->executor_ = *executor;
  made->own_message_ = std::move(*own_message);
  made->switches_ = switches;
  made->emulated_ = switches.emulate;
  made->has_siblings_ = agreed->siblings;
  made->any_siblings_ = agreed->any_siblings;
  made->all_block_ = agreed->blocking;
  path::Node::Options options;
  options.device = shape.device;
  options.outlast_failure = true;
  auto node = path::Node::create(std::move(exchange), *executor, std::move(options));
  if (!node) return node.status();
  made->node_ = std::move(*node);
  stages.end("node");
  comm::Group& group = made->node_->group();
  group.on_abort([failed = made->failed_](const Status&) { failed->store(clock_now()); });
  if (group.node_ranks().size() != static_cast<std::size_t>(group.size()))
    return Status(Code::unsupported, "its ranks do not reach each other's sockets and memory");
  made->shares_ = &word_of(group, shape.rank, kShares);
  // What the program has ended may be kept until the process ends, without a goodbye: see end_in_order().
  group.excuse([&group](int rank) { return word_of(group, rank, kHasEnded).load(std::memory_order_acquire) != 0; });
  std::optional<plan::Table> table;
  if (switches.take == Take::measured) {
    auto common = common_table(*made->node_, agreed->scratch_bytes, switches);
    if (!common) return common.status();
    if (auto why = no_use(switches, *common)) return Made{nullptr, *std::move(why)};
    table = *std::move(common);
  }
  auto chooser = std::make_unique<plan::Chooser>(std::move(table), false, agreed->room);
  made->chooser_ = chooser.get();
  made->collectives_ = std::make_unique<coll::Collectives>(*made->node_, std::move(chooser));
  made->collectives_->keep_blocks_for_messages();
  if (auto status = made->collectives_->meet(); !status) return status;
  made->executor_->set_timeout(kWithoutEnd);
  stages.end("collectives");
  log(LogLevel::info, fmt::format("a communicator of {} ranks has its counterpart:{}", shape.size, stages.text()));
  return Made{std::move(made), {}};
}

// ---- who does a call ----------------------------------------------------------------------------------------------

const Verdict& Counterpart::judge(const Call& call) {
  static const Verdict unknown{false, "NCCL: its type or operator"}, nothing{false, "NCCL: no bytes, or too many"},
      root{false, "NCCL: its root or peer"};
  const coll::Operation operation = operation_of(call.entry);
  if (call.count == 0 || call.count > kMostElements) return nothing;
  if ((coll::has_root(operation) || call.is_message()) && (call.root < 0 || call.root >= shape_.size)) return root;
  const std::lock_guard lock(mutex_);
  // Programs make the same call again and again.
  const bool is_same_memory = windows_.empty() || (judged_.input == call.input && judged_.output == call.output);
  if (judged_verdict_ != nullptr && judged_.is_alike(call) && is_same_memory) return *judged_verdict_;
  const auto reduction = reduction_of(call);
  if (!reduction) return unknown;
  const std::uint64_t bytes = call.count * device::bytes_of(reduction->type);
  const coll::Case which = coll::bucket_of(coll::case_of(operation, *reduction, bytes));
  auto [found, is_new] = verdicts_.try_emplace(which);
  if (is_new) found->second = decide(which);
  if (is_between_windows(call, *reduction)) {
    const Verdict& otherwise = found->second;
    coll::Case between = which;
    between.windows = true;
    std::tie(found, is_new) = verdicts_.try_emplace(between);
    if (is_new) found->second = decide_between_windows(otherwise, which);
  }
  judged_ = call;
  judged_verdict_ = &found->second;  // which stays where it is
  return found->second;
}

Verdict Counterpart::decide(const coll::Case& which) {
  if (!switches_.takes(switch_of(which.operation))) return {false, "NCCL: not in SENNIT_OPS"};
  const coll::Plan plan = collectives_->plan(which);
  if (switches_.take == Take::all) return {true, coll::name(plan)};
  const std::vector<plan::Entry> measured = chooser_->measured(which);
  if (measured.empty()) return {false, "NCCL: this size was not measured here (sennit tune collectives)"};
  for (const plan::Entry& entry : measured) {
    const std::string size = format_bytes(entry.which.bytes) + (which.windows ? " between windows" : "");
    if (entry.plans.empty())
      return {false, fmt::format("NCCL: no plan that was measured at {} fits in (blocks, scratch memory)", size)};
    if (entry.nccl_us == 0)
      return {
          false,
          fmt::format("NCCL: it was not measured at {} when this machine was tuned (sennit tune collectives)", size)};
    if (entry.nccl != switches_.nccl) return {false, "NCCL: " + another_nccl(entry.nccl, switches_)};
    if (!entry.beats_nccl())
      return {false, fmt::format("NCCL: measured faster at {} ({:.1f} µs, sennit {:.1f})", size, entry.nccl_us,
                                 entry.plans.front().us)};
  }
  return {true, coll::name(plan)};
}

// ---- calls --------------------------------------------------------------------------------------------------------

Result<coll::Request> Counterpart::request_of(const Call& call) {
  const std::lock_guard lock(mutex_);
  const auto reduction = reduction_of(call);
  if (!reduction)
    return Status(Code::invalid_argument, fmt::format("there is no operator {} for type {}", call.op, call.type));
  coll::Request request;
  request.operation = operation_of(call.entry);
  request.input = call.entry == Entry::bcast ? call.output : call.input;
  request.output = call.output;
  request.count = call.count;
  request.reduction = *reduction;
  if (coll::has_root(request.operation)) request.root = call.root;
  return request;
}

Status Counterpart::finish_emulated() {
  if (!emulated_) return {};
  for (;;) {
    const auto idle = collectives_->idle();
    if (!idle.ok() || *idle) break;
    if (auto status = check(); !status) {
      executor_->abort();  // as a program's watchdog would end it
      (void)node_->lane().synchronize();
      return status;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  auto status = node_->lane().synchronize();
  return status.ok() || node_->check().ok() ? status : node_->check();
}

// ---- how it ends --------------------------------------------------------------------------------------------------

Status Counterpart::check() {
  const Status group = node_->check();
  if (auto work = executor_->fault(); !work) return group.ok() ? collectives_->explain(work) : group;
  if (group.ok()) return look_for_mistakes();
  // Nothing is wrong with a rank that is gone and that nobody waits for.
  if (clock_now() - failed_->load() < (emulated_ ? kEmulatedBelief : kBelief)) return {};
  const auto idle = collectives_->idle();
  return idle.ok() && *idle ? Status() : group;
}

Status Counterpart::look_for_mistakes() {
  const comm::Group& group = node_->group();
  std::vector<comm::Operation> latest;
  std::vector<bool> ended;
  std::vector<Shares> shares;
  for (int rank = 0; rank < shape_.size; ++rank) {
    latest.push_back(group.last_operation(rank));
    ended.push_back(word_of(group, rank, kHasEnded).load(std::memory_order_acquire) != 0);
    shares.push_back(Shares::of(word_of(group, rank, kShares).load(std::memory_order_relaxed)));
  }
  const auto gone = ended_before(latest, ended, shape_.rank);
  auto mistake = mistake_among(latest, shape_.rank);
  if (!mistake) mistake = mistake_between(latest, shares, shape_.rank);
  if (!gone && !mistake) return {};
  if (const auto idle = collectives_->idle(); !idle.ok() || *idle) return {};
  if (gone)
    return Status(Code::peer_lost,
                  fmt::format("rank {} has ended the communicator, and does not come to this call", *gone), {},
                  "Let all ranks make the same calls before they end it");
  // One rank's word is enough.
  auto& said = word_of(group, 0, kMistakes);
  if (said.exchange(1, std::memory_order_relaxed) == 0) log(LogLevel::warning, *mistake);
  return {};
}

void Counterpart::abort() {
  // Kernels of others are left to them: what follows on their streams must not begin as if they had ended well.
  node_->group().abort(Status(Code::aborted, "the program ended the communicator", "ncclCommAbort"));
  executor_->abort();
  is_aborted_.store(true, std::memory_order_release);
}

void Counterpart::end_in_order() {
  word_of(node_->group(), shape_.rank, kHasEnded).store(1, std::memory_order_release);
}

bool Counterpart::may_go() {
  // A graph may run, now or later, whatever the program has said of the communicator.
  if (has_graphs()) return false;
  comm::Group& group = node_->group();
  const auto others_are = [&](std::uint64_t state) {
    for (int rank = 0; rank < shape_.size; ++rank)
      if (rank != shape_.rank && word_of(group, rank, kLeaving).load(std::memory_order_acquire) < state &&
          !group.has_left(rank))
        return false;
    return true;
  };
  auto& own = word_of(group, shape_.rank, kLeaving);
  if (own.load(std::memory_order_relaxed) == 0) {
    // After an error of the device nothing runs any more either.
    if (const auto idle = collectives_->idle(); idle.ok() && !*idle) return false;
    own.store(kQuiet, std::memory_order_release);
  }
  if (own.load(std::memory_order_relaxed) == kQuiet) {
    if (!others_are(kQuiet)) return false;
    unmap_windows();
    collectives_->unmap();
    own.store(kUnmapped, std::memory_order_release);
  }
  return others_are(kUnmapped);
}

bool Counterpart::is_idle() {
  const auto idle = collectives_->idle();
  return !idle.ok() || *idle;
}

Status Counterpart::flush() {
  for (;;) {
    const auto idle = collectives_->idle();
    if (!idle.ok()) return idle.status();
    // What was aborted runs no more either.
    if (auto status = check(); !status || *idle) return status;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace sennit::shim::nccl
