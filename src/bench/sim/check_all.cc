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

/// A schedule from a file, by the name of the file.
Result<Exit> check_one(const std::string& file) {
  const auto schedule = sim::read_schedule(file);
  if (!schedule) return of_arguments(schedule.status());
  std::uint64_t steps = 0;
  for (const device::Strand& strand : schedule->recording.strands) steps += strand.steps.size();
  Json findings = Json::array();
  for (const sim::Finding& finding : sim::check(schedule->recording, schedule->promises))
    findings.push_back({{"operation", file},
                        {"algorithm", "schedule"},
                        {"ranks", schedule->recording.ranks},
                        {"bytes", 0},
                        {"in_place", false},
                        {"fault", sim::name(finding.fault)},
                        {"what", finding.what}});
  const bool right = findings.empty();
  print({{"version", 1},
         {"kind", "check"},
         {"operations", 1},
         {"algorithms", 1},
         {"jobs", 1},
         {"steps", steps},
         {"findings", std::move(findings)}});
  return right ? Exit::ok : Exit::failed;
}

}  // namespace

Result<Exit> check_all(const CheckAll& asked) {
  if (!asked.file.empty()) return check_one(asked.file);
  const Progress progress(asked.progress);
  std::uint64_t jobs = 0, steps = 0;
  Json findings = Json::array(), operations = Json::object();
  long done = 0;
  const long total = static_cast<long>(coll::all_operations().size()) * (asked.most_ranks - 1);
  for (int ranks = 2; ranks <= asked.most_ranks; ++ranks)
    for (const coll::Operation operation : coll::all_operations()) {
      progress.step(done++, total, fmt::format("{} of {} ranks", coll::name(operation), ranks));
      for (const coll::Algorithm algorithm : coll::algorithms_of(operation)) {
        operations[std::string(coll::name(operation))][std::string(coll::name(algorithm))] = true;
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
            ++jobs;
            for (const device::Strand& strand : job->recording().strands) steps += strand.steps.size();
            for (const sim::Finding& finding : sim::check(job->recording(), job->promises()))
              findings.push_back({{"operation", coll::name(operation)},
                                  {"algorithm", coll::name(algorithm)},
                                  {"ranks", ranks},
                                  {"bytes", size.bytes},
                                  {"scratch_bytes", size.scratch},
                                  {"in_place", in_place},
                                  {"fault", sim::name(finding.fault)},
                                  {"what", finding.what}});
          }
      }
    }
  progress.step(total, total, "done");
  std::uint64_t algorithms = 0;
  for (const auto& each : operations) algorithms += each.size();
  const bool right = findings.empty();
  print({{"version", 1},
         {"kind", "check"},
         {"operations", operations.size()},
         {"algorithms", algorithms},
         {"jobs", jobs},
         {"steps", steps},
         {"findings", std::move(findings)}});
  return right ? Exit::ok : Exit::failed;
}

}  // namespace sennit::bench
