// sennit-bench-partitioned measures messages whose partitions become ready one after the other, in the two ranks of a
// job of any MPI, which it finds at run time; it is the program behind `sennit bench partitioned`.
#include "bench/partitioned/options.h"
#include "bench/partitioned/rank.h"

int main(int argc, char** argv) {
  using namespace sennit::bench;
  Program program(
      "sennit-bench-partitioned", "Measure messages whose partitions become ready one after the other.",
      "  mpirun -n 2 sennit-bench-partitioned\n"
      "  mpirun -n 2 sennit-bench-partitioned --probe early --sizes 64,64K\n"
      "  mpirun -n 2 sennit-bench-partitioned --back-end rma_flush --sizes 1M --partitions 4,16 --threads 4\n"
      "  mpiexec -n 2 sennit-bench-partitioned --noise laggard:100us/MB --order random --cache hot,cold");
  partitioned::Options options;
  partitioned::add_options(program.app(), options);
  return program.run(argc, argv, [&] { return partitioned::run_rank(options); });
}
