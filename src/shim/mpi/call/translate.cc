#include "shim/mpi/call/translate.h"

#include <numeric>

namespace sennit::shim::mpi {

namespace {

using coll::Operation;

constexpr WhyNot kTypes = "derived or mixed types";
constexpr WhyNot kOneForTwo = "one buffer for two";
constexpr WhyNot kWrong = "a count or root that MPI refuses";

/// Returns the bytes of a run of elements that have no gaps; no value for other types.
std::optional<std::uint64_t> bytes_of_run(const Mpi& mpi, Handle type, std::int64_t count) {
  const auto uniform = mpi.uniform(type);
  if (!uniform || count < 0) return std::nullopt;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(uniform->count) * bytes_of(uniform->meaning);
}

class Translation {
 public:
  explicit Translation(const Call& call)
      : call_(call), mpi_(call.mpi), rank_(call.place().rank), size_(call.place().size) {}

  std::variant<Work, WhyNot> done() {
    if (call_.place().inter) return WhyNot("communicator with two groups");
    if (has_root(call_.family) && (call_.root < 0 || call_.root >= size_)) return kWrong;
    if (overlap_of(call_)) return kOneForTwo;
    WhyNot why;
    work_.family = call_.family;
    switch (call_.family) {
      case Family::Allreduce: why = reduce_all(); break;
      case Family::Reduce: why = reduce_to_root(); break;
      case Family::Reduce_scatter_block: why = reduce_blocks(); break;
      case Family::Reduce_scatter: why = reduce_parts(); break;
      case Family::Bcast: why = broadcast(); break;
      case Family::Allgather: why = allgather(); break;
      case Family::Gather: why = gather(); break;
      case Family::Scatter: why = scatter(); break;
      case Family::Alltoall: why = all_to_all(); break;
      case Family::Allgatherv:
      case Family::Gatherv:
      case Family::Scatterv:
      case Family::Alltoallv: why = of_different_lengths(); break;
      case Family::Scan: why = scan(rank_ + 1); break;
      case Family::Exscan: why = scan(rank_); break;
      default: why = "no such collective on GPUs"; break;
    }
    if (!why.empty()) return why;
    return std::move(work_);
  }

 private:
  const Part& send() const { return call_.parts[0]; }
  const Part& receive() const { return call_.parts[1]; }
  bool in_place(const Part& part) const { return mpi_.is_in_place(part.address); }

  /// Returns the bytes of one block of the part.
  std::optional<std::uint64_t> block(const Part& part, int index = 0) const {
    if (part.elements.types != nullptr) return std::nullopt;
    return bytes_of_run(mpi_, part.elements.type, part.elements.count_of(index));
  }

  /// Sets what is reduced; says why not.
  WhyNot reduce(Operation operation, std::int64_t elements, Handle type) {
    const auto uniform = mpi_.uniform(type);
    const auto op = mpi_.op(call_.op);
    if (!uniform) return kTypes;
    if (!op) return "operator of the program, or of positions";
    if (uniform->derived) return kTypes;  // MPI's operators are for its own types, and it says so
    const auto numbers = mpi_.numbers(type, call_.op);
    if (!numbers || elements < 0) return "no such reduction of this type on GPUs";
    work_.reduced = uniform->meaning.type;
    work_.request.operation = operation;
    work_.request.count = static_cast<std::uint64_t>(elements) * numbers->per_element;
    work_.request.reduction.type = numbers->type;
    work_.request.reduction.op = *op;
    work_.bytes = work_.request.count * device::bytes_of(numbers->type);
    return {};
  }

  /// Sets what is moved: `bytes` for each rank.
  void move(Operation operation, std::uint64_t bytes) {
    work_.request.operation = operation;
    work_.request.count = bytes;
    work_.request.reduction.type = device::Type::uint8;
    work_.bytes = bytes;
  }

  static std::byte* at(const void* address, std::uint64_t bytes) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(address)) + bytes;
  }

  WhyNot reduce_all() {
    if (const WhyNot why = reduce(Operation::allreduce, send().elements.count, send().elements.type); !why.empty())
      return why;
    work_.request.output = const_cast<void*>(receive().address);
    work_.request.input = in_place(send()) ? receive().address : send().address;
    return {};
  }

  WhyNot reduce_to_root() {
    if (const WhyNot why = reduce(Operation::reduce, send().elements.count, send().elements.type); !why.empty())
      return why;
    work_.request.root = call_.root;
    if (receive().significant) work_.request.output = const_cast<void*>(receive().address);
    work_.request.input = in_place(send()) ? receive().address : send().address;
    return {};
  }

  /// Keeps the result of a reduction that MPI wants at the start of what it reduced.
  void keep_result(std::uint64_t scratch_bytes, std::uint64_t from, std::uint64_t bytes) {
    work_.scratch_bytes = scratch_bytes;
    work_.result_from = from;
    work_.result_bytes = bytes;
    work_.result = const_cast<void*>(receive().address);
  }

  WhyNot reduce_blocks() {
    const Elements& each = receive().elements;
    if (const WhyNot why = reduce(Operation::reduce_scatter, each.count, each.type); !why.empty()) return why;
    work_.request.output = const_cast<void*>(receive().address);
    work_.request.input = send().address;
    if (in_place(send())) {
      work_.request.input = receive().address;
      keep_result(work_.bytes, 0, work_.bytes);
    }
    return {};
  }

  WhyNot reduce_parts() {
    const Elements& all = send().elements;  // a block for each rank
    bool equal = true;
    std::int64_t total = 0, before = 0;
    for (int rank = 0; rank < size_; ++rank) {
      if (all.count_of(rank) < 0) return kWrong;
      equal = equal && all.count_of(rank) == all.count_of(0);
      if (rank < rank_) before += all.count_of(rank);
      total += all.count_of(rank);
    }
    const std::int64_t mine = all.count_of(rank_);
    // Unequal parts are each reduced for all ranks.
    const WhyNot why =
        equal ? reduce(Operation::reduce_scatter, mine, all.type) : reduce(Operation::allreduce, total, all.type);
    if (!why.empty()) return why;
    work_.request.output = const_cast<void*>(receive().address);
    work_.request.input = in_place(send()) ? receive().address : send().address;
    const std::uint64_t width = total != 0 ? work_.bytes / static_cast<std::uint64_t>(equal ? mine : total) : 0;
    if (!equal) {
      keep_result(work_.bytes, static_cast<std::uint64_t>(before) * width, static_cast<std::uint64_t>(mine) * width);
      for (int rank = 0; rank < size_; ++rank)
        work_.parts.push_back(static_cast<std::uint64_t>(all.count_of(rank)) * width);
    } else if (in_place(send())) {
      keep_result(work_.bytes, 0, work_.bytes);
    }
    return {};
  }

  WhyNot scan(int end) {
    const Elements& given = in_place(send()) ? receive().elements : send().elements;
    if (const WhyNot why = reduce(Operation::allgather, given.count, given.type); !why.empty()) return why;
    work_.scan = Work::Scan{end, work_.request.reduction};
    move(Operation::allgather, work_.bytes);
    work_.request.input = in_place(send()) ? receive().address : send().address;
    work_.result = const_cast<void*>(receive().address);
    return {};
  }

  WhyNot broadcast() {
    const auto bytes = block(send());
    if (!bytes) return kTypes;
    move(Operation::broadcast, *bytes);
    work_.request.root = call_.root;
    work_.request.input = send().address;
    work_.request.output = const_cast<void*>(send().address);
    return {};
  }

  WhyNot allgather() {
    const auto bytes = block(receive());
    if (!bytes || (!in_place(send()) && block(send()) != bytes)) return kTypes;
    move(Operation::allgather, *bytes);
    work_.request.output = const_cast<void*>(receive().address);
    work_.request.input =
        in_place(send()) ? at(receive().address, *bytes * static_cast<unsigned>(rank_)) : send().address;
    return {};
  }

  WhyNot gather() {
    const auto bytes = in_place(send()) ? block(receive()) : block(send());
    if (!bytes || (receive().significant && block(receive()) != bytes)) return kTypes;
    move(Operation::gather, *bytes);
    work_.request.root = call_.root;
    if (receive().significant) work_.request.output = const_cast<void*>(receive().address);
    work_.request.input =
        in_place(send()) ? at(receive().address, *bytes * static_cast<unsigned>(rank_)) : send().address;
    return {};
  }

  WhyNot scatter() {
    const auto bytes = in_place(receive()) ? block(send()) : block(receive());
    if (!bytes || (send().significant && block(send()) != bytes)) return kTypes;
    move(Operation::scatter, *bytes);
    work_.request.root = call_.root;
    if (send().significant) work_.request.input = send().address;
    work_.request.output = in_place(receive()) ? at(send().address, *bytes * static_cast<unsigned>(rank_))
                                               : const_cast<void*>(receive().address);
    return {};
  }

  WhyNot all_to_all() {
    const auto bytes = block(receive());
    if (!bytes || (!in_place(send()) && block(send()) != bytes)) return kTypes;
    move(Operation::all_to_all, *bytes);
    work_.request.output = const_cast<void*>(receive().address);
    work_.request.input = in_place(send()) ? receive().address : send().address;
    return {};
  }

  /// Fills lengths and places from a part with a block for each rank, or with one block for all.
  WhyNot fill(const Part& part, std::vector<std::uint64_t>& bytes, std::vector<std::uint64_t>& places,
              int only) const {
    const Elements& elements = part.elements;
    const auto width = part.elements.types == nullptr ? bytes_of_run(mpi_, elements.type, 1) : std::nullopt;
    if (!width) return kTypes;
    bytes.assign(static_cast<std::size_t>(size_), 0);
    places.assign(static_cast<std::size_t>(size_), 0);
    for (int rank = 0; rank < size_; ++rank) {
      if (only >= 0 && rank != only) continue;
      const int block = elements.blocks == 1 ? 0 : rank;
      const std::int64_t count = elements.count_of(block);
      const std::int64_t place = elements.places.data != nullptr ? elements.places[block] : 0;
      if (count < 0 || place < 0) return "places before the buffer";
      bytes[static_cast<std::size_t>(rank)] = static_cast<std::uint64_t>(count) * *width;
      places[static_cast<std::size_t>(rank)] = static_cast<std::uint64_t>(place) * *width;
    }
    return {};
  }

  WhyNot of_different_lengths() {
    const bool gathers = call_.family == Family::Gatherv, scatters = call_.family == Family::Scatterv;
    const bool sends_from_output = send().significant && in_place(send());
    const bool receives_into_input = receive().significant && in_place(receive());
    if (sends_from_output && (call_.family == Family::Alltoallv || scatters || !receive().significant))
      return "in place, with messages of different lengths each way";
    if (receives_into_input && !(scatters && send().significant)) return kWrong;
    move(Operation::all_to_all_v, 0);
    if (gathers || scatters) work_.request.root = call_.root;
    const auto nothing = std::vector<std::uint64_t>(static_cast<std::size_t>(size_), 0);
    work_.sent = work_.sent_from = work_.received = work_.received_to = nothing;
    if (send().significant && !sends_from_output) {
      if (const WhyNot why = fill(send(), work_.sent, work_.sent_from, gathers ? call_.root : -1); !why.empty())
        return why;
      work_.request.input = send().address;
    }
    if (receive().significant && !receives_into_input) {
      if (const WhyNot why = fill(receive(), work_.received, work_.received_to, scatters ? call_.root : -1);
          !why.empty())
        return why;
      work_.request.output = const_cast<void*>(receive().address);
    }
    // This rank's own message is where it belongs, where the call is in place.
    const auto own = static_cast<std::size_t>(rank_);
    if (sends_from_output && !gathers) {
      work_.request.input = receive().address;
      work_.sent.assign(work_.sent.size(), work_.received[own]);
      work_.sent_from.assign(work_.sent_from.size(), work_.received_to[own]);
    } else if (sends_from_output || receives_into_input) {
      work_.sent[own] = work_.received[own] = 0;
    }
    if (work_.sent[own] != work_.received[own]) return "this rank's message to itself has two lengths";
    const auto sum = [](const std::vector<std::uint64_t>& of) { return std::accumulate(of.begin(), of.end(), 0ull); };
    work_.bytes = std::max(sum(work_.sent), sum(work_.received));
    return {};
  }

  const Call& call_;
  const Mpi& mpi_;
  const int rank_, size_;
  Work work_;
};

}  // namespace

void Work::settle() {
  request.sent = sent;
  request.sent_from = sent_from;
  request.received = received;
  request.received_to = received_to;
}

std::variant<Work, WhyNot> translate(const Call& call) {
  return Translation(call).done();
}

}  // namespace sennit::shim::mpi
