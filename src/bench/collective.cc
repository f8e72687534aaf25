// sennit-bench-collective measures collectives as a communicator does them, beside NCCL and beside every algorithm on
// request; it is the program behind `sennit bench allreduce` and its like. It starts itself as the ranks.
#include "bench/collective/options.h"
#include "bench/collective/parent.h"
#include "bench/collective/rank.h"

int main(int argc, char** argv) {
  using namespace sennit::bench;
  Program program("sennit-bench-collective", "Measure collectives beside their peers.",
                  "  sennit-bench-collective\n"
                  "  sennit-bench-collective --operations allgather,reduce_scatter --sizes 1K,64K,1M --eager\n"
                  "  sennit-bench-collective --operations all --algorithms all --blocks 16,64 --vs none\n"
                  "  sennit-bench-collective --executor host --ranks 4");
  collective::Options options;
  collective::add_options(program.app(), options);
  return program.run(argc, argv, [&]() -> sennit::Result<Exit> {
    if (options.rank) return collective::run_rank(options);
    return collective::run_parent(options, {argv + 1, argv + argc});
  });
}
