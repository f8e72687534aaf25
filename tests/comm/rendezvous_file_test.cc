#include "comm/rendezvous_file.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "comm/secret.h"

namespace sennit::comm {
namespace {

namespace fs = std::filesystem;

class RendezvousFileTest : public testing::Test {
 protected:
  const std::string folder = testing::TempDir() + "sennit-test-" + *random_hex(8);
  const std::string name = rendezvous_name("job");
  std::string file() const { return folder + "/" + name; }
  void TearDown() override { fs::remove_all(folder); }
};

TEST_F(RendezvousFileTest, IsReadWhileItsPublisherLives) {
  EXPECT_FALSE(read_rendezvous(folder, name)->has_value());
  {
    const auto published = RendezvousFile::publish(folder, name, "127.0.0.1:1 s");
    ASSERT_TRUE(published.ok()) << published.status().text();
    EXPECT_EQ(**read_rendezvous(folder, name), "127.0.0.1:1 s");
    EXPECT_FALSE(read_rendezvous(folder, rendezvous_name("another job"))->has_value());
    struct stat info {};
    ASSERT_EQ(::stat(folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    ASSERT_EQ(::stat(file().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(RendezvousFileTest, LeavesTheFolderToOthersThatMeet) {
  auto one = RendezvousFile::publish(folder, name, "1");
  {
    const auto two = RendezvousFile::publish(folder, rendezvous_name("another"), "2");
    ASSERT_TRUE(two.ok());
  }
  EXPECT_EQ(**read_rendezvous(folder, name), "1");
}

TEST_F(RendezvousFileTest, OfTheSameJobIsNotPublishedTwice) {
  const auto first = RendezvousFile::publish(folder, name, "1");
  EXPECT_EQ(RendezvousFile::publish(folder, name, "2").status().code(), Code::mismatch);
  EXPECT_EQ(**read_rendezvous(folder, name), "1");
}

// As kill -9 leaves it: the file is there, nobody holds its lock.
TEST_F(RendezvousFileTest, LeftBehindIsRemovedByWhoeverFindsIt) {
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all);
  std::ofstream(file()) << "127.0.0.1:1 stale";
  EXPECT_FALSE(read_rendezvous(folder, name)->has_value());
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(RendezvousFileTest, LeftBehindIsReplaced) {
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all);
  std::ofstream(file()) << "127.0.0.1:1 stale";
  const auto published = RendezvousFile::publish(folder, name, "fresh");
  ASSERT_TRUE(published.ok()) << published.status().text();
  EXPECT_EQ(**read_rendezvous(folder, name), "fresh");
}

TEST_F(RendezvousFileTest, IsNotTrustedInAFolderThatOthersMayEnter) {
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all | fs::perms::group_exec);
  EXPECT_EQ(RendezvousFile::publish(folder, name, "x").status().code(), Code::permission_denied);
  EXPECT_EQ(read_rendezvous(folder, name).status().code(), Code::permission_denied);
}

TEST_F(RendezvousFileTest, IsNotTrustedBehindALink) {
  const std::string real = folder + "-real";
  fs::create_directory(real);
  fs::permissions(real, fs::perms::owner_all);
  fs::create_directory_symlink(real, folder);
  EXPECT_EQ(RendezvousFile::publish(folder, name, "x").status().code(), Code::permission_denied);
  EXPECT_TRUE(fs::is_empty(real));
  fs::remove(folder);
  fs::remove(real);
}

TEST_F(RendezvousFileTest, ItselfMayBeNoLink) {
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all);
  fs::create_symlink("/etc/hostname", file());
  EXPECT_FALSE(read_rendezvous(folder, name)->has_value());
}

TEST(RendezvousName, IsAHashAndNoPath) {
  EXPECT_EQ(rendezvous_name("../../etc/passwd").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(rendezvous_name("a"), rendezvous_name("b"));
}

TEST(RuntimeFolder, IsTheUsersOwn) {
  const std::string own = testing::TempDir() + "sennit-xdg-" + *random_hex(4);
  fs::create_directory(own);
  ::setenv("XDG_RUNTIME_DIR", own.c_str(), 1);
  EXPECT_EQ(runtime_folder(), own + "/sennit");
  ::setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
  EXPECT_EQ(runtime_folder(), "/tmp/sennit-" + std::to_string(::getuid()));
  ::unsetenv("XDG_RUNTIME_DIR");
  fs::remove(own);
}

}  // namespace
}  // namespace sennit::comm
