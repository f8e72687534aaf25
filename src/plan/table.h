// Keeps the times of collectives that were measured on a machine: a model says what should be fastest, and this
// document, beside the cached machine, says what was. A partial table is of use, and is continued.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "coll/algorithms.h"
#include "coll/call_key.h"
#include "coll/candidates.h"
#include "machine/machine.h"

namespace sennit::plan {

/// The machine's names of the devices of ranks 0, 1, ….
using Layout = std::vector<std::string>;

struct Timed {
  coll::Plan plan;
  double us = 0;         ///< median of a call, back to back; in place, but an allgather
  double spread_us = 0;  ///< half the interquartile range

  bool operator==(const Timed&) const = default;
};

/// Holds what was found for one size of an operation.
struct Entry {
  /// There are also plans of at most so many blocks, for callers who leave other kernels room on a GPU: defaults.
  /// Half of the most is for those who ask for a block an SM, as sennit.torch does; the other is what NCCL's own
  /// kernels have, for calls beside a program's kernels (FEW_BLOCKS in python/sennit/model/plans.py is the same
  /// number).
  static constexpr unsigned kHalf = coll::kMostBlocks / 2, kBesideKernels = 32;
  static constexpr std::array kFewBlocks{kHalf, kBesideKernels};
  static constexpr std::size_t kMostPlans = 8;

  Layout layout;
  coll::CallKey which;
  std::vector<Timed> plans;  ///< one to kMostPlans, the one to take first, then by time
  double model_us = 0;       ///< what the cost model's choice took in the same run
  double nccl_us = 0;        ///< what NCCL took in the same run, between windows of its own; 0: it was not measured
  std::string nccl;          ///< which NCCL, as nccl_name() has it
  unsigned candidates = 0;   ///< plans that were verified and timed

  bool operator==(const Entry&) const = default;
  /// Returns whether both entries answer one question.
  bool same_case(const Entry& other) const { return layout == other.layout && which == other.which; }
  /// Returns whether the plan to take first measured faster than NCCL, beyond its spread; false where one of the two
  /// was not measured.
  bool beats_nccl() const {
    return !plans.empty() && nccl_us > 0 && plans.front().us + plans.front().spread_us < nccl_us;
  }
  /// Returns whether some plan of the entry fits within so many blocks.
  bool has_plan_within(unsigned blocks) const {
    return std::ranges::any_of(plans, [&](const Timed& timed) { return coll::fits(timed.plan, blocks); });
  }
};

struct Table {
  static constexpr int kVersion = 1;
  std::string fingerprint;                      ///< of the machine it was measured on
  std::string date;                             ///< of the latest entry
  std::map<std::string, std::string> versions;  ///< "sennit", "driver", "cuda"
  std::uint64_t scratch_bytes = 0;              ///< SENNIT_SCRATCH while it was measured
  std::vector<Entry> entries;                   ///< in the order of before()

  const Entry* find(const Layout& layout, const coll::CallKey& which) const;
};

/// Orders a table: by layout, operation, arithmetic, windows, bytes.
bool before(const Entry& a, const Entry& b);

/// Returns the versions that times on this machine depend on.
std::map<std::string, std::string> versions_of(const machine::Machine& machine);

/// ok where the table was measured on this machine with these versions and that much scratch. Errors: mismatch,
/// saying what differs.
Status suits(const Table& table, const machine::Machine& machine, std::uint64_t scratch_bytes);

/// `newer`'s entries, and those of `older` that `newer` lacks. Errors: mismatch, where they are of different
/// machines, versions or scratch.
Result<Table> merge(const Table& older, const Table& newer);
/// Puts the entry in, in place of one for the same case.
void insert(Table& table, Entry entry);

Json to_json(const Table& table);
/// Errors: corrupt, naming the entry and member that is wrong.
Result<Table> table_from_json(const Json& document, std::string_view origin);

/// Returns one text for tables with equal content, on every rank and machine.
std::string hash(const Table& table);

/// Returns the file that keeps the table of a machine, beside its cached document. Errors: those of
/// machine::cache_file.
Result<std::filesystem::path> table_file(const std::string& fingerprint);
/// `named_by`: what names the file, such as SENNIT_TABLE; empty for the machine's own, which tuning makes. Errors:
/// not_found (never tuned; of a file that is named, that it does not exist), corrupt.
Result<Table> load_table(const std::filesystem::path& file, std::string_view named_by = {});

/// Holds the table that communicators on this machine go by, if it suits them.
struct Kept {
  std::filesystem::path file;  ///< empty where none is looked for
  std::optional<Table> table;  ///< none where there is none
};
/// Returns whether there may be a table, of this machine or of another, without a look at it.
bool has_table();
/// Finds the table that SENNIT_TABLE names, else the machine's own. Errors: those of load_table(), but for one of its
/// own that was never made.
Result<Kept> kept_table(const machine::Machine& machine);

/// Returns the kept table for a caller that only wants to go by it, with that much scratch: a table without entries
/// where there is none. Errors say why a table there is of no use: those of kept_table(); mismatch, from suits().
Result<Table> own_table(const machine::Machine& machine, std::uint64_t scratch_bytes);

}  // namespace sennit::plan
