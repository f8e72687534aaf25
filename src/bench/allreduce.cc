// sennit-bench-allreduce: allreduce as a communicator does it, beside NCCL and beside every algorithm on request; the
// program behind `sennit bench allreduce`. It starts itself as the ranks.
#include "bench/allreduce/options.h"
#include "bench/allreduce/parent.h"
#include "bench/allreduce/rank.h"

int main(int argc, char** argv) {
  using namespace sennit::bench;
  Program program("sennit-bench-allreduce", "Measure allreduce beside its peers.",
                  "  sennit-bench-allreduce\n"
                  "  sennit-bench-allreduce --sizes 1K,64K,1M --type bfloat16 --eager\n"
                  "  sennit-bench-allreduce --algorithms all --blocks 16,64 --vs none\n"
                  "  sennit-bench-allreduce --executor host --ranks 4");
  allreduce::Options options;
  allreduce::add_options(program.app(), options);
  return program.run(argc, argv, [&]() -> sennit::Result<Exit> {
    if (options.rank) return allreduce::run_rank(options);
    return allreduce::run_parent(options, {argv + 1, argv + argc});
  });
}
