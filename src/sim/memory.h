// Keeps what the memory of a job holds as it goes on: of every byte its content, who wrote it and who has read it
// since; of packets their tags; and what each place is used for. Movements are checked as they are done.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cells.h"
#include "sim/clock.h"
#include "sim/content.h"

namespace sennit::sim {

/// What is known of bytes.
struct Bytes {
  Content content;
  Stamp written;
  std::vector<Stamp> read;  // since, by each party the latest
};

/// What is known of packets, in bytes of the message: a packet of 16 bytes carries 8.
struct Packets {
  Content content;
  device::Word tag = 0;  // 0: cleared
  Stamp sent, cleared;
  std::uint32_t launch = 0;  // whose clock goes with them: clocks_at_launch
};

/// Says what a place in memory is used for, one thing at a time: data on top of words is a mistake of the layout.
enum class Kind : std::uint8_t { unused, bytes, packets, word };

/// Who moves: its clock, and the launch it is a block of.
struct Mover {
  Clock& clock;
  std::uint32_t launch;
};

class Memory {
 public:
  /// `clocks_at_launch`: how far the lane had got at each launch; it grows as they come about.
  Memory(const device::Recording& recording, const std::vector<Clock>& clocks_at_launch, Findings& findings)
      : recording_(recording),
        clocks_at_launch_(clocks_at_launch),
        findings_(findings),
        bytes_(recording.regions.size()),
        packets_(recording.regions.size()),
        kinds_(recording.regions.size()) {}

  /// Whether the packets that a movement waits for are there.
  bool arrived(const device::End& from, const device::Step& step);
  void move(const device::Strand& strand, const device::Step& step, Mover& mover, const Stamp& stamp);
  bool within(const device::End& end, std::uint64_t bytes, const Stamp& stamp);
  void use(const device::End& end, std::uint64_t bytes, Kind kind, const Stamp& stamp);

  /// Reports what no party has read or taken in the end.
  void report_leftovers();
  void report_results(const Promises& promises);

 private:
  /// A piece of a message, by where it lies in it.
  struct Piece {
    std::uint64_t begin, end;
    Content content;  // as if the message lay at 0
  };

  std::vector<Piece> load(const device::End& from, const device::Step& step, Mover& mover, const Stamp& stamp);
  void store(const device::End& to, const device::Step& step, Mover& mover, const Stamp& stamp,
             const std::vector<Piece>& pieces);
  std::vector<Piece> take(const device::End& from, const device::Step& step, Mover& mover, const Stamp& stamp);
  void send(const device::End& to, const device::Step& step, Mover& mover, const Stamp& stamp,
            const std::vector<Piece>& pieces);
  std::vector<Piece> reduce(const std::vector<std::vector<Piece>>& sources, const device::Step& step,
                            const Stamp& stamp);
  bool together(const Stamp& one, const Stamp& other) const;
  bool lost(std::uint32_t region, const Bytes& cell) const;
  std::string in_words(const std::vector<Term>& terms, std::uint64_t position) const;

  const device::Recording& recording_;
  const std::vector<Clock>& clocks_at_launch_;
  Findings& findings_;
  Forms forms_;
  std::vector<Cells<Bytes>> bytes_;  // by region
  std::vector<Cells<Packets>> packets_;
  std::vector<Cells<Kind>> kinds_;
};

}  // namespace sennit::sim
