// As put.c, in C++: every rank puts a message into the next rank's memory, and looks at what the rank before put into
// its own.
//
//   sennit-launch -n 4 -- ./put_cpp        (or mpirun -n 4, srun -n 4)
#include <cstdio>
#include <numeric>
#include <vector>

#include "sennit/sennit.hpp"

namespace {

sennit::Status exchange(sennit::Communicator& comm) {
  const int rank = comm.rank(), size = comm.size();
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  std::vector<int> numbers(1 << 20);
  const std::uint64_t bytes = numbers.size() * sizeof(int);

  // Memory of this rank's device, registered with all ranks.
  auto inbox = comm.allocate(bytes);
  if (!inbox) return inbox.status();
  auto window = comm.open(inbox->data(), bytes);
  if (!window) return window.status();

  std::iota(numbers.begin(), numbers.end(), rank * 1000);
  if (auto status = window->put(next, 0, numbers.data(), bytes); !status) return status;
  if (auto status = comm.synchronize(); !status) return status;  // what this rank put has arrived
  if (auto status = comm.barrier(); !status) return status;      // what all ranks put has arrived

  if (auto status = comm.copy(numbers.data(), inbox->data(), bytes); !status) return status;
  if (auto status = comm.synchronize(); !status) return status;
  int wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) wrong += numbers[i] != before * 1000 + int(i);
  std::printf("rank %d of %d: %zu numbers from rank %d, %d wrong\n", rank, size, numbers.size(), before, wrong);
  return window->close();
}

}  // namespace

int main() {
  auto comm = sennit::Communicator::create();
  const sennit::Status status = comm ? exchange(*comm) : comm.status();
  if (!status) std::fprintf(stderr, "%s\n", status.text().c_str());
  return status ? 0 : 1;
}
