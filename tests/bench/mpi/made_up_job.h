// A job whose MPI is made up: rank 0 alone, which gets what it gives, or something else.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "bench/mpi/job.h"

namespace sennit::bench::mpi {

inline constexpr device::Reduction kSum{device::Type::float32, device::Operator::sum};
inline const Numbers kFloats{kSum, "float32"};

class MadeUpJob final : public Job {
 public:
  using Call = std::function<Status(const Batch&, int calls, double& us)>;

  explicit MadeUpJob(Call call) : call_(std::move(call)) {}
  void finish() override {}
  std::string lacks(const Benchmark&) const override { return {}; }

  /// What MPI does with one rank: what it gives is what it gets.
  static void carry(const Batch& batch) {
    const auto& layout = batch.layout;
    std::memmove(batch.output, batch.input, std::min(layout.input_bytes(), layout.output_bytes()));
  }

  std::vector<int> calls;  ///< of every batch
  double untimed_us = 0;   ///< of every call

 private:
  Status timed(const Batch& batch, int count, Spent& spent) override {
    calls.push_back(count);
    Status status = call_(batch, count, spent.us);
    spent.all_us = spent.us + count * untimed_us;
    return status;
  }
  int all_gather(const void* mine, void* all, int bytes) override {
    std::memcpy(all, mine, static_cast<std::size_t>(bytes));
    return 0;
  }

  Call call_;
};

}  // namespace sennit::bench::mpi
