// Finds out what a derived type was made with (MPI 5.0, 5.1.13), in one form for types with large counts and for
// others.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/mpi/abi/mpi.h"
#include "shim/mpi/abi/profiling.h"
#include "stage/strided.h"

namespace sennit::shim::mpi {

/// Holds the contents as the function without large counts tells them. `inner`: the one type that it is made of,
/// which may have to be freed.
template <class Abi>
struct Contents {
  int combiner = 0;
  std::vector<std::int64_t> numbers;
  std::vector<Aint> places;
  typename Abi::Datatype inner{};
};

template <class Abi>
class TypeContents {
 public:
  using Datatype = typename Abi::Datatype;
  using Functions = Profiling<Abi>;

  TypeContents() = default;
  /// `library`: as dlopen() names it.
  explicit TypeContents(void* library)
      : get_envelope_(reinterpret_cast<GetEnvelope>(dlsym(library, "PMPI_Type_get_envelope_c"))),
        get_contents_(reinterpret_cast<GetContents>(dlsym(library, "PMPI_Type_get_contents_c"))) {}

  std::optional<int> combiner(const Functions& call, Datatype type) const {
    const auto found = envelope(call, type);
    return found ? std::optional(found->combiner) : std::nullopt;
  }
  /// Returns the contents; no value for a type that is made of no type or of several, or of a kind that is not
  /// handled here.
  std::optional<Contents<Abi>> of(const Functions& call, Datatype type) const {
    const auto found = envelope(call, type);
    constexpr Count kMost = 32;  // numbers of a part of an array of ten dimensions
    if (!found || found->types != 1 || found->integers > kMost || found->large > kMost || found->addresses > 2)
      return std::nullopt;
    Contents<Abi> made;
    made.combiner = found->combiner;
    int integers[kMost] = {};
    Aint places[2] = {};
    Count large[kMost] = {};
    const int code = get_contents_ != nullptr ? get_contents_(type, found->integers, found->addresses, found->large,
                                                              1, integers, places, large, &made.inner)
                                              : call.type_get_contents(type, static_cast<int>(found->integers),
                                                                       static_cast<int>(found->addresses), 1,
                                                                       integers, places, &made.inner);
    if (code != 0) return std::nullopt;
    made.numbers.assign(integers, integers + found->integers);
    made.places.assign(places, places + found->addresses);
    if (found->large != 0) put_large({large, static_cast<std::size_t>(found->large)}, made);
    return made;
  }

  /// Holds what any type is made with: numbers, and places behind them, as the functions with large counts have them.
  struct Whole {
    int combiner = 0;
    std::vector<std::int64_t> numbers;
    std::vector<Datatype> types;  ///< which may be to free
  };
  /// Returns the contents of any type; no value where there are too many numbers.
  std::optional<Whole> whole(const Functions& call, Datatype type) const {
    const auto found = envelope(call, type);
    constexpr Count kMost = 1 << 20;
    if (!found || std::max({found->integers, found->large, found->addresses, found->types}) > kMost)
      return std::nullopt;
    Whole made;
    made.combiner = found->combiner;
    if (found->types == 0) return made;
    std::vector<int> integers(static_cast<std::size_t>(found->integers));
    std::vector<Aint> places(static_cast<std::size_t>(found->addresses));
    std::vector<Count> large(static_cast<std::size_t>(found->large));
    made.types.resize(static_cast<std::size_t>(found->types));
    const int code = get_contents_ != nullptr
                         ? get_contents_(type, found->integers, found->addresses, found->large, found->types,
                                         integers.data(), places.data(), large.data(), made.types.data())
                         : call.type_get_contents(type, static_cast<int>(found->integers),
                                                  static_cast<int>(found->addresses), static_cast<int>(found->types),
                                                  integers.data(), places.data(), made.types.data());
    if (code != 0) return std::nullopt;
    made.numbers.assign(integers.begin(), integers.end());
    made.numbers.insert(made.numbers.end(), large.begin(), large.end());
    made.numbers.insert(made.numbers.end(), places.begin(), places.end());
    return made;
  }

 private:
  struct Envelope {
    Count integers = 0, addresses = 0, large = 0, types = 0;
    int combiner = 0;
  };
  using GetEnvelope = int (*)(Datatype, Count*, Count*, Count*, Count*, int*);
  using GetContents = int (*)(Datatype, Count, Count, Count, Count, int*, Aint*, Count*, Datatype*);

  /// Asks for a type's envelope. A type with large counts is an error to the function without them, of which the
  /// program's handler hears.
  std::optional<Envelope> envelope(const Functions& call, Datatype type) const {
    Envelope made;
    int integers = 0, addresses = 0, types = 0;
    if (get_envelope_ != nullptr) {
      const int code = get_envelope_(type, &made.integers, &made.addresses, &made.large, &made.types, &made.combiner);
      return code == 0 ? std::optional(made) : std::nullopt;
    }
    if (call.type_get_envelope(type, &integers, &addresses, &types, &made.combiner) != 0) return std::nullopt;
    made.integers = integers;
    made.addresses = addresses;
    made.types = types;
    return made;
  }

  /// Large counts go where the others are: of a part of an array between its dimensions and its order, of rows in
  /// bytes but for their distance.
  static void put_large(std::span<const Count> large, Contents<Abi>& made) {
    if (made.combiner == Abi::kCombinerSubarray && made.numbers.size() == 2) {
      made.numbers.insert(made.numbers.begin() + 1, large.begin(), large.end());
    } else if (made.combiner == Abi::kCombinerHvector && large.size() == 3) {
      made.numbers = {large[0], large[1]};
      made.places = {large[2]};
    } else {
      made.numbers.assign(large.begin(), large.end());
    }
  }

  GetEnvelope get_envelope_ = nullptr;  ///< null before MPI 4.0
  GetContents get_contents_ = nullptr;
};

/// `count` copies of a type's data, `distance` apart, behind what is there; false: too many.
inline bool repeat_segments(std::span<const stage::Segment> one, std::int64_t count, std::int64_t first,
                            std::int64_t distance, std::vector<stage::Segment>& all) {
  constexpr std::size_t kMost = 1 << 20;
  for (std::int64_t i = 0; i < count; ++i)
    for (const stage::Segment& segment : one) {
      const std::int64_t at = first + i * distance + segment.first;
      if (!all.empty() && all.back().first + all.back().bytes == at)
        all.back().bytes += segment.bytes;
      else if (all.size() == kMost)
        return false;
      else if (segment.bytes != 0)
        all.push_back({at, segment.bytes});
    }
  return true;
}

/// Returns the data of a type made with such, in its order. of(index): the data and the extent of one of `types`. No
/// value for combiners that are not handled here.
template <class Abi, class Of>
std::optional<std::vector<stage::Segment>> segments_of(int combiner, std::span<const std::int64_t> numbers,
                                                       const Of& of) {
  struct Inner {
    std::vector<stage::Segment> data;
    std::int64_t extent = 0;
  };
  std::vector<stage::Segment> all;
  const std::optional<Inner> inner = of.template operator()<Inner>(0);
  if (!inner) return std::nullopt;
  const std::int64_t count = numbers.empty() ? 1 : numbers[0], extent = inner->extent;
  const auto at = [&](std::int64_t index) { return numbers[static_cast<std::size_t>(index)]; };
  bool fits = true;
  if (combiner == Abi::kCombinerDup || combiner == Abi::kCombinerResized) return inner->data;
  if (combiner == Abi::kCombinerContiguous) {
    fits = repeat_segments(inner->data, count, 0, extent, all);
  } else if (combiner == Abi::kCombinerVector || combiner == Abi::kCombinerHvector) {
    const std::int64_t stride = combiner == Abi::kCombinerVector ? at(2) * extent : at(2);
    for (std::int64_t i = 0; i < count && fits; ++i)
      fits = repeat_segments(inner->data, at(1), i * stride, extent, all);
  } else if (combiner == Abi::kCombinerIndexed || combiner == Abi::kCombinerHindexed) {
    const std::int64_t unit = combiner == Abi::kCombinerIndexed ? extent : 1;
    for (std::int64_t i = 0; i < count && fits; ++i)
      fits = repeat_segments(inner->data, at(1 + i), at(1 + count + i) * unit, extent, all);
  } else if (combiner == Abi::kCombinerIndexedBlock || combiner == Abi::kCombinerHindexedBlock) {
    const std::int64_t unit = combiner == Abi::kCombinerIndexedBlock ? extent : 1;
    for (std::int64_t i = 0; i < count && fits; ++i)
      fits = repeat_segments(inner->data, at(1), at(2 + i) * unit, extent, all);
  } else if (combiner == Abi::kCombinerStruct) {
    for (std::int64_t i = 0; i < count && fits; ++i) {
      const std::optional<Inner> one = of.template operator()<Inner>(i);
      if (!one) return std::nullopt;
      fits = repeat_segments(one->data, at(1 + i), at(1 + count + i), one->extent, all);
    }
  } else {
    return std::nullopt;
  }
  return fits ? std::optional(std::move(all)) : std::nullopt;
}

/// Returns where the data of such a type lies, if in rows: a type made of types whose data is `one` and whose extent
/// is `extent`.
template <class Abi>
std::optional<stage::Strided> strided_of(const Contents<Abi>& of, const stage::Strided& one, std::int64_t extent) {
  const auto& numbers = of.numbers;
  if (of.combiner == Abi::kCombinerDup || of.combiner == Abi::kCombinerResized) return one;
  if (of.combiner == Abi::kCombinerContiguous) return stage::repeat(one, numbers[0], extent);
  if (of.combiner == Abi::kCombinerVector || of.combiner == Abi::kCombinerHvector) {
    const auto block = stage::repeat(one, numbers[1], extent);
    const std::int64_t stride = of.combiner == Abi::kCombinerVector ? numbers[2] * extent : of.places[0];
    return block ? stage::repeat(*block, numbers[0], stride) : std::nullopt;
  }
  if (of.combiner != Abi::kCombinerSubarray) return std::nullopt;
  const std::int64_t dimensions = numbers[0];
  const std::int64_t *const sizes = numbers.data() + 1, *const parts = sizes + dimensions,
                            *const starts = parts + dimensions;
  const bool c = starts[dimensions] == Abi::kOrderC;
  std::optional<stage::Strided> part = one;
  std::int64_t distance = extent;  // from one place of this dimension to the next
  for (std::int64_t i = 0; i < dimensions && part; ++i) {
    const std::int64_t d = c ? dimensions - 1 - i : i;
    part = stage::repeat(*part, parts[d], distance);
    if (part) part->first += starts[d] * distance;
    distance *= sizes[d];
  }
  return part;
}

}  // namespace sennit::shim::mpi
