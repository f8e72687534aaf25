#include "bench/mpi/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "bench/mpi/numbers.h"

namespace sennit::bench::mpi {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Options one(std::string operation, std::vector<std::string> sizes = {"8"}) {
  Options options;
  options.operations = {std::move(operation)};
  options.sizes = std::move(sizes);
  return options;
}

TEST(MpiOptions, EverythingIsCombined) {
  Options options = one("bandwidth", {"8", "64K"});
  options.buffers = {"gpu", "host", "gpu_host"};
  EXPECT_EQ(cases_of(options, true, true, 2)->list.size(), 2u * 3 * 2) << "two windows";
  options.operations = {"allreduce", "allreduce", "alltoall"};
  options.in_place = true;
  // Collectives have one kind of buffer; an alltoall is not measured in place.
  EXPECT_EQ(cases_of(options, true, true, 2)->list.size(), 2u * 2 * 2 + 2 * 2);
  EXPECT_EQ(cases_of(one("barrier"), true, true, 2)->list.size(), 1u);
}

TEST(MpiOptions, BuffersAreOfGpusWhereThereAreSome) {
  EXPECT_EQ(cases_of(one("latency"), true, true, 2)->list.front().buffers, Buffers::gpu);
  EXPECT_EQ(cases_of(one("latency"), false, false, 2)->list.front().buffers, Buffers::host);
}

TEST(MpiOptions, SizesGrowAsFarAsItPays) {
  EXPECT_EQ(cases_of(one("allreduce", {}), true, true, 2)->list.back().bytes, 256 * MiB);
  EXPECT_EQ(cases_of(one("allreduce", {}), false, true, 2)->list.back().bytes, 4 * MiB);
}

TEST(MpiOptions, WhatNeedsTooMuchMemoryIsLeftOut) {
  const auto quiet = cases_of(one("alltoall", {}), true, true, 8);
  EXPECT_EQ(quiet->list.back().bytes, 64 * MiB);
  EXPECT_THAT(quiet->warnings, IsEmpty()) << "nobody asked for more";
  const auto asked = cases_of(one("alltoall", {"64M", "256M"}), true, true, 8);
  EXPECT_EQ(asked->list.size(), 1u);
  ASSERT_EQ(asked->warnings.size(), 1u);
  EXPECT_EQ(asked->warnings[0],
            "alltoall of 256 MiB, gpu buffers is left out: a rank would need 2 GiB for it; use smaller --sizes.");
}

TEST(MpiOptions, WrongOnesAreNamed) {
  const auto told = [](Options options) { return cases_of(options, true, true, 2).status().text(); };
  EXPECT_THAT(told(one("sort")), HasSubstr("there is no operation 'sort'"));
  EXPECT_THAT(told(one("latency", {"3"})), HasSubstr("3 bytes are no whole number of float32"));
  EXPECT_THAT(told(one("latency", {"0"})), HasSubstr("no whole number"));
  EXPECT_THAT(told(one("latency", {"much"})), HasSubstr("--sizes"));
  Options options = one("allreduce");
  options.type = "bfloat16";
  EXPECT_THAT(told(options), HasSubstr("MPI has no numbers of type bfloat16"));
  options.type = "MPI_C_FLOAT_COMPLEX";
  EXPECT_THAT(told(options), HasSubstr("MPI has no numbers of type"));
  options.type = "half";
  EXPECT_THAT(told(options), HasSubstr("--type"));
  options = one("allreduce");
  options.op = "average";
  EXPECT_THAT(told(options), HasSubstr("MPI has no average of float32"));
  options.op = "bit_and";
  EXPECT_THAT(told(options), HasSubstr("MPI has no bit_and of float32"));
  options.type = "int32";
  EXPECT_TRUE(cases_of(options, true, true, 2));
  options = one("allreduce");
  options.buffers = {"gpu_host"};
  EXPECT_THAT(told(options), HasSubstr("nothing is left to measure"));
}

TEST(MpiOptions, TypesHaveMpisNamesToo) {
  for (const char* name : {"char", "MPI_CHAR", "mpi_char"}) {
    EXPECT_EQ(parse_numbers(name, "sum")->handle->name, "MPI_CHAR");
    EXPECT_EQ(parse_numbers(name, "sum")->reduction.type, device::Type::int8);
  }
  EXPECT_EQ(parse_numbers("float", "sum")->handle, parse_numbers("float32", "sum")->handle);
  EXPECT_EQ(parse_numbers("int", "max")->handle->name, "MPI_INT");
}

TEST(MpiOptions, AtomicCallsAreOfOneElement) {
  Options options = one("osu_fop_latency", {"64", "4K"});
  options.operations.emplace_back("cas_latency");
  const auto cases = cases_of(options, true, true, 2);
  ASSERT_EQ(cases->list.size(), 2u);
  for (const Case& each : cases->list) EXPECT_EQ(each.bytes, 8u);
}

TEST(MpiOptions, PeersAreAllUnlessSomeAreNamed) {
  Options options;
  EXPECT_TRUE(options.against("by_hand") && options.against("mpi"));
  options.versus = {"mpi"};
  EXPECT_TRUE(!options.against("by_hand") && options.against("mpi"));
  options.versus = {"none"};
  EXPECT_FALSE(options.against("mpi"));
}

TEST(MpiOptions, NodesHaveAsManyRanksEach) {
  Options options;
  EXPECT_TRUE(check_nodes(options, 3).ok());
  options.ranks_per_node = 2;
  EXPECT_TRUE(check_nodes(options, 4).ok());
  EXPECT_THAT(check_nodes(options, 3).text(), HasSubstr("3 ranks are no whole number of nodes of 2"));
}

}  // namespace
}  // namespace sennit::bench::mpi
