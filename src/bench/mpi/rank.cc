#include "bench/mpi/rank.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/measure/watchdog.h"
#include "bench/mpi/binding.h"
#include "bench/mpi/over_nccl.h"
#include "bench/mpi/patterns.h"
#include "bench/mpi/result.h"
#include "bench/put/result.h"
#include "bench/put/version.h"
#include "comm/job_place.h"
#include "comm/membership.h"
#include "machine/known.h"
#include "node/extras.h"

namespace sennit::bench::mpi {

namespace {

/// One case may take so long: a default, since MPI's own waits have no end.
constexpr std::chrono::seconds kLongest{300};

bool drop_in_is_loaded() {
  const auto is_it = [](dl_phdr_info* one, std::size_t, void*) {
    return std::strstr(one->dlpi_name, "libsennit-mpi.so") != nullptr ? 1 : 0;
  };
  return dl_iterate_phdr(is_it, nullptr) != 0;
}

void give_up(const std::string& what) {
  (void)fail(Status(Code::timed_out, fmt::format("it did not end within {} s", kLongest.count()), what,
                    "Look for messages of other ranks; leave it out of --operations"));
  std::_Exit(int(Exit::failed));
}

class Rank {
 public:
  Rank(const Options& options, comm::JobPlace place) : options_(options), place_(std::move(place)) {}

  Result<Exit> run() {
    auto numbers = parse_numbers(options_.type, options_.op);
    if (!numbers) return numbers.status();
    numbers_ = std::move(*numbers);
    // Wrong usage should be told at once, before MPI is started.
    if (auto cases = cases_of(options_, false, false, 2); !cases) return cases.status();
    open_memories();
    // Some launchers do not say how many ranks there are.
    if (options_.ranks_per_node > 0)
      setenv("SENNIT_NODE", fmt::format("bench-{}", place_.rank / options_.ranks_per_node).c_str(), 1);
    auto library = open_library(options_.library, place_.launcher);
    if (!library) return library.status();
    library_ = std::move(*library);
    auto job = Job::start(library_, numbers_, *memories_);
    if (!job) return job.status();
    job_ = std::move(*job);
    const Status status = measure_all();
    nccl_.reset();
    // Said before any rank ends: launchers end all others when one ends with an error.
    const Exit exit = status.ok() ? Exit::ok : reports() ? fail(status) : exit_of(status);
    job_->finish();
    return exit;
  }

 private:
  bool reports() const { return job_->rank() == 0; }

  /// Opens memories before MPI starts: some MPIs look at the current GPU then. Whether that went well is told later,
  /// to all.
  void open_memories() {
    const bool wanted = options_.buffers.empty() ||
                        std::ranges::any_of(options_.buffers, [](const std::string& each) { return each != "host"; });
    auto memories = wanted ? Memories::of_gpu(place_.local_rank) : Memories::of_host();
    if (!memories) gpu_status_ = memories.status();
    memories_ = memories ? std::move(*memories) : Memories::of_host();
    has_gpu_ = memories_->executor() != nullptr;
  }

  Status measure_all() {
    if (job_->size() < 2)
      return Status(Code::invalid_argument, "one rank alone has nobody to talk to", {},
                    "Start it as the ranks of a job: mpirun -n 2 sennit-bench-mpi");
    if (auto status = check_nodes(options_, job_->size()); !status) return status;
    if (auto status = count_nodes(); !status) return status;
    if (auto status = agree_on_gpus(); !status) return status;
    if (auto status = bind(); !status) return status;
    auto cases = options_.patterns.empty()
                     ? cases_of(options_, has_gpu_ && !memories_->emulated(), has_gpu_, job_->size())
                     : cases_of_patterns();
    if (!cases) return cases.status();
    warnings_.insert(warnings_.end(), cases->warnings.begin(), cases->warnings.end());
    leave_out_lacking(*cases);
    find_sennit();
    Rig rig(*job_, *memories_, numbers_.reduction);
    if (nccl_ != nullptr) rig.use(*nccl_);
    if (auto status = rig.make_room(cases->list); !status) return status;

    const Progress progress(options_.progress && reports());
    measure::Watchdog watchdog(kLongest, give_up);
    long done = 0;
    for (const Case& what : cases->list) {
      const auto index = std::size_t(done);
      progress.step(done++, long(cases->list.size()), describe(what));
      watchdog.begin(describe(what));
      auto status = patterns_.empty() ? measure_one(rig, what) : measure_pattern(rig, patterns_[index]);
      if (!status) return status;
    }
    watchdog.rest();
    if (reports()) print_document(cases->list);
    return {};
  }

  Result<Cases> cases_of_patterns() {
    const auto buffers = buffers_of(options_, has_gpu_);
    if (!buffers) return buffers.status();
    auto over = over_of(options_);
    if (over.back() == Over::nccl)
      if (Status status = std::move(open_nccl(*buffers)).in("--over nccl"); !status) {
        if (over.size() == 1) return status;
        warnings_.push_back(fmt::format("NCCL is left out: {}. {}.", status.what(), status.remedy()));
        over.pop_back();
      }
    auto patterns =
        read_patterns(options_.patterns, *buffers, over, device::bytes_of(numbers_.reduction.type), job_->size());
    if (!patterns) return patterns.status();
    patterns_ = std::move(*patterns);
    Cases cases;
    for (const PatternCase& each : patterns_) cases.list.push_back(each.what);
    return cases;
  }

  /// Opens NCCL where it can carry the exchanges. Errors, the same on every rank: unsupported, not_found, NCCL's.
  Status open_nccl(const std::vector<Buffers>& buffers) {
    if (std::ranges::count(buffers, Buffers::gpu) == 0)
      return {Code::unsupported, "NCCL exchanges GPU buffers alone", {}, "Measure --buffers gpu"};
    if (options_.ranks_per_node > 0)
      return {Code::unsupported, "NCCL would go between such nodes as within one", {}, "Leave --ranks-per-node out"};
    if (shares_gpu_) return {Code::unsupported, "NCCL needs a GPU for each rank", {}, "Start at most one rank a GPU"};
    auto opened = OverNccl::open(*job_, *memories_, options_.nccl);
    if (opened.status().code() == Code::not_found)
      return {Code::not_found, opened.status().what(), {}, "Install NCCL, or give --nccl FILE"};
    if (!opened) return opened.status();
    nccl_ = std::move(*opened);
    return {};
  }

  /// Leaves out operations that came with MPI 4.0 and that an older MPI lacks; where no other is left, that is all
  /// there is to say.
  void leave_out_lacking(Cases& cases) {
    std::map<std::string, std::set<std::string>> told;
    std::erase_if(cases.list, [&](const Case& what) {
      const std::string lacking = job_->lacks(what.benchmark());
      if (!lacking.empty()) told[lacking].insert(name(what.benchmark()));
      return !lacking.empty();
    });
    for (const auto& [lacking, of] : told)
      warnings_.push_back(fmt::format("Left out, since this MPI has no {}: {}. Measure a newer one for them.",
                                      lacking, fmt::join(of, ", ")));
  }

  /// Ranks are on one node that have one host, network and SENNIT_NODE: no others reach each other's sockets.
  Status count_nodes() {
    const auto self = comm::describe_self(job_->rank());
    if (auto status = job_->agree(self.status()); !status) return status;
    auto names = job_->gather(fmt::format("{:x}-{:x}-{}", self->host, self->network, self->node));
    if (!names) return names.status();
    nodes_ = static_cast<int>(std::set(names->begin(), names->end()).size());
    return {};
  }

  /// Either each rank gets a GPU, or no rank does.
  Status agree_on_gpus() {
    const bool asked = !options_.buffers.empty();
    auto status = job_->agree(gpu_status_);
    if (!status) {
      if (asked) return status;
      has_gpu_ = false;
    }
    auto names = job_->gather(has_gpu_ ? memories_->gpu() : std::string());
    if (!names) return names.status();
    const auto of = [&](const std::string& text) { return std::ranges::count(*names, text); };
    for (const std::string& name : *names) {
      if (!has_gpu_ || memories_->emulated() || of(name) == 1) continue;
      const auto shared = fmt::format("{} ranks share the GPU {}", of(name), name);
      if (!options_.patterns.empty()) {
        // Maps are of interest for several ranks a GPU, too; what two ranks of one send each other takes no link.
        shares_gpu_ = true;
        warnings_.push_back(shared + ": they take turns on it; start MPS for them to work at once.");
        break;
      }
      if (asked)
        return Status(Code::unsupported, shared, "--buffers gpu",
                      "Start at most one rank a GPU, or measure --buffers host");
      warnings_.push_back(shared + ", so host buffers are measured; start one rank a GPU.");
      has_gpu_ = false;
    }
    if (!has_gpu_) return {};
    const auto& devices = memories_->executor()->devices();
    const auto mine = std::ranges::find(devices, memories_->gpu(), &device::DeviceInfo::uuid);
    auto models = job_->gather(mine != devices.end() ? mine->model : std::string());
    if (!models) return models.status();
    models_ = std::move(*models);
    return {};
  }

  Status bind() {
    auto texts = job_->gather(to_text(own_cores(memories_->pci())));
    if (!texts) return texts.status();
    std::vector<Cores> all;
    for (const std::string& text : *texts) all.push_back(cores_from(text));
    if (bound(all)) binding_ = "launcher";
    // Threads that stand for an emulated GPU would share the rank's core.
    const bool wanted = options_.bind == "cores" || (options_.bind == "auto" && !memories_->emulated());
    if (!wanted) return {};
    cores_ = assign(all);
    if (cores_.empty()) {
      if (binding_.empty() && options_.bind == "cores")
        return Status(Code::unsupported, fmt::format("{} ranks have no core each", job_->size()), "--bind cores",
                      "Start fewer ranks, or use --bind none");
      return {};
    }
    binding_ = "program";
    return job_->agree(bind_to(cores_[std::size_t(job_->rank())]));
  }

  void find_sennit() {
    has_sennit_ = job_->has_sennit();
    if (has_sennit_ && !drop_in_is_loaded()) {
      has_sennit_ = false;
      warnings_.push_back("sennit is left out: its drop-in could not be loaded; its own message above says why.");
    } else if (has_sennit_ && !memories_->emulated() && access("/dev/nvidiactl", F_OK) != 0) {
      warnings_.push_back(
          "There is no GPU driver, so sennit steps aside: what is measured of it is the way through its entry "
          "points; "
          "measure where GPUs are.");
    }
  }

  /// Returns the variants in the order of the rows.
  std::vector<Variant> variants_of(const Case& what) const {
    std::vector<Variant> variants;
    const bool gpu = any_gpu(what.buffers) && has_size(what.operation);
    if (has_sennit_) variants.push_back({kOwn, true, false});
    if (job_->is_observed() && options_.against(kRecorded)) variants.push_back({kRecorded, true, false});
    if (gpu && options_.against("by_hand")) variants.push_back({"by_hand", false, true});
    // Any MPI can use managed memory as it is.
    if ((!gpu || options_.direct || what.buffers == Buffers::managed) && options_.against("mpi"))
      variants.push_back({"mpi", false, false});
    return variants;
  }

  Status measure_one(Rig& rig, const Case& what) {
    const auto variants = variants_of(what);
    if (variants.empty()) {
      const std::string left_out = fmt::format(
          "There is nothing to measure with {} buffers: sennit is not preloaded, and --vs names nobody; start it by "
          "`sennit bench mpi`, or give --vs.",
          name(what.buffers));
      if (std::ranges::count(warnings_, left_out) == 0) warnings_.push_back(left_out);
      return {};
    }
    if (has_size(what.operation))
      for (const Variant& variant : variants)
        if (auto status = rig.verify(what, variant); !status) return status;
    auto times = rig.time(what, variants, options_.seconds);
    if (!times) return std::move(times).status().in(describe(what));
    for (std::size_t i = 0; i < variants.size(); ++i)
      rows_.push_back(to_json({what, job_->rank(), job_->size(), nodes_}, variants[i], numbers_, (*times)[i]));
    return {};
  }

  Status measure_pattern(Rig& rig, const PatternCase& one) {
    std::vector<Variant> variants;
    for (const PatternMap& each : one.maps) {
      variants.push_back(each.variant);
      variants.back().with_sennit = has_sennit_;
      if (auto status = rig.verify(one.what, variants.back()); !status) return status;
    }
    auto times = rig.time(one.what, variants, options_.seconds);
    if (!times) return std::move(times).status().in(describe(one.what));
    for (std::size_t i = 0; i < variants.size(); ++i)
      rows_.push_back(
          map_to_json({one.what, job_->rank(), job_->size(), nodes_}, one.maps[i], numbers_, (*times)[i]));
    return {};
  }

  void print_document(const std::vector<Case>& cases) {
    const std::string executor = !has_gpu_ ? "host" : std::string(device::name(memories_->executor()->kind()));
    auto known = machine::known_machine(
        "", executor, has_gpu_ ? node::extras_of(*memories_->executor()) : std::vector<machine::GpuExtra>{});
    machine::Machine machine;
    if (known)
      machine = std::move(known->machine);
    else
      warnings_.push_back(
          fmt::format("This machine could not be described ({}); see `sennit doctor`.", known.status().what()));
    put::Outcome outcome;
    for (std::string& sentence : unsteady(rows_)) warnings_.push_back(std::move(sentence));
    outcome.warnings = warnings_;
    outcome.versions = {{"sennit", put::version()}, {"mpi", job_->version()}};
    if (nccl_ != nullptr) outcome.versions["nccl"] = nccl_->version();
    std::set<std::uint64_t> sizes;
    for (const Case& what : cases)
      if (has_size(what.operation)) sizes.insert(what.bytes);
    const Json settings = {{"executor", executor},
                           {"emulated", memories_->emulated()},
                           {"ranks", job_->size()},
                           {"nodes", nodes_},
                           {"seconds", options_.seconds},
                           {"sizes", sizes},
                           {"library", library_.name()},
                           {"launcher", place_.launcher},
                           {"binding", binding_.empty() ? "none" : binding_},
                           {"cores", cores_},
                           {"direct", options_.direct},
                           {"preloaded", has_sennit_}};
    Json document = put::document(machine, models_, settings, outcome);
    document["kind"] = patterns_.empty() ? "bench mpi" : "bench patterns";
    document["rows"] = rows_;
    print(document);
  }

  const Options& options_;
  const comm::JobPlace place_;
  int nodes_ = 1;
  Numbers numbers_;
  std::unique_ptr<Memories> memories_;
  Status gpu_status_;
  bool has_gpu_ = false, has_sennit_ = false, shares_gpu_ = false;
  OpenLibrary library_;
  std::unique_ptr<Job> job_;
  std::string binding_;
  std::vector<int> cores_;
  std::vector<std::string> models_, warnings_;
  std::vector<PatternCase> patterns_;
  std::unique_ptr<OverNccl> nccl_;
  Json rows_ = Json::array();
};

}  // namespace

Result<Exit> run_rank(const Options& options) {
  return Rank(options, place_of(comm::own_environment())).run();
}

}  // namespace sennit::bench::mpi
