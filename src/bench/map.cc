// sennit-map: which rank on which GPU; the program behind `sennit map`.
#include <string>

#include "bench/map/cases.h"
#include "bench/map/document.h"
#include "bench/map/order.h"
#include "bench/map/pairs.h"
#include "bench/map/variants.h"
#include "bench/program.h"
#include "machine/known.h"

namespace sennit::bench {

namespace {

int run_map(int argc, const char* const* argv) {
  Program program("sennit-map", "Which rank of a program on which GPU of a machine.",
                  "  sennit-map map --pattern 3d-torus:4x2x2,w=3 --size 1M --machine helios\n"
                  "  sennit-map map --matrix talk.csv --machine dgx-1v --solver all\n"
                  "  sennit-map map --profile profile.json --nodes 4 --ranks-per-gpu 2\n"
                  "  sennit-map order --profile profile.json\n"
                  "  sennit-map variants --pattern 2d-torus:2x2,w=3 --sizes 1K,1M --ranks-per-node 2\n"
                  "  sennit-map pairs --machine helios");

  MapAsked map;
  CLI::App& one = program.command("map", "Maps ranks to GPUs", [&] { return print_map(map); });
  one.add_option("--pattern", map.pattern, "Traffic by name, such as 2d-torus:4x4,w=3 or parallel:tp=2,pp=4,dp=2");
  one.add_option("--matrix", map.matrix, "Traffic: a matrix of bytes as text, or what Open MPI's monitoring wrote");
  one.add_option("--profile", map.profile, "Traffic: the document of a profile");
  one.add_option("--size", map.size, "Of a pattern's messages, such as 1M; default 1 MiB");
  one.add_option("--machine", map.machine, "Name of a shipped machine, or a file; default: this machine");
  one.add_option("--nodes", map.slots.nodes, "How many such machines; default 1")->check(CLI::Range(1, 4096));
  one.add_option("--gpus", map.gpus, "Of the machine, by id, UUID or PCI address, in the order of local ranks")
      ->delimiter(',');
  one.add_option("--ranks-per-gpu", map.slots.per_gpu, "For how many ranks a GPU has room; default 1")
      ->check(CLI::Range(1, 64));
  one.add_option("--pin", map.pins, "Ranks that stay, such as 3=gpu1, 0-7=host0 or, on node 2, 3=2/gpu1")
      ->delimiter(',');
  one.add_flag("--keep-sockets", map.keep_sockets,
               "With --profile: ranks stay on GPUs of the socket that their "
               "launcher bound them to");
  one.add_option("--metric", map.metric, "latency, bandwidth, distance or contention; default contention");
  one.add_option("--solver", map.solvers, "identity, swaps, exact, scotch or all; default identity,swaps,exact")
      ->delimiter(',');
  one.add_option("--scotch", map.scotch, "File of libscotch; default: the system's");
  one.add_option("--work", map.proof_work, "How much work a proof may take; default some second's");
  one.add_option("--costs", map.costs, "Other costs of messages, such as message_us=10")->delimiter(',');

  std::string machine;
  program.command("pairs", "How each two GPUs of a machine are joined", [&] { return print_pairs(machine); })
      .add_option("--machine", machine, "Name of a shipped machine, or a file; default: this machine");

  std::string profile;
  program
      .command("order", "In which order the ranks of a profile would send less between hosts",
               [&] { return print_order(profile); })
      .add_option("--profile", profile, "The document of a profile")
      ->required();

  VariantsAsked variants;
  CLI::App& several = program.command("variants", "Maps of patterns for `sennit bench patterns` to measure in turns",
                                      [&] { return print_variants(variants); });
  // An option each: a pattern has commas itself.
  several.add_option("--pattern", variants.patterns, "Traffic by name, such as 2d-torus:4x4,w=3; once for each")
      ->required();
  several.add_option("--sizes", variants.sizes, "Of messages, such as 1K,1M; default 1M")->delimiter(',');
  several.add_option("--machine", variants.machine, "Name of a shipped machine, or a file; default: this machine");
  several
      .add_option("--ranks-per-node", variants.ranks_per_node,
                  "Take each so many ranks of this machine for a node, as `sennit bench patterns` does")
      ->check(CLI::Range(1, 4096));
  several.add_option("--costs", variants.costs, "Other costs of messages, such as message_us=10")->delimiter(',');

  CasesAsked cases;
  CLI::App& many = program.command("cases", "Our maps beside Scotch's and all permutations', on 308 problems",
                                   [&] { return print_cases(cases); });
  many.add_option("--scotch", cases.scotch, "File of libscotch; default: the system's");
  many.add_option("--each", cases.each, "Problems of a kind; default 11")->check(CLI::Range(1, 1000));
  many.add_flag("--progress", cases.progress, "Report progress on stderr");
  return program.run(argc, argv);
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::run_map(argc, argv);
}
