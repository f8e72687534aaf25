// Describes what programs do, step by step: the trace executor writes it down, sim/ checks and replays it. All are
// plain values; bytes themselves are not part of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/word.h"

namespace sennit::device {

/// Memory of one rank that steps refer to.
struct Region {
  int rank = 0;
  std::string name;  ///< "input", "output", "scratch"; for people, and for what a checker expects to find there
  std::uint64_t bytes = 0;

  bool operator==(const Region&) const = default;
};

/// Stands for no region: the address belongs to no memory that was announced, which is a mistake of the program.
inline constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

/// One end of a movement.
struct End {
  std::uint32_t region = kNowhere;
  std::uint64_t offset = 0;  ///< bytes into the region; the address itself where there is none
  bool packets = false;      ///< data and tags, as device/packet.h lays them out

  bool operator==(const End&) const = default;
};

enum class Act : std::uint8_t {
  move,    ///< bytes from all sources, reduced where there are several, to every destination. Waits for packets. On a
           ///< lane without a source: the caller puts something there; without a destination: it reads
  signal,  ///< `value` in the word at the only destination, after all that the strand did before
  post,    ///< the same, but nothing else goes with it
  await,   ///< until the word at the only source has reached `value`
  launch,  ///< runs the strands of a launch, and ends with the last of them
  record,  ///< passes event `subject` for the `value`th time
  wait,    ///< until event `subject` was passed `value` times
};

struct Step {
  Act act = Act::move;
  /// Steps of a strand with the same number, which follow each other, happen at the same time.
  std::uint32_t group = 0;
  std::uint64_t bytes = 0;  ///< of a move, at each end; tags not counted
  Word value = 0;           ///< of a move of packets, their tag
  Word wait_id = 0;         ///< of a wait: the program's own number for the place
  int peer = -1;            ///< rank waited for, where the program says it
  std::uint32_t subject = 0;
  std::uint32_t ends = 0;  ///< index of the first in Strand::ends; sources, then destinations
  std::uint16_t sources = 0, destinations = 0;
  bool reduces = false;  ///< a movement with a rule for numbers: device::Stage, as the two below say
  std::uint8_t raw = 0;  ///< Stage::raw: of each source, whether it is an input as its rank gave it
  bool last = false;     ///< Stage::last

  bool operator==(const Step&) const = default;
};

/// Lists what one party does, in order: a lane, or a block of a launch.
struct Strand {
  int rank = 0;
  std::uint32_t lane = 0;  ///< index of the strand of the lane; of a lane its own
  int block = -1;          ///< -1: a lane
  std::vector<Step> steps;
  std::vector<End> ends;

  const End& source(const Step& step, unsigned k) const { return ends[step.ends + k]; }
  const End& destination(const Step& step, unsigned k) const { return ends[step.ends + step.sources + k]; }
  /// Returns the index of the first step behind those that happen at the same time as `step`.
  std::size_t end_of_group(std::size_t step) const {
    std::size_t end = step;
    while (end < steps.size() && steps[end].group == steps[step].group) ++end;
    return end;
  }
  bool operator==(const Strand&) const = default;
};

struct Launch {
  std::string program;
  std::uint32_t first = 0;     ///< strand of block 0; the others follow
  std::uint32_t recorded = 0;  ///< blocks that have a strand: all, or, folded, the first ones for all
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  bool early = false;  ///< Program::early
  /// Each recorded block stands for so many, by the bytes that all move: a short message keeps few of them busy.
  double fold = 1;

  bool operator==(const Launch&) const = default;
};

struct Recording {
  int ranks = 0;
  std::vector<Region> regions;
  std::vector<Launch> launches;  ///< Step::subject of a launch
  std::vector<Strand> strands;

  bool operator==(const Recording&) const = default;
};

/// "rank 2, allreduce_ring block 1": for messages.
std::string describe(const Recording& recording, std::uint32_t strand);
/// "scratch of rank 1 at 4096".
std::string describe(const Recording& recording, const End& end);
/// "step 12 of rank 2, allreduce_ring block 1 (move of 4096 bytes from … to …)".
std::string describe(const Recording& recording, std::uint32_t strand, std::size_t step);

}  // namespace sennit::device
