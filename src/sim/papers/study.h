// Does a paper's experiments again on its machine: what it says, what comes of it here, and where the two part.
//
// Only rates of single paths and latencies are fitted, each once for a machine, and listed; all else follows from the
// design as the paper describes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "machine/machine.h"

namespace sennit::sim {

struct Fitted {
  std::string name;
  double value = 0;
  std::string unit;
  std::string from;  ///< the number of the paper that it comes from; "assumed": from none
};

struct Number {
  std::string figure;  ///< "thesis, figure 4.3a"
  std::string what;
  std::string unit;  ///< "GB/s", "x", "%", "streams"
  double paper = 0;
  double ours = 0;
  /// Within it, or not: as a part of the paper's number; of counts, so many more or fewer.
  double band = 0.25;
  bool counts = false;
  std::string why;      ///< what is known of a difference, or of how the number was had
  bool fitted = false;  ///< one of Fitted comes from this: it takes no part in errors
  bool chosen = false;  ///< what the authors chose, not what they measured: nor does it

  double ratio() const { return paper != 0 ? ours / paper : 0; }
  bool within() const;
};

/// What a paper says without a number.
struct Claim {
  std::string figure, what;
  bool holds = false;
  std::string ours;   ///< what was found, in words
  std::string why{};  ///< of one that does not hold, what is known
};

/// A number that is not done again, and why.
struct LeftOut {
  std::string figure, what, why;
};

/// What a design of the paper takes here, to be held against others.
struct Design {
  std::string name;
  double us = 0;
};

/// A line of a figure, as it comes out here: the paper prints no numbers for it.
struct Series {
  std::string figure, name, unit;
  std::vector<std::pair<double, double>> points;  ///< bytes, or nodes, and value
  std::string over = "size";                      ///< or "nodes"
};

struct Study {
  std::string machine;
  std::vector<std::string> papers;
  std::vector<Fitted> fitted;
  std::vector<Number> numbers;
  std::vector<Claim> claims;
  std::vector<LeftOut> left_out;
  std::vector<Design> designs;
  std::vector<Series> series;
};

/// The names there are: of machines.
std::vector<std::string_view> studies();
/// The machine is the one of that name from machines/. Errors: not_found, listing the names.
Result<Study> study(std::string_view name, const machine::Machine& machine);

Result<Study> study_mist(machine::Machine machine);
Result<Study> study_cedar(machine::Machine machine);
Result<Study> study_helios(machine::Machine machine);
Result<Study> study_ri2(machine::Machine machine);
Result<Study> study_cscs(machine::Machine machine);

}  // namespace sennit::sim
