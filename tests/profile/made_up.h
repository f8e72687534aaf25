// A process's file with calls that a test makes up.
#pragma once

#include <string_view>

#include "profile/rank.h"
#include "profile/recorder.h"

namespace sennit::profile {

struct MadeUp {
  explicit MadeUp(int rank, int ranks, std::uint64_t bytes = sizeof(Tables) + 4 * sizeof(Block))
      : recorder(Recorder::in_memory(bytes).value()) {
    Header& header = recorder->header();
    header.rank = rank;
    header.ranks = ranks;
    name_first(*recorder);
    Communicator world{.id = 7, .parent = 0, .size = static_cast<std::uint32_t>(ranks), .rank = 0, .name = {}};
    recorder->communicator(world);
  }
  /// The names of index 0, which calls without have.
  static void name_first(Recorder& recorder) {
    recorder.reduction("");
    recorder.type("");
    recorder.phase("");
    recorder.how("");
  }
  /// A call of all ranks, `sequence`-th of the first communicator.
  void call(std::string_view function, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes = 0,
            std::uint32_t sequence = 0, Memory memory = Memory::host) const {
    Call made{};
    made.function = recorder->function(function);
    made.begin = begin_ns;
    made.end = end_ns;
    made.bytes_in = made.bytes_out = bytes;
    made.memory_in = made.memory_out = memory;
    made.sequence = sequence;
    made.peer = -1;
    recorder->record(made);
  }
  Result<Rank> read() const { return read_rank(recorder->bytes(), "made up"); }

  std::unique_ptr<Recorder> recorder;
};

}  // namespace sennit::profile
