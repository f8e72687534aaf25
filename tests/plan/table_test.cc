#include "plan/table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "made_up.h"

namespace sennit::plan {
namespace {

TEST(Table, IsReadAsItWasWritten) {
  const Table table = small_table();
  const auto read = table_from_json(to_json(table), "here");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->entries, table.entries);
  EXPECT_EQ(read->versions, table.versions);
  EXPECT_EQ(hash(*read), hash(table));
}

TEST(Table, IsInTheSameOrderHoweverItWasFilled) {
  const Table table = small_table();
  Table other = empty_table();
  for (auto entry = table.entries.rbegin(); entry != table.entries.rend(); ++entry) insert(other, *entry);
  EXPECT_EQ(other.entries, table.entries);
  EXPECT_EQ(hash(other), hash(table));
  other.entries.front().plans.front().us += 1;
  EXPECT_NE(hash(other), hash(table));
}

TEST(Table, KeepsACaseBetweenWindowsBesideTheSameInOrdinaryBuffers) {
  const Table table = table_with_windows();
  EXPECT_EQ(table.entries.size(), small_table().entries.size() + 1);
  const auto read = table_from_json(to_json(table), "here");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->entries, table.entries);
  const coll::CallKey ordinary = allreduce_of(4 * MiB);
  EXPECT_EQ(read->find({"gpu0", "gpu1"}, ordinary)->plans.front().plan, kTwoShot);
  EXPECT_EQ(read->find({"gpu0", "gpu1"}, between_windows(ordinary))->plans.front().plan, kStraight);
  const auto merged = merge(small_table(), table);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->entries, table.entries);
}

TEST(Table, OneFromBeforeWindowsWereTunedIsReadAndStaysTheSame) {
  const std::string before = to_json(small_table()).dump();
  EXPECT_EQ(before.find("windows"), std::string::npos) << "tables of ordinary buffers keep their hash";
  const auto read = table_from_json(*parse_json(before, "here"), "here");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->entries, small_table().entries);
}

TEST(Table, SaysWhatIsWrongInADocument) {
  struct Wrong {
    const char* pointer;
    Json value;
    const char* said;
  };
  const Wrong all[] = {
      {"/version", 2, "version 1"},
      {"/kind", "put table", "collective table"},
      {"/fingerprint", 7, "fingerprint"},
      {"/versions", Json::array(), "versions"},
      {"/versions/driver", 580, "driver"},
      {"/scratch_bytes", -1, "scratch_bytes"},
      {"/entries", "none", "entries are missing"},
      {"/entries/0", 3, "entries[0]: is not an object"},
      {"/entries/1/layout", Json::array({"gpu0"}), "entries[1]: layout"},
      {"/entries/0/layout/0", 3, "names no device"},
      {"/entries/0/operation", "allredouble", "allredouble"},
      {"/entries/0/arithmetic", "quick", "quick"},
      {"/entries/0/bytes", "many", "bytes"},
      {"/entries/0/windows", "yes", "windows"},
      {"/entries/0/model_us", -2, "model_us"},
      {"/entries/0/nccl_us", nullptr, "nccl_us"},
      {"/entries/0/candidates", 1.5, "candidates"},
      {"/entries/0/plans", Json::array(), "plans are not 1 to 8"},
      {"/entries/0/plans/0/algorithm", "chain", "there is no allreduce algorithm \"chain\""},
      {"/entries/0/plans/0/blocks", 0, "plans[0]: blocks"},
      {"/entries/0/plans/0/threads", 33, "threads"},
      {"/entries/0/plans/0/us", -1, "us is not a time"},
  };
  for (const Wrong& each : all) {
    Json document = to_json(small_table());
    document[Json::json_pointer(each.pointer)] = each.value;
    const auto read = table_from_json(document, "here");
    ASSERT_FALSE(read.ok()) << each.pointer;
    EXPECT_EQ(read.status().code(), Code::corrupt);
    EXPECT_NE(read.status().text().find(each.said), std::string::npos)
        << each.pointer << ": " << read.status().text();
  }
  EXPECT_FALSE(table_from_json(Json::array(), "here").ok());
}

TEST(Table, IsRefusedElsewhereWithAReason) {
  const machine::Machine machine = measured_machine();
  const std::uint64_t scratch = small_table().scratch_bytes;
  EXPECT_TRUE(suits(small_table(), machine, scratch).ok());
  machine::Machine other = machine;
  other.fingerprint = "fedcba9876543210";
  EXPECT_NE(suits(small_table(), other, scratch).text().find("machine 0123456789abcdef"), std::string::npos);
  other = machine;
  other.driver = "590.2";
  EXPECT_NE(suits(small_table(), other, scratch).text().find("driver 580.1 instead of 590.2"), std::string::npos);
  EXPECT_NE(suits(small_table(), machine, 2 * scratch).text().find("of scratch memory"), std::string::npos);
  Table older = small_table();
  older.versions.erase("sennit");
  EXPECT_NE(suits(older, machine, scratch).text().find("sennit ? instead of"), std::string::npos);
}

TEST(Table, MergesByCaseAndTakesTheNewer) {
  Table newer = empty_table();
  newer.date = "2026-11-23";
  insert(newer, entry_of({"gpu0", "gpu1"}, allreduce_of(MiB), {{kTwoShot, 13, 0.1}}));
  insert(newer, entry_of({"gpu0", "gpu1", "gpu2"}, allreduce_of(MiB), {{kTwoShot, 16, 0.1}}));
  const auto merged = merge(small_table(), newer);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->date, "2026-11-23");
  EXPECT_EQ(merged->entries.size(), 4u);
  EXPECT_EQ(merged->find({"gpu0", "gpu1"}, allreduce_of(MiB))->plans.front().plan, kTwoShot);
  EXPECT_EQ(merged->find({"gpu0", "gpu1"}, allreduce_of(2 * MiB)), nullptr);
  newer.scratch_bytes *= 2;
  EXPECT_EQ(merge(small_table(), newer).status().code(), Code::mismatch);
  newer = small_table();
  newer.fingerprint = "fedcba9876543210";
  EXPECT_EQ(merge(small_table(), newer).status().code(), Code::mismatch);
}

TEST(Table, OneThatIsNotThereSaysHowToMakeIt) {
  const auto table = load_table("/nowhere/at/all.json");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().code(), Code::not_found);
  EXPECT_NE(table.status().remedy().find("sennit tune collectives"), std::string::npos);
}

TEST(Table, OneThatIsNamedAndNotThereIsNotCalledUntuned) {
  const auto table = load_table("/nowhere/at/all.json", "SENNIT_TABLE");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.status().text(), "not_found: /nowhere/at/all.json does not exist. Check SENNIT_TABLE");
}

// What communicators of this machine find, in a folder of the test's own.
class OwnTable : public testing::Test {
 protected:
  OwnTable() {
    std::filesystem::create_directories(folder_);
    setenv("SENNIT_CACHE", folder_.c_str(), 1);
    unsetenv("SENNIT_TABLE");
  }
  ~OwnTable() override {
    if (cache_) setenv("SENNIT_CACHE", cache_->c_str(), 1);
    if (!cache_) unsetenv("SENNIT_CACHE");
    unsetenv("SENNIT_TABLE");
    std::filesystem::remove_all(folder_);
  }
  static std::optional<std::string> cache() {
    const char* const set = std::getenv("SENNIT_CACHE");
    return set != nullptr ? std::optional<std::string>(set) : std::nullopt;
  }
  std::filesystem::path own() const { return *table_file(machine_.fingerprint); }
  Result<Table> found() const { return own_table(machine_, small_table().scratch_bytes); }

  const machine::Machine machine_ = measured_machine();
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("own-table-" + std::to_string(::getpid()));
  const std::optional<std::string> cache_ = cache();
};

TEST_F(OwnTable, IsEmptyWhereNoneWasMade) {
  ASSERT_TRUE(found().ok()) << found().status().text();
  EXPECT_TRUE(found()->entries.empty());
}

TEST_F(OwnTable, IsTheMachinesOrTheOneThatIsNamed) {
  ASSERT_TRUE(write_json(own(), to_json(small_table())).ok());
  ASSERT_TRUE(found().ok()) << found().status().text();
  EXPECT_EQ(found()->entries, small_table().entries);
  Table other = small_table();
  other.entries.pop_back();
  ASSERT_TRUE(write_json(folder_ / "other.json", to_json(other)).ok());
  setenv("SENNIT_TABLE", (folder_ / "other.json").c_str(), 1);
  ASSERT_TRUE(found().ok()) << found().status().text();
  EXPECT_EQ(found()->entries, other.entries);
  setenv("SENNIT_TABLE", "none", 1);
  ASSERT_TRUE(found().ok()) << found().status().text();
  EXPECT_TRUE(found()->entries.empty());
}

TEST_F(OwnTable, IsLookedForWithoutAMachine) {
  ASSERT_TRUE(write_json(folder_ / "0123456789abcdef.json", Json::object()).ok());
  EXPECT_FALSE(has_table()) << "a measured machine is no table";
  setenv("SENNIT_TABLE", "wherever.json", 1);
  EXPECT_TRUE(has_table()) << "whether it is there, who reads it says";
  unsetenv("SENNIT_TABLE");
  ASSERT_TRUE(write_json(own(), to_json(small_table())).ok());
  EXPECT_TRUE(has_table());
  setenv("SENNIT_TABLE", "none", 1);
  EXPECT_FALSE(has_table());
  unsetenv("SENNIT_TABLE");
  setenv("SENNIT_CACHE", (folder_ / "nowhere").c_str(), 1);
  EXPECT_FALSE(has_table());
}

TEST_F(OwnTable, SaysWhyOneIsOfNoUse) {
  ASSERT_TRUE(write_json(own(), to_json(small_table())).ok());
  EXPECT_EQ(own_table(machine_, 2 * small_table().scratch_bytes).status().code(), Code::mismatch);
  ASSERT_TRUE(write_json(own(), Json::array()).ok());
  EXPECT_EQ(found().status().code(), Code::corrupt);
  setenv("SENNIT_TABLE", (folder_ / "nowhere.json").c_str(), 1);
  EXPECT_EQ(found().status().code(), Code::not_found);
  EXPECT_EQ(found().status().what(), (folder_ / "nowhere.json").string() + " does not exist");
  EXPECT_EQ(found().status().remedy(), "Check SENNIT_TABLE");
}

}  // namespace
}  // namespace sennit::plan
