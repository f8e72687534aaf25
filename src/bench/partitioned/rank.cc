#include "bench/partitioned/rank.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "bench/measure/watchdog.h"
#include "bench/mpi/binding.h"
#include "bench/partitioned/probe.h"
#include "bench/partitioned/result.h"
#include "bench/partitioned/trial.h"
#include "bench/put/result.h"
#include "bench/put/version.h"
#include "machine/known.h"

namespace sennit::bench::partitioned {

namespace {

/// A rank says by this where it runs. Ranks of one start of one kernel share its clocks.
struct Place {
  std::string boot;
  mpi::Cores cores;
};
std::string to_text(const Place& place) {
  return fmt::format("{} {}", place.boot, mpi::to_text(place.cores));
}
Place parsed(const std::string& text) {
  return {text.substr(0, text.find(' ')), mpi::cores_from(text.substr(text.find(' ') + 1))};
}

/// The first of several ranks tells this to the others.
struct Shared {
  std::size_t cores = 1;
  int one_node = 1;
};

Status different_nodes() {
  return Status(Code::unsupported, "the ranks are on different nodes, which share no clock", {},
                "Start all on one node");
}

std::string boot_id() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  return text;
}

class Rank {
 public:
  explicit Rank(const Options& options) : options_(options), progress_(options.progress) {}

  Result<Exit> run() {
    // Wrong usage is told before MPI is started.
    if (auto cells = cells_of(options_, 1); !cells) return cells.status();
    std::optional<Question> question;
    if (!options_.probe.empty()) {
      auto parsed = parse_question(options_.probe);
      if (!parsed) return parsed.status();
      question = *parsed;
    }
    place_ = mpi::place_of(comm::own_environment());
    auto library = mpi::open_library(options_.library, place_.launcher);
    if (!library) return library.status();
    library_ = std::move(*library);
    auto link = Link::start(library_, options_.pattern.empty());
    if (!link) return link.status();
    link_ = std::move(*link);
    // The receiver's patience is much longer: the sender says what hangs, and has to come to that.
    measure::Watchdog watchdog(std::chrono::milliseconds(long(1e3 * options_.limit * (link_->sends() ? 1 : 10))),
                               [this](const std::string& what) { give_up(what); });
    watchdog_ = &watchdog;
    if (link_->sends()) describe_machine();
    const Status status = question                   ? ask(*question)
                          : options_.pattern.empty() ? measure_all()
                                                     : measure_pattern(*parse_pattern(options_.pattern));
    watchdog.rest();
    const Exit exit = status.ok() ? Exit::ok : link_->sends() ? fail(status) : exit_of(status);
    link_->finish();
    return exit;
  }

 private:
  Status ask(Question question) {
    const auto sizes = sizes_of(options_);
    if (!sizes) return sizes.status();
    auto answer = probe(*link_, question, *sizes, [&](const std::string& what) { watchdog_->begin(what); });
    if (!answer) return answer.status();
    Json answers;
    answers[std::string(name(question))] = std::move(*answer);
    if (link_->sends()) print_document(answers);
    return {};
  }

  Status measure_all() {
    watchdog_->begin("the ranks' places");
    if (auto status = look_around(); !status) return status;
    auto cells = cells_of(options_, setting_.cores);
    if (!cells) return cells.status();
    Trial trial(*link_, options_, [this] {
      ++messages_;
      watchdog_->begin("");
    });
    say("document", document());
    for (const Cell& cell : *cells) {
      if (link_->sends()) progress_.step(cell.line, long(cells->size() + options_.skip.size()), cell.text());
      begin(cell);
      if (auto why = left_out(cell); !why.empty()) {
        add(not_measured(cell, setting_, "left_out", why));
        continue;
      }
      setting_.compute = cell.plan.crew.threads > setting_.cores ? Compute::slept : Compute::spun;
      auto samples = trial.measure(cell, setting_.compute);
      if (!link_->sends()) {
        if (!samples) return samples.status();
        continue;
      }
      if (samples)
        add(measured(cell, setting_, *samples));
      else if (samples.status().code() == Code::corrupt)
        add(not_measured(cell, setting_, "failed", samples.status().text()));
      else
        return std::move(samples).status().in(cell.text());
    }
    watchdog_->rest();
    if (link_->sends()) print_document(nullptr);
    return {};
  }

  /// All ranks, of which the first decides.
  Status measure_pattern(Pattern pattern) {
    watchdog_->begin("the ranks' places");
    if (auto status = share_cores(); !status) return status;
    auto cells = cells_of(options_, setting_.cores);
    if (!cells) return cells.status();
    PatternTrial trial(*link_, options_, [this] {
      ++messages_;
      watchdog_->begin("");
    });
    say("document", document());
    for (const Cell& cell : *cells) {
      const Shape shape{pattern, grid_of(pattern, link_->ranks()), cell.plan.bytes, cell.plan.crew.partitions,
                        options_.planes};
      const std::string what = fmt::format("{}, {}", name(pattern), cell.text());
      if (link_->sends()) progress_.step(cell.line, long(cells->size() + options_.skip.size()), what);
      about_ = about(shape);
      begin(cell);
      const Status fits = check(shape);
      if (auto why = fits.ok() ? link_->lacks(cell.back_end, cell.plan.crew.threads) : fits.what(); !why.empty()) {
        add(not_measured(cell, setting_, "left_out", why.ends_with('.') ? why : why + "."));
        continue;
      }
      setting_.compute = cell.plan.crew.threads > setting_.cores ? Compute::slept : Compute::spun;
      auto samples = trial.measure(cell, shape, setting_.compute);
      if (samples)
        add(measured(cell, setting_, *samples));
      else if (samples.status().code() == Code::corrupt)
        add(not_measured(cell, setting_, "failed", samples.status().text()));
      else
        return std::move(samples).status().in(what);
    }
    watchdog_->rest();
    if (link_->sends()) print_document(nullptr);
    return {};
  }

  /// Learns how many cores each rank has for its threads: those that several ranks may run on are divided.
  Status share_cores() {
    const Place mine{boot_id(), mpi::own_cores({})};
    Shared told{mine.cores.allowed.size(), 1};
    std::vector<Place> places = {mine};
    for (int rank = 1; rank < link_->ranks() && link_->sends(); ++rank) {
      auto text = hear_text(rank);
      if (!text) return text.status();
      places.push_back(parsed(*text));
    }
    if (!link_->sends())
      if (auto status = tell_text(to_text(mine), 0); !status) return status;
    for (const Place& other : places) {
      told.one_node = told.one_node != 0 && other.boot == mine.boot ? 1 : 0;
      const auto with = std::ranges::count_if(places, [&](const Place& each) {
        return std::ranges::any_of(each.cores.allowed,
                                   [&](int core) { return std::ranges::count(other.cores.allowed, core) != 0; });
      });
      told.cores = std::min(told.cores, other.cores.allowed.size() / std::size_t(std::max<std::ptrdiff_t>(1, with)));
    }
    for (int rank = 1; rank < link_->ranks() && link_->sends(); ++rank)
      if (auto status = link_->tell_one(told, rank); !status) return status;
    if (!link_->sends())
      if (auto status = link_->hear_one(told, 0); !status) return status;
    setting_.cores = std::max(1, int(told.cores));
    return told.one_node != 0 ? Status{} : different_nodes();
  }

  /// Learns where both ranks run.
  Status look_around() {
    const Place mine{boot_id(), mpi::own_cores({})};
    const int peer = 1 - link_->rank();
    if (auto status = link_->sends() ? tell_text(to_text(mine), peer) : Status{}; !status) return status;
    auto theirs = hear_text(peer);
    if (!theirs) return theirs.status();
    if (auto status = link_->sends() ? Status{} : tell_text(to_text(mine), peer); !status) return status;
    const Place other = parsed(*theirs);
    if (mine.boot != other.boot) return different_nodes();
    setting_.cores = cores_for_threads(mine.cores.allowed, other.cores.allowed);
    return {};
  }

  /// A receiver that shares the sender's cores keeps one of them busy.
  static int cores_for_threads(const std::vector<int>& own, const std::vector<int>& others) {
    const auto shared = std::ranges::any_of(own, [&](int each) { return std::ranges::count(others, each) != 0; });
    return std::max(1, int(own.size()) - (shared ? 1 : 0));
  }

  Status tell_text(const std::string& text, int to) {
    if (auto status = link_->tell_one(text.size(), to); !status) return status;
    return link_->tell(std::as_bytes(std::span(text)), to);
  }
  Result<std::string> hear_text(int from) {
    std::size_t bytes = 0;
    if (auto status = link_->hear_one(bytes, from); !status) return status;
    std::string text(bytes, ' ');
    if (auto status = link_->hear(std::as_writable_bytes(std::span(text)), from); !status) return status;
    return text;
  }

  std::string left_out(const Cell& cell) const {
    const auto partitions = std::uint64_t(cell.plan.crew.partitions);
    if (cell.plan.bytes % partitions != 0)
      return fmt::format("{} bytes are no whole number of {} partitions.", cell.plan.bytes, partitions);
    return link_->lacks(cell.back_end, cell.plan.crew.threads);
  }

  void begin(const Cell& cell) {
    const std::lock_guard lock(mutex_);
    now_ = cell;
    messages_ = 0;
    watchdog_->begin("");
  }
  void add(Json row) {
    const std::lock_guard lock(mutex_);
    now_.reset();
    row.update(about_);
    say("row", row);
    if (link_->sends()) rows_.push_back(std::move(row));
  }

  /// In the watchdog's thread; that of the rank is somewhere in MPI.
  void give_up(const std::string& what) {
    const std::lock_guard lock(mutex_);
    const std::string why =
        fmt::format("hung after {} {}", messages_.load(), messages_ == 1 ? "message" : "messages");
    if (link_->sends() && now_) {
      rows_.push_back(not_measured(*now_, setting_, "hung", why + "."));
      rows_.back().update(about_);
      print_document(nullptr);
    } else if (link_->sends()) {
      (void)fail(Status(Code::timed_out, fmt::format("{} hung", what), {}, "Try another MPI, or another version"));
    }
    std::_Exit(int(Exit::failed));
  }

  /// Before anything is measured: nothing should be in the way of what is said of a hang.
  void describe_machine() {
    auto known = machine::known_machine("", "host", {});
    if (known)
      machine_ = std::move(known->machine);
    else
      warnings_.push_back(
          fmt::format("This machine could not be described ({}); see `sennit doctor`.", known.status().what()));
  }

  /// `answers`: of a probe.
  void print_document(const Json& answers) {
    Json whole = document();
    whole["rows"] = rows_;
    if (!answers.is_null()) whole["probe"] = answers;
    print(whole);
  }

  /// Tells what is known so far: who reads it keeps it in case this job does not come to its end.
  void say(const char* name, const Json& value) const {
    if (!link_->sends() || !options_.progress) return;
    fmt::print(stderr, "{}\n", Json{{name, value}}.dump(-1, ' ', false, Json::error_handler_t::replace));
    std::fflush(stderr);
  }

  /// All but the rows.
  Json document() const {
    put::Outcome outcome;
    outcome.warnings = warnings_;
    outcome.versions = {{"sennit", put::version()}, {"mpi", link_->version()}};
    const Json settings = {{"seconds", options_.seconds},
                           {"limit", options_.limit},
                           {"seed", options_.seed},
                           {"clock", "common"},
                           {"library", library_.name()},
                           {"launcher", place_.launcher},
                           {"cores", setting_.cores},
                           {"thread_multiple", link_->is_thread_multiple()},
                           {"last_level_cache", last_level_cache()}};
    Json made = put::document(machine_, {}, settings, outcome);
    made["kind"] = "bench partitioned";
    return made;
  }

  const Options& options_;
  const Progress progress_;
  comm::JobPlace place_;
  mpi::OpenLibrary library_;
  std::unique_ptr<Link> link_;
  measure::Watchdog* watchdog_ = nullptr;
  machine::Machine machine_;
  std::vector<std::string> warnings_;
  Setting setting_;
  std::atomic<int> messages_{0};  // of this line
  std::mutex mutex_;              // of what follows, which the watchdog's thread reads
  std::optional<Cell> now_;
  Json about_ = Json::object();  // what rows say of the pattern
  Json rows_ = Json::array();
};

}  // namespace

Result<Exit> run_rank(const Options& options) {
  return Rank(options).run();
}

}  // namespace sennit::bench::partitioned
