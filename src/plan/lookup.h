// Reads a table for one communicator: finds the plans for its own ranks' devices, by size.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "plan/table.h"

namespace sennit::plan {

/// Says how many blocks plans may have at most.
struct Room {
  unsigned blocks = coll::kMostBlocks;
  unsigned of_messages = coll::kMostBlocks;  ///< of the operation sendrecv

  unsigned of(coll::Operation operation) const {
    return operation == coll::Operation::sendrecv ? of_messages : blocks;
  }
  bool operator==(const Room&) const = default;
};

class Lookup {
 public:
  Lookup() = default;
  /// The entries of the layout, or of another one that is alike() it on this machine, with their plans that there is
  /// room for.
  Lookup(const Table& table, const Layout& layout, const machine::Machine& machine, const Room& room = {});

  bool empty() const { return entries_.empty(); }
  /// Finds the entry of the size nearest to the case's, by ratio, whose first plan admits it, or else any of whose
  /// plans do; those that admit it alone are left in it. No value where neither the operation was tuned nor any size
  /// within two octaves (below the smallest tuned size, at any distance if that is small), and where the nearest has
  /// no plan of so few blocks. Between windows it goes by what was tuned there alone.
  std::optional<Entry> find(const coll::CallKey& which, const coll::Team& team) const;
  /// Returns the entry that find() gives, and, where the case's own size was not tuned, the tuned sizes next below
  /// and above it: a caller that compares libraries between two sizes asks both. Where find() gives no entry: the
  /// nearest size, without plans, as no size near has a plan that fits; empty where no size is near.
  std::vector<Entry> around(const coll::CallKey& which, const coll::Team& team) const;

 private:
  /// Returns the sizes that find() looks at, nearest first.
  std::vector<Entry> near(const coll::CallKey& which) const;

  using Kind = std::tuple<coll::Operation, coll::Arithmetic, bool>;
  static Kind kind_of(const coll::CallKey& which) { return {which.operation, which.arithmetic, which.windows}; }
  std::map<Kind, std::vector<Entry>> entries_;  // ascending bytes
};

}  // namespace sennit::plan
