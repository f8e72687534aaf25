#include "doctor/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Libraries, AreFoundWhereAProgramWouldFindThem) {
  const auto root = scratch();
  for (const char* folder :
       {"own", "venv/lib/python3.11/site-packages/nvidia/nccl/lib", "venv/bin", "mpi/bin", "mpi/lib64", "usr/lib64"})
    fs::create_directories(root / folder);
  Places places;
  places.root = root;
  places.library_path = {root / "own", root / "absent"};
  places.environments = {root / "venv"};
  places.path = {root / "mpi/bin", root / "venv/bin"};
  EXPECT_THAT(library_folders(places),
              ElementsAre(root / "own", root / "venv/lib", root / "mpi/lib64", root / "usr/lib64"));
  EXPECT_THAT(package_folders(places), ElementsAre(root / "venv/lib/python3.11/site-packages"));
}

TEST(Libraries, ReachedByTwoNamesCountOnce) {
  const auto root = scratch();
  write(root / "a/libmpi.so.40.1", "");
  link(root / "a/libmpi.so.40", "libmpi.so.40.1");
  fs::create_directory_symlink("a", root / "b");
  write(root / "c/libmpi.so.12", "");
  EXPECT_THAT(find_libraries({root / "a", root / "b", root / "c"}, {"libmpi.so.40", "libmpi.so.12"}),
              ElementsAre(root / "a/libmpi.so.40", root / "c/libmpi.so.12"));
  EXPECT_THAT(find_libraries({root / "a"}, {"libnccl.so.2"}), IsEmpty());
}

TEST(Programs, MustBeExecutable) {
  const auto root = scratch();
  write(root / "one/mpirun", "");
  write(root / "venv/bin/mpirun", "");
  fs::permissions(root / "venv/bin/mpirun", fs::perms::owner_all);
  Places places;
  places.path = {root / "one"};
  EXPECT_EQ(find_program(places, "mpirun"), fs::path());
  places.environments = {root / "venv"};
  EXPECT_EQ(find_program(places, "mpirun"), root / "venv/bin/mpirun");
}

TEST(MpiVersion, IsOneLine) {
  EXPECT_EQ(mpi_version("Open MPI v5.0.11, package: Open MPI, ident: 5.0.11"), "Open MPI v5.0.11");
  EXPECT_EQ(mpi_version("MPICH Version:      5.0.2\nMPICH Release date: Fri"), "MPICH Version: 5.0.2");
  EXPECT_EQ(mpi_version(""), "");
}

TEST(LibraryReading, KeepsWhatWentWrong) {
  Answer crashed;
  crashed.end = End::crashed;
  crashed.status = 11;
  EXPECT_THAT(library_reading("libx.so", crashed).problem, testing::HasSubstr("signal 11"));
  Answer told;
  told.end = End::finished;
  told.lines.push_back({{"path", "/lib/libx.so.1"}, {"version", "1.2"}});
  const LibraryReading reading = library_reading("libx.so", told);
  EXPECT_EQ(reading.path, "/lib/libx.so.1");
  EXPECT_EQ(reading.version, "1.2");
  EXPECT_EQ(reading.problem, "");
}

}  // namespace
}  // namespace sennit::doctor
