// sennit-launch starts N ranks of a program on this node. The tests use it too; for many nodes use mpirun or srun,
// which sennit recognises.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "comm/launch.h"

int main(int argc, char** argv) {
  CLI::App app{
      "Starts ranks of a program on this node, and ends them all when one fails.\n"
      "Example: sennit-launch -n 4 -- ./program --its-option"};
  sennit::comm::Launch job;
  bool plain = false, keep = false;
  app.add_option("-n,--ranks", job.ranks, "Number of ranks")->required()->check(CLI::Range(1, 4096));
  app.add_flag("--plain", plain, "Print lines as the ranks do, without \"[RANK] \" before them");
  app.add_flag("--keep-going", keep, "Let the other ranks go on when one fails");
  app.add_option("command", job.command, "Program and its arguments")->required();
  app.prefix_command();
  app.positionals_at_end();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  job.stop_on_failure = !keep;
  if (plain)
    job.output = [](int, std::string_view line, bool error) {
      std::FILE* to = error ? stderr : stdout;
      fmt::print(to, "{}\n", line);
      std::fflush(to);
    };
  const sennit::Result<sennit::comm::Ended> ended = sennit::comm::launch(job);
  if (!ended) {
    fmt::print(stderr, "sennit-launch: {}\n", ended.status().text());
    return ended.status().code() == sennit::Code::not_found ? 127 : 3;
  }
  if (ended->rank >= 0)
    fmt::print(stderr, "sennit-launch: rank {} ended with status {}{}\n", ended->rank, ended->status,
               ended->status > 128 ? fmt::format(" (signal {})", ended->status - 128) : "");
  return ended->status;
}
