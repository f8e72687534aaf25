#include "bench/put/ucx.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/unique_fd.h"
#include "comm/launch.h"

namespace sennit::bench::put {

namespace {

namespace fs = std::filesystem;

/// A limit: a run that hangs must not hang the benchmark.
constexpr int kLimitSeconds = 300;

/// Wheels bring their libraries in lib/ beside bin/, without telling the loader.
std::string library_path(const std::string& program) {
  const fs::path lib = fs::path(program).parent_path().parent_path() / "lib";
  const char* before = std::getenv("LD_LIBRARY_PATH");
  return before != nullptr && *before != '\0' ? lib.string() + ":" + before : lib.string();
}

std::string version_of(const std::string& program) {
  const fs::path info = fs::path(program).parent_path() / "ucx_info";
  std::error_code ignored;
  if (!fs::exists(info, ignored)) return {};
  std::string version;
  comm::Launch job;
  job.command = {info.string(), "-v"};
  job.announce = false;
  job.environment = [&](int) {
    return std::map<std::string, std::string>{{"LD_LIBRARY_PATH", library_path(program)}};
  };
  job.output = [&](int, std::string_view line, bool error) {
    constexpr std::string_view kBefore = "Library version:";
    const auto at = line.find(kBefore);
    if (error || at == std::string_view::npos) return;
    const auto begin = line.find_first_of("0123456789", at);
    if (begin == std::string_view::npos) return;
    version = line.substr(begin, line.find_first_not_of("0123456789.", begin) - begin);
  };
  (void)comm::launch(job);
  return version;
}

/// Returns a port that was free a moment ago. 0: none.
int free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (socket.get() < 0 || ::bind(socket.get(), generic, length) != 0 ||
      ::getsockname(socket.get(), generic, &length) != 0)
    return 0;
  return ntohs(address.sin_port);
}

/// A file that goes when this value goes.
class BatchFile {
 public:
  explicit BatchFile(const std::string& folder)
      : path_((folder.empty() ? fs::temp_directory_path() : fs::path(folder)).string() + "/sennit-ucx-XXXXXX"),
        file_(::mkstemp(path_.data())) {}
  ~BatchFile() {
    if (file_.get() >= 0) ::unlink(path_.c_str());
  }
  BatchFile(const BatchFile&) = delete;
  BatchFile& operator=(const BatchFile&) = delete;

  bool write(std::string_view text) const {
    return file_.get() >= 0 && ::write(file_.get(), text.data(), text.size()) == ssize_t(text.size());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd file_;
};

}  // namespace

Result<UcxProgram> find_ucx(const std::string& given) {
  std::vector<fs::path> places;
  if (!given.empty()) {
    places.emplace_back(given);
  } else if (const char* path = std::getenv("PATH"); path != nullptr) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(':'), rest.size());
      if (end > 0) places.push_back(fs::path(rest.substr(0, end)) / "ucx_perftest");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  for (const fs::path& place : places) {
    std::error_code error;
    const fs::path real = fs::canonical(place, error);
    if (error || ::access(real.c_str(), X_OK) != 0 || !fs::is_regular_file(real, error)) continue;
    return UcxProgram{real.string(), version_of(real.string())};
  }
  return Status(Code::not_found,
                given.empty() ? "ucx_perftest is not on PATH" : fmt::format("{} cannot be run", given));
}

int ucx_iterations(const Case& what, double expected_us, double seconds) {
  const double fitting = seconds * 1e6 / kUcxRounds / std::max(expected_us, 0.1);
  return std::max(int(std::clamp(fitting, 3.0, 2000.0)), what.window > 1 ? 2 * what.window : 1);
}

std::string ucx_batch(const std::vector<UcxTest>& tests, std::string_view memory) {
  std::string text;
  for (int round = 0; round < kUcxRounds; ++round)
    for (std::size_t i = 0; i < tests.size(); ++i)
      text += fmt::format("t{} -t ucp_put_bw -m {} -s {} -n {} -w {} -O {}\n", i, memory, tests[i].what.bytes,
                          tests[i].iterations, std::max(2, tests[i].what.window), tests[i].what.window);
  return text;
}

std::optional<UcxFigure> parse_ucx_line(std::string_view line) {
  // name, iterations, percentile, average µs, overall µs, four rates
  if (line.empty() || line.front() != 't') return std::nullopt;
  std::vector<std::string_view> fields;
  for (std::string_view rest = line;;) {
    const auto comma = rest.find(',');
    std::string_view field = rest.substr(0, comma);
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    fields.push_back(field);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (fields.size() < 5) return std::nullopt;
  UcxFigure figure;
  const std::string_view name = fields[0].substr(1);
  const auto [name_end, name_error] = std::from_chars(name.data(), name.data() + name.size(), figure.test);
  const auto [end, error] = std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), figure.us);
  if (name_error != std::errc{} || name_end != name.data() + name.size() || error != std::errc{} ||
      end != fields[4].data() + fields[4].size() || !(figure.us > 0))
    return std::nullopt;
  return figure;
}

Result<std::vector<measure::Summary>> run_ucx(const UcxProgram& program, const std::vector<UcxTest>& tests,
                                              const UcxPlace& place, const std::function<void(std::size_t)>& seen) {
  const BatchFile batch(place.folder);
  if (!batch.write(ucx_batch(tests, place.memory)))
    return Status(Code::system_error, "cannot write the batch file for ucx_perftest", batch.path(),
                  "Free space there, or set TMPDIR");
  const std::string port = std::to_string(free_port());
  std::vector<std::vector<double>> samples(tests.size());
  std::string last;
  comm::Launch job;
  job.ranks = 2;
  job.announce = false;
  // Rank 0 is the server, which receives: the tests' own arguments are in the batch file, the same for both. The
  // client has no way to wait for the server but to try again.
  job.command = {
      "/bin/sh",
      "-c",
      "if [ \"$SENNIT_UCX_SIDE\" = to ]; then exec timeout -k 5 \"$3\" \"$0\" -f -v -p \"$1\" -b \"$2\"; fi\n"
      "sleep 1; exec timeout -k 5 \"$3\" \"$0\" -f -v -p \"$1\" -b \"$2\" localhost",
      program.path,
      port,
      batch.path(),
      std::to_string(kLimitSeconds)};
  job.environment = [&](int rank) {
    std::map<std::string, std::string> variables = {{"LD_LIBRARY_PATH", library_path(program.path)},
                                                    {"SENNIT_UCX_SIDE", rank == 0 ? "to" : "from"}};
    const std::string& visible = rank == 0 ? place.to : place.from;
    if (!visible.empty()) variables["CUDA_VISIBLE_DEVICES"] = visible;
    return variables;
  };
  job.output = [&](int rank, std::string_view line, bool) {
    if (line.find("ERROR") != std::string_view::npos || last.empty()) last = line;
    const auto figure = rank == 1 ? parse_ucx_line(line) : std::nullopt;
    if (!figure || figure->test >= samples.size()) return;
    samples[figure->test].push_back(figure->us);
    seen(figure->test);
  };
  auto ended = comm::launch(job);
  if (!ended) return ended.status();
  if (ended->rank < 0 && ended->status != 0) return Status(Code::aborted, "stopped by a signal");
  if (ended->status != 0)
    return Status(Code::system_error, fmt::format("ucx_perftest ended with status {}: {}", ended->status, last));
  std::vector<measure::Summary> summaries;
  for (auto& each : samples) {
    if (each.empty()) return Status(Code::corrupt, "ucx_perftest printed no figures: " + last);
    summaries.push_back(measure::summarise(std::move(each)));
  }
  return summaries;
}

}  // namespace sennit::bench::put
