#include "place/scotch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>

#include <fmt/format.h>

#include "base/unique_fd.h"

namespace sennit::place {

namespace {

constexpr int kSeconds = 10;        // limit: 300 times what 16 ranks take
constexpr double kFinest = 100000;  // the largest weight: edges times distances must fit 31 bits in its sums

/// What the child writes first; the slots of all ranks follow.
struct Report {
  std::int32_t code = 0;  ///< 0: done; else which step failed
  double ms = 0;
};
enum Step : std::int32_t { kDone, kNoLibrary, kNoFunction, kNoWidth, kFailed };

/// Room for any of its opaque structures: the largest, SCOTCH_Graph, has some 160 bytes.
struct alignas(16) Opaque {
  std::array<std::byte, 4096> bytes{};
};

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The library is open; Num is its integer.
template <class Num>
Step map_with(void* library, const Problem& problem, std::vector<std::int32_t>& slots) {
  using Structure = Opaque*;
  int (*graph_init)(Structure);
  int (*graph_build)(Structure, Num, Num, const Num*, const Num*, const Num*, const Num*, Num, const Num*,
                     const Num*);
  int (*graph_map)(Structure, Structure, Structure, Num*);
  int (*arch_init)(Structure);
  int (*arch_build)(Structure, Structure, Num, const Num*, Structure);
  int (*strat_init)(Structure);
  int (*strat_build)(Structure, Num, Num, double);
  void (*random_seed)(Num);
  void (*random_reset)();
  if (!look_up(library, "SCOTCH_graphInit", graph_init) || !look_up(library, "SCOTCH_graphBuild", graph_build) ||
      !look_up(library, "SCOTCH_graphMap", graph_map) || !look_up(library, "SCOTCH_archInit", arch_init) ||
      !look_up(library, "SCOTCH_archBuild", arch_build) || !look_up(library, "SCOTCH_stratInit", strat_init) ||
      !look_up(library, "SCOTCH_stratGraphMapBuild", strat_build) ||
      !look_up(library, "SCOTCH_randomSeed", random_seed) || !look_up(library, "SCOTCH_randomReset", random_reset))
    return kNoFunction;
  random_seed(1);
  random_reset();
  const int n = problem.slots();
  // Of the ranks: traffic, the most of it as kFinest.
  double most = 0;
  for (int rank = 0; rank < n; ++rank)
    for (const Partner& partner : problem.partners(rank)) most = std::max(most, partner.to + partner.from);
  std::vector<Num> first{0}, ends, weights;
  for (int rank = 0; rank < n; ++rank) {
    for (const Partner& partner : problem.partners(rank)) {
      ends.push_back(Num(partner.rank));
      weights.push_back(std::max(Num(1), Num(std::llround((partner.to + partner.from) / most * kFinest / 100))));
    }
    first.push_back(Num(ends.size()));
  }
  // Of the slots: a complete graph, whose weights are distances.
  std::vector<double> costs;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) costs.push_back((problem.cost(a, b) + problem.cost(b, a)) / 2);
  costs = closed_under_paths(std::move(costs), n);
  double least = 0;
  for (const double cost : costs)
    if (cost > 0 && (least == 0 || cost < least)) least = cost;
  std::vector<Num> slot_first{0}, slot_ends, distances;
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      slot_ends.push_back(Num(b));
      const double cost = costs[std::size_t(a) * std::size_t(n) + std::size_t(b)];
      distances.push_back(std::max(Num(1), Num(std::llround(least > 0 ? std::min(cost / least, 1e3) * 100 : 1))));
    }
    slot_first.push_back(Num(slot_ends.size()));
  }
  Opaque graph, machine, arch, of_arch, strategy;
  // BALANCE and QUALITY, with no imbalance: one rank a slot.
  if (graph_init(&graph) != 0 || graph_init(&machine) != 0 || arch_init(&arch) != 0 || strat_init(&of_arch) != 0 ||
      strat_init(&strategy) != 0 || strat_build(&strategy, Num(0x0005), Num(n), 0.0) != 0 ||
      graph_build(&graph, 0, Num(n), first.data(), nullptr, nullptr, nullptr, Num(ends.size()), ends.data(),
                  weights.data()) != 0 ||
      graph_build(&machine, 0, Num(n), slot_first.data(), nullptr, nullptr, nullptr, Num(slot_ends.size()),
                  slot_ends.data(), distances.data()) != 0 ||
      arch_build(&arch, &machine, 0, nullptr, &of_arch) != 0)
    return kFailed;
  std::vector<Num> parts(std::size_t(n), 0);
  if (graph_map(&graph, &arch, &strategy, parts.data()) != 0) return kFailed;
  for (const Num part : parts) slots.push_back(std::int32_t(part));
  return kDone;
}

void* open_library(const std::string& named) {
  // Scotch leaves error printing to a library of its own, which has to be there first.
  for (const char* const name : {"libscotcherr.so", "libscotcherr-7.0.so", "libscotcherr-6.1.so"})
    if (dlopen(name, RTLD_NOW | RTLD_GLOBAL) != nullptr) break;
  if (!named.empty()) {
    // One that is named has its own beside it.
    std::string beside = named;
    if (const auto at = beside.find("libscotch"); at != std::string::npos) {
      beside.insert(at + 9, "err");
      dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
    return dlopen(named.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* const name : {"libscotch.so", "libscotch-7.0.so", "libscotch-6.1.so"})
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  return nullptr;
}

Report map_in_child(const Problem& problem, const std::string& named, std::vector<std::int32_t>& slots) {
  void* const library = open_library(named);
  if (library == nullptr) return {kNoLibrary, 0};
  int (*width)();
  if (!look_up(library, "SCOTCH_numSizeof", width)) return {kNoFunction, 0};
  const std::clock_t before = std::clock();
  const Step step = width() == 4   ? map_with<std::int32_t>(library, problem, slots)
                    : width() == 8 ? map_with<std::int64_t>(library, problem, slots)
                                   : kNoWidth;
  return {step, 1e3 * double(std::clock() - before) / CLOCKS_PER_SEC};
}

[[noreturn]] void run_child(int out, const Problem& problem, const std::string& named) {
  // What it prints of errors says nothing to who asked for a map.
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  std::vector<std::int32_t> slots;
  const Report report = map_in_child(problem, named, slots);
  std::vector<char> bytes(sizeof report + slots.size() * sizeof(std::int32_t));
  std::copy_n(reinterpret_cast<const char*>(&report), sizeof report, bytes.data());
  std::copy_n(reinterpret_cast<const char*>(slots.data()), bytes.size() - sizeof report,
              bytes.data() + sizeof report);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = write(out, bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) break;
    done += std::size_t(wrote);
  }
  _exit(0);
}

/// What comes until the end, or until the time is over.
std::vector<char> read_all(int from, bool& in_time) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
  std::vector<char> all;
  std::array<char, 4096> part{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wanted{from, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&wanted, 1, int(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      in_time = true;
      break;
    }
    all.insert(all.end(), part.begin(), part.begin() + got);
  }
  return all;
}

}  // namespace

std::vector<double> closed_under_paths(std::vector<double> costs, int n) {
  const auto at = [&](int a, int b) -> double& { return costs[std::size_t(a) * std::size_t(n) + std::size_t(b)]; };
  for (int over = 0; over < n; ++over)
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) at(a, b) = std::min(at(a, b), at(a, over) + at(over, b));
  return costs;
}

Result<ScotchMap> map_by_scotch(const Problem& problem, const std::string& library) {
  const std::string remedy = "Leave it out: --solver swaps; or install libscotch-7.0";
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Status(Code::system_error, "no pipe for Scotch's process", {}, "Close files that are open");
  UniqueFd in(ends[0]), out(ends[1]);
  const pid_t child = fork();
  if (child < 0) return Status(Code::system_error, "no process for Scotch", {}, "End other processes");
  if (child == 0) run_child(out.get(), problem, library);
  out = UniqueFd();
  bool in_time = false;
  const std::vector<char> bytes = read_all(in.get(), in_time);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time)
    return Status(Code::timed_out, fmt::format("Scotch did not end within {} s", kSeconds), "libscotch", remedy);
  Report report;
  if (bytes.size() < sizeof report) return Status(Code::system_error, "Scotch crashed", "libscotch", remedy);
  std::copy_n(bytes.data(), sizeof report, reinterpret_cast<char*>(&report));
  if (report.code != kDone) {
    constexpr std::array<std::string_view, 5> kWhy = {
        "", "libscotch cannot be opened: it is not installed", "libscotch lacks a function",
        "libscotch has integers of an unknown width", "Scotch could not map this"};
    return Status(Code::unsupported, std::string(kWhy[std::size_t(report.code) % kWhy.size()]), "libscotch", remedy);
  }
  const auto n = std::size_t(problem.slots());
  if (bytes.size() != sizeof report + n * sizeof(std::int32_t))
    return Status(Code::system_error, "Scotch gave no whole map", "libscotch", remedy);
  std::vector<std::int32_t> slots(n);
  std::copy_n(bytes.data() + sizeof report, n * sizeof(std::int32_t), reinterpret_cast<char*>(slots.data()));
  // It knows no pins.
  ScotchMap found{problem.fitted(slots), report.ms, false};
  found.mended = !std::ranges::equal(found.map, slots);
  return found;
}

}  // namespace sennit::place
