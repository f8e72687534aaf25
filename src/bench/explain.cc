// sennit-explain: why a message would travel the way it would; the program behind `sennit explain`.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"
#include "bench/program.h"
#include "machine/document.h"
#include "machine/known.h"
#include "path/explain.h"
#include "path/split.h"

namespace sennit::bench {

namespace {

struct Question {
  std::string bytes, from, to, machine, split, executor;
  bool both_ways = false;
};

std::string machine_named(const Question& question) {
  return question.machine.empty() ? environment("SENNIT_MACHINE") : question.machine;
}

Result<Exit> explain_put(const Question& question) {
  const Result<std::uint64_t> bytes = parse_bytes(question.bytes);
  if (!bytes) return bytes.status();
  const Result<machine::Known> known = machine::known_machine(question.machine, question.executor);
  if (!known) return machine_named(question).empty() ? known.status() : of_arguments(known.status());
  const machine::Machine& machine = known->machine;
  path::SplitOptions options;
  options.both_ways = question.both_ways;
  auto forced = path::parse_forced(question.split.empty() ? environment("SENNIT_SPLIT") : question.split);
  if (!forced) return forced.status();
  options.forced = *std::move(forced);
  // --machine asks what would be computed on some machine; without it, the answer is what messages do here.
  const path::Ground ground{question.machine.empty(), !machine_named(question).empty()};
  auto answer = path::explain_put(machine, question.from, question.to, *bytes, std::move(options), ground);
  if (!answer) return std::move(answer).status().in("explain put");
  print(*answer);
  return Exit::ok;
}

int run(int argc, const char* const* argv) {
  Program program("sennit-explain", "Why a message would travel the way it would.",
                  "  sennit-explain put --bytes 256M --from gpu0 --to gpu1\n"
                  "  sennit-explain put --bytes 256M --from gpu0 --to gpu1 --machine mist --both-ways\n"
                  "  sennit-explain put --bytes 1G --from host0 --to gpu0 --machine hgx-h200-4\n"
                  "  sennit-explain put --bytes 64M --from gpu0 --to gpu1 --split 'direct=0.9,host=0.1'");
  Question question;
  CLI::App& put = program.command("put", "One message: routes, shares, reasons and predicted times",
                                  [&] { return explain_put(question); });
  put.add_option("--bytes", question.bytes, "Size of the message, such as 256M")->required();
  put.add_option("--from", question.from, "Where the message is: an id, UUID or PCI address")->required();
  put.add_option("--to", question.to, "Where it goes")->required();
  put.add_option("--machine", question.machine, "Name of a shipped machine, or a file; default: this machine");
  put.add_option("--split", question.split, "Shares to use instead of the computed ones; default: SENNIT_SPLIT");
  put.add_option("--executor", question.executor, "auto (GPUs where they answer), cuda or host")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
  put.add_flag("--both-ways", question.both_ways, "As much travels the other way at the same time");
  return program.run(argc, argv);
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::run(argc, argv);
}
