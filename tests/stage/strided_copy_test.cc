#include "stage/strided_copy.h"

#include <gtest/gtest.h>

#include <vector>

#include "device/executor.h"
#include "device/launch.h"

namespace sennit::stage {
namespace {

/// Which bytes of 20 000 a copy of the first `most` bytes of data has written; those it has written wrong are 2.
std::vector<int> written(const Strided& rows, std::uint64_t most) {
  auto executor = device::open_host_executor();
  auto lane = (*executor)->lane(0);
  std::vector<std::byte> from(20'000), to(20'000, std::byte{0});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(1 + i % 255);
  const StridedCopy copy{to.data(), from.data(), rows, most};
  EXPECT_TRUE(device::launch(**lane, copy, copy.blocks(), copy.threads()).ok());
  EXPECT_TRUE((*lane)->synchronize().ok());
  std::vector<int> found;
  for (std::size_t i = 0; i < to.size(); ++i) found.push_back(to[i] == std::byte{0} ? 0 : to[i] == from[i] ? 1 : 2);
  return found;
}

TEST(StridedCopy, WritesRowsAndNothingElse) {
  for (const Strided& rows :
       {Strided{3, 8, 100, 150}, Strided{0, 700, 1000, 19}, Strided{5, 1, 7, 30, 400, 40}, Strided{9, 50, 0, 1}}) {
    const std::uint64_t all = static_cast<std::uint64_t>(rows.data());
    for (const std::uint64_t most : {all, all - 1, all / 2, std::uint64_t(1)}) {
      std::vector<int> expected(20'000, 0);
      std::uint64_t left = most;
      for (std::int64_t p = 0; p < rows.planes; ++p)
        for (std::int64_t r = 0; r < rows.rows; ++r)
          for (std::int64_t b = 0; b < rows.bytes && left > 0; ++b, --left)
            expected[static_cast<std::size_t>(rows.first + p * rows.plane_stride + r * rows.stride + b)] = 1;
      EXPECT_EQ(written(rows, most), expected) << rows.bytes << " " << most;
    }
  }
}

}  // namespace
}  // namespace sennit::stage
