// sennit-bench-put measures one message from memory to memory over every path, beside the copy engine alone, the host
// path alone, NCCL and UCX; it is the program behind `sennit bench put`. It starts itself as the ranks.
#include "bench/put/options.h"
#include "bench/put/parent.h"
#include "bench/put/rank.h"

int main(int argc, char** argv) {
  using namespace sennit::bench;
  Program program("sennit-bench-put", "Measure one message over every path, beside its peers.",
                  "  sennit-bench-put\n"
                  "  sennit-bench-put --from gpu0 --to gpu1 --sizes 16M,256M,1G --vs engine,ucx\n"
                  "  sennit-bench-put --from host0 --to gpu0\n"
                  "  sennit-bench-put --traffic one_way,both_ways --window 1,64\n"
                  "  sennit-bench-put --executor host --ranks 4");
  put::Options options;
  put::add_options(program.app(), options);
  return program.run(argc, argv, [&]() -> sennit::Result<Exit> {
    options.versus_given = !options.versus.empty();
    if (options.job.empty()) return put::run_parent(options);
    auto job = put::job_from(options.job);
    if (!job) return job.status();
    return put::run_rank(*job);
  });
}
