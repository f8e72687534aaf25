// sennit-doctor tells what works on this machine, what does not, and the exact fix; it is the program behind `sennit
// doctor`.
#include <unistd.h>

#include <array>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/environment.h"
#include "bench/program.h"
#include "doctor/check.h"
#include "doctor/examine.h"

namespace sennit::bench {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

int run_doctor(int argc, const char* const* argv) {
  Program program("sennit-doctor", "What works on this machine, what does not, and the exact fix.",
                  "  sennit-doctor\n"
                  "  sennit-doctor --executor host");
  std::string executor;
  std::vector<std::string> probe;
  program.app()
      .add_option("--executor", executor,
                  "auto (GPUs where they answer), cuda (GPUs are needed) or host (skips them)")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
  // Hidden: what hangs or crashes in a driver is tried in processes of its own, which are this program again.
  program.app().add_option("--probe", probe, "")->expected(1, 4)->group("");
  return program.run(argc, argv, [&]() -> Result<Exit> {
    if (!probe.empty()) {
      if (Status status = doctor::run_probe(probe); !status) return status;
      // The exit leaves out the clean-up of libraries, which is where a sick driver hangs next.
      _exit(0);
    }
    if (executor.empty()) executor = environment("SENNIT_EXECUTOR");
    if (executor != "auto" && executor != "cuda" && executor != "host")
      return Status(Code::invalid_argument, fmt::format("SENNIT_EXECUTOR='{}' names no executor", executor), {},
                    "Set it to cuda, host or auto");
    const std::vector<doctor::Check> checks = doctor::examine(doctor::read_situation(executor));
    print(
        doctor::document(checks, fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))), host_name()));
    return doctor::lacking(checks) ? Exit::environment : Exit::ok;
  });
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::run_doctor(argc, argv);
}
