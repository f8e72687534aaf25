#include "bench/mpi/job.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/json.h"
#include "bench/mpi/calls.h"
#include "bench/mpi/over_nccl.h"
#include "shim/mpi/abi/library.h"

namespace sennit::bench::mpi {

namespace {

using shim::mpi::Flavour;
using shim::mpi::Handle;

/// Returns whether a program's calls reach another library first, as one for profiling that is preloaded.
bool others_answer(void* mpi) {
  Dl_info first{}, own{};
  void* const reached = dlsym(RTLD_DEFAULT, "MPI_Allreduce");
  void* const function = dlsym(mpi, "PMPI_Allreduce");
  return reached != nullptr && function != nullptr && dladdr(reached, &first) != 0 && dladdr(function, &own) != 0 &&
         std::string_view(first.dli_fname) != own.dli_fname;
}

/// 0 where the library has it not.
template <class Abi>
Handle handle_of(void* library, const shim::mpi::Predefined& one) {
  if constexpr (Abi::kFlavour == Flavour::standard) return one.standard;
  if constexpr (Abi::kFlavour == Flavour::mpich) return one.mpich;
  return reinterpret_cast<std::uintptr_t>(dlsym(library, one.openmpi));
}

template <class Abi>
class JobOf final : public Job {
 public:
  static Result<std::unique_ptr<Job>> start(const OpenLibrary& found, const Numbers& numbers, Memories& memories) {
    auto job = std::make_unique<JobOf>(memories);
    if (auto status = job->open(found, numbers); !status) return status;
    return std::unique_ptr<Job>(std::move(job));
  }

  explicit JobOf(Memories& memories) : memories_(memories) {}

  std::string lacks(const Benchmark& benchmark) const override { return without_.lacks(benchmark); }

  void finish() override {
    close_windows();
    if (has_ring_) (void)made_by().comm_free(&setting_.ring);
    (void)made_by().info_free(&setting_.info);
    (void)made_by().finalize();
  }

 private:
  Status open(const OpenLibrary& found, const Numbers& numbers) {
    const auto lacking = [&](const std::string& what) {
      return Status(Code::unsupported, fmt::format("{} has no {}", found.file, what), "--library",
                    "Use an MPI of version 3.0 or later");
    };
    // The preloaded library exports a name that no MPI has.
    const bool preloaded = dlsym(RTLD_DEFAULT, "sennit_emulated_allocate") != nullptr;
    auto disabled = environment_switch("SENNIT_DISABLE");
    if (!disabled) return disabled.status();
    has_sennit_ = preloaded && !*disabled;
    const bool has_observer = preloaded ? *disabled : others_answer(found.handle);
    is_observed_ = has_observer && !environment("SENNIT_OBSERVER").empty();
    if (const auto missing = find(found.handle, without_); !missing.empty()) return lacking(missing);
    if (const auto missing = find(RTLD_DEFAULT, with_); is_before_mpi() && !missing.empty()) return lacking(missing);
    library_ = shim::mpi::Library<Abi>::open(found.handle);
    if (library_ == nullptr) return lacking("function that every MPI 3.0 has");

    if (const int code = made_by().init(nullptr, nullptr); code != 0)
      return Status(Code::system_error, fmt::format("MPI_Init returned {}", code), found.file,
                    "The MPI's own messages may say why");
    shim::mpi::CommShape shape;
    (void)library_->shape(library_->comm_world(), shape);
    rank_ = shape.rank;
    size_ = shape.size;
    version_ = library_version(without_);

    setting_.world = shim::mpi::from_handle<typename Abi::Comm>(library_->comm_world());
    const Handle type = handle_of<Abi>(found.handle, *numbers.handle), op = handle_of<Abi>(found.handle, *numbers.op);
    const Handle word = handle_of<Abi>(found.handle, *predefined("type", "int64"));
    if (type == 0 || op == 0 || word == 0) return lacking("such type or operator");
    setting_.type = shim::mpi::from_handle<typename Abi::Datatype>(type);
    setting_.word = shim::mpi::from_handle<typename Abi::Datatype>(word);
    setting_.op = shim::mpi::from_handle<typename Abi::Op>(op);
    if (const int code = without_.info_create(&setting_.info); code != 0)
      return Status(Code::system_error, fmt::format("MPI_Info_create returned {}", code), found.file);
    setting_.element_bytes = static_cast<int>(device::bytes_of(numbers.reduction.type));
    return {};
  }

  Status timed(const Batch& batch, int calls, Spent& spent) override {
    if (is_one_sided(batch.layout.what.operation))
      if (auto status = open_window(batch); !status) return status;
    if (is_of_neighbours(batch.layout.what.operation))
      if (auto status = make_ring(batch.layout); !status) return status;
    return Calls<Abi>(batch.with_sennit ? with_ : without_, without_.barrier.blocking, setting_, batch, memories_)
        .run(calls, spent);
  }
  int all_gather(const void* mine, void* all, int bytes) override {
    return library_->all_gather(library_->comm_world(), mine, all, bytes);
  }

  /// Returns the functions that start and end MPI, and make what both kinds of calls use: the drop-in has to know of
  /// it.
  Functions<Abi>& made_by() { return is_before_mpi() ? with_ : without_; }
  bool is_before_mpi() const { return has_sennit_ || is_observed_; }

  /// Makes a communicator in which each rank has the one on either side as neighbours. Collective.
  Status make_ring(const Layout& layout) {
    if (has_ring_) return {};
    const int degree = layout.neighbours();
    const int ranks[] = {layout.neighbour(0), layout.neighbour(1)}, weights[] = {1, 1};
    if (const int code = made_by().dist_graph_create_adjacent(setting_.world, degree, ranks, weights, degree, ranks,
                                                              weights, setting_.info, 0, &setting_.ring);
        code != 0)
      return Status(Code::system_error, fmt::format("MPI_Dist_graph_create_adjacent returned {}", code));
    has_ring_ = true;
    return {};
  }

  /// Opens the window that a batch's calls reach into: the target's buffer. Kept for the other batches of the case,
  /// since making one takes as long as many calls. Collective.
  Status open_window(const Batch& batch) {
    const Layout& layout = batch.layout;
    if (windows_of_ != layout.what) close_windows();
    windows_of_ = layout.what;
    const auto found = windows_.find(batch.variant);
    if (found != windows_.end()) {
      setting_.win = found->second.win;
      return {};
    }
    const Functions<Abi>& call = batch.with_sennit ? with_ : without_;
    std::byte* const of_program = is_get(layout.what.operation) ? batch.input : batch.output;
    std::byte* const staged = is_get(layout.what.operation) ? batch.staged_input : batch.staged_output;
    void* const base = layout.is_target() ? (batch.by_hand() ? staged : of_program) : nullptr;
    const auto bytes = layout.is_target() ? static_cast<shim::mpi::Aint>(Layout::room(layout.what, layout.size)) : 0;
    Window made{call.win_free, {}};
    if (const int code = call.win_create(base, bytes, 1, setting_.info, setting_.world, &made.win); code != 0)
      return Status(Code::system_error, fmt::format("MPI_Win_create returned {}", code));
    setting_.win = made.win;
    windows_[batch.variant] = made;
    return {};
  }
  void close_windows() {
    for (auto& [variant, window] : windows_) (void)window.free(&window.win);
    windows_.clear();
  }

  struct Window {
    int (*free)(typename Abi::Win*);
    typename Abi::Win win;
  };

  Memories& memories_;
  std::optional<Case> windows_of_;
  std::map<std::string, Window> windows_;  // by variant: in the same order on every rank
  Functions<Abi> with_{}, without_{};
  std::unique_ptr<shim::mpi::Library<Abi>> library_;
  Setting<Abi> setting_{};
  bool has_ring_ = false;
};

}  // namespace

Result<std::unique_ptr<Job>> Job::start(const OpenLibrary& library, const Numbers& numbers, Memories& memories) {
  switch (library.flavour) {
    case Flavour::standard: return JobOf<shim::mpi::Standard>::start(library, numbers, memories);
    case Flavour::mpich: return JobOf<shim::mpi::Mpich>::start(library, numbers, memories);
    case Flavour::openmpi: break;
  }
  return JobOf<shim::mpi::OpenMpi>::start(library, numbers, memories);
}

Result<Spent> Job::run(const Batch& batch, int calls) {
  struct Told {
    Spent spent;
    std::int64_t failed;
  } mine{};
  std::vector<Told> all(static_cast<std::size_t>(size_));
  if (batch.nccl != nullptr)  // ranks begin together, as those that call MPI do behind its barrier
    (void)all_gather(&mine, all.data(), sizeof mine);
  const Status status =
      batch.nccl != nullptr ? batch.nccl->exchange(batch, calls, mine.spent) : timed(batch, calls, mine.spent);
  mine.failed = status.ok() ? 0 : 1;
  if (const int code = all_gather(&mine, all.data(), sizeof mine); code != 0)
    return Status(Code::system_error, fmt::format("MPI_Allgather returned {}", code));
  Spent slowest;
  bool failed = false;
  for (const Told& each : all) {
    slowest.us = std::max(slowest.us, each.spent.us);
    slowest.all_us = std::max(slowest.all_us, each.spent.all_us);
    failed = failed || each.failed != 0;
  }
  if (failed) return agree(status);
  return Spent{slowest.us / calls / batch.layout.what.messages(), slowest.all_us / calls};
}

Result<std::vector<std::string>> Job::gather(const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(size_);
  const auto failed = [](int code) {
    return Status(Code::system_error, fmt::format("MPI_Allgather returned {}", code));
  };
  std::int64_t length = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(ranks);
  if (const int code = all_gather(&length, lengths.data(), sizeof length); code != 0) return failed(code);
  const auto longest = static_cast<std::size_t>(std::ranges::max(lengths));
  std::vector<std::string> texts(ranks);
  if (longest == 0) return texts;
  std::string own = mine, all(longest * ranks, '\0');
  own.resize(longest);
  if (const int code = all_gather(own.data(), all.data(), static_cast<int>(longest)); code != 0) return failed(code);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    texts[rank] = all.substr(rank * longest, static_cast<std::size_t>(lengths[rank]));
  return texts;
}

Status Job::agree(const Status& mine) {
  const Json told = mine.ok() ? Json()
                              : Json{{"code", int(mine.code())},
                                     {"what", mine.what()},
                                     {"where", mine.where()},
                                     {"remedy", mine.remedy()}};
  auto all = gather(told.is_null() ? "" : told.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!all) return all.status();
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    if ((*all)[rank].empty()) continue;
    auto theirs = parse_json((*all)[rank], "what a rank says");
    if (!theirs) return theirs.status();
    Status status(Code(theirs->value("code", int(Code::system_error))), theirs->value("what", ""),
                  theirs->value("where", ""), theirs->value("remedy", ""));
    return std::move(status).in(fmt::format("rank {}", rank));
  }
  return {};
}

}  // namespace sennit::bench::mpi
