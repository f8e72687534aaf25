// Keeps something that is known of every byte of a range of numbers, piece by piece: cells that split where they
// must.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace sennit::sim {

template <class T>
class Cells {
 public:
  /// Calls `visit(begin, end, T&)` for every piece of [begin, end), in order. What was never visited is T{}.
  template <class Visit>
  void visit(std::uint64_t begin, std::uint64_t end, Visit visit) {
    if (begin >= end) return;
    split(begin);
    split(end);
    std::uint64_t at = begin;
    for (auto cell = cells_.lower_bound(begin); at < end; ++cell) {
      if (cell == cells_.end() || cell->first > at) {  // a gap
        const std::uint64_t until = cell == cells_.end() || cell->first > end ? end : cell->first;
        cell = cells_.emplace_hint(cell, at, Cell{until, T{}});
      }
      visit(at, cell->second.end, cell->second.value);
      at = cell->second.end;
    }
  }

  /// Sets all of [begin, end): one cell.
  void set(std::uint64_t begin, std::uint64_t end, T value) {
    if (begin >= end) return;
    split(begin);
    split(end);
    cells_.erase(cells_.lower_bound(begin), cells_.lower_bound(end));
    cells_.emplace(begin, Cell{end, std::move(value)});
  }

  /// All pieces that were visited or set.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [begin, cell] : cells_) visit(begin, cell.end, cell.value);
  }

 private:
  struct Cell {
    std::uint64_t end;
    T value;
  };

  void split(std::uint64_t at) {
    auto next = cells_.upper_bound(at);
    if (next == cells_.begin()) return;
    auto& [begin, cell] = *std::prev(next);
    if (begin == at || cell.end <= at) return;
    cells_.emplace_hint(next, at, Cell{cell.end, cell.value});
    cell.end = at;
  }

  std::map<std::uint64_t, Cell> cells_;
};

}  // namespace sennit::sim
