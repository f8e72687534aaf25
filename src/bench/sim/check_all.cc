#include "bench/sim/check_all.h"

#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "sim/job.h"
#include "sim/schedule.h"

namespace sennit::bench {

namespace {

/// The default, and so little that messages of some KiB take many chunks.
constexpr std::uint64_t kAmple = 64 * MiB, kLittle = coll::Shape::kSlotsOffset + coll::kMostBlocks * 8 * KiB;
constexpr unsigned kBlocks = 3;

struct Size {
  std::uint64_t bytes, scratch;
};
constexpr Size kSizes[] = {{0, kAmple},       {4, kAmple},     {1000, kAmple},    {100'004, kAmple},
                           {3 * MiB, kAmple}, {1000, kLittle}, {100'004, kLittle}};

/// Counts what was checked so far, and keeps what was found.
class Tally {
 public:
  /// `which`: the members of a finding that say what was checked.
  void check(const device::Recording& recording, const sim::Promises& promises, const Json& which) {
    ++jobs_;
    for (const device::Strand& strand : recording.strands) steps_ += strand.steps.size();
    for (const sim::Finding& finding : sim::check(recording, promises)) {
      Json found = which;
      found["fault"] = sim::name(finding.fault);
      found["what"] = finding.what;
      findings_.push_back(std::move(found));
    }
  }
  Exit print_all(std::size_t operations, std::size_t algorithms) const {
    print({{"version", 1},
           {"kind", "check"},
           {"operations", operations},
           {"algorithms", algorithms},
           {"jobs", jobs_},
           {"steps", steps_},
           {"findings", findings_}});
    return findings_.empty() ? Exit::ok : Exit::failed;
  }

 private:
  std::uint64_t jobs_ = 0, steps_ = 0;
  Json findings_ = Json::array();
};

/// Checks a schedule from a file, by the name of the file.
Result<Exit> check_one(const std::string& file) {
  const auto schedule = sim::read_schedule(file);
  if (!schedule) return of_arguments(schedule.status());
  Tally tally;
  tally.check(schedule->recording, schedule->promises,
              {{"operation", file},
               {"algorithm", "schedule"},
               {"ranks", schedule->recording.ranks},
               {"bytes", 0},
               {"in_place", false}});
  return tally.print_all(1, 1);
}

}  // namespace

Result<Exit> check_all(const CheckAll& asked) {
  if (!asked.file.empty()) return check_one(asked.file);
  const Progress progress(asked.progress);
  Tally tally;
  long done = 0;
  const long total = static_cast<long>(coll::all_operations().size()) * (asked.most_ranks - 1);
  std::size_t algorithms = 0;
  for (const coll::Operation operation : coll::all_operations()) algorithms += coll::algorithms_of(operation).size();
  for (int ranks = 2; ranks <= asked.most_ranks; ++ranks)
    for (const coll::Operation operation : coll::all_operations()) {
      progress.step(done++, total, fmt::format("{} of {} ranks", coll::name(operation), ranks));
      for (const coll::Algorithm algorithm : coll::algorithms_of(operation))
        for (const Size& size : kSizes)
          for (const bool in_place : {false, true}) {
            // Two sockets of any sizes, for algorithms that ask.
            std::vector<int> sockets(static_cast<std::size_t>(ranks), 0);
            for (int rank = ranks / 3; rank < ranks; ++rank) sockets[static_cast<std::size_t>(rank)] = 1;
            auto job = sim::Job::create(sockets, size.scratch);
            if (!job) return job.status();
            const sim::Collective what{operation, {algorithm, kBlocks, 256}, size.bytes, ranks - 1, in_place, {},
                                       true};
            if (!job->admits(what)) continue;
            // Twice: the second call begins on what the first has left.
            for (int call = 0; call < 2; ++call)
              if (auto status = job->call(what); !status) return status;
            tally.check(job->recording(), job->promises(),
                        {{"operation", coll::name(operation)},
                         {"algorithm", coll::name(algorithm)},
                         {"ranks", ranks},
                         {"bytes", size.bytes},
                         {"scratch_bytes", size.scratch},
                         {"in_place", in_place}});
          }
    }
  progress.step(total, total, "done");
  return tally.print_all(coll::all_operations().size(), algorithms);
}

}  // namespace sennit::bench
