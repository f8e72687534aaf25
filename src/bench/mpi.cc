// sennit-bench-mpi measures the program's own MPI with sennit's drop-in and without it, in turns, in the ranks of one
// job; it is the program behind `sennit bench mpi`. A launcher starts it as the ranks; it finds the MPI at run time.
#include "bench/mpi/options.h"
#include "bench/mpi/rank.h"

int main(int argc, char** argv) {
  using namespace sennit::bench;
  Program program("sennit-bench-mpi", "Measure an MPI with sennit's drop-in and without it.",
                  "  LD_PRELOAD=…/libsennit-preload.so mpirun -n 2 sennit-bench-mpi\n"
                  "  mpirun -n 4 sennit-bench-mpi --operations allreduce --sizes 64M,256M --in-place\n"
                  "  mpiexec -n 2 sennit-bench-mpi --buffers host --sizes 8 --seconds 2\n"
                  "  SENNIT_EMULATE=1 mpiexec -n 2 sennit-bench-mpi --buffers gpu,host --operations all");
  mpi::Options options;
  mpi::add_options(program.app(), options);
  return program.run(argc, argv, [&] { return mpi::run_rank(options); });
}
