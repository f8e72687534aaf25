// LibraryTypes<Abi> knows the types of the program's MPI library: how large they are, what they are made of, and how
// elements are packed. It is one class since all of its answers stand on what was asked of a type once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shim/mpi/abi/abi.h"
#include "shim/mpi/abi/mpi.h"
#include "shim/mpi/abi/profiling.h"
#include "shim/mpi/abi/type_contents.h"
#include "shim/mpi/abi/types.h"

namespace sennit::shim::mpi {

/// Implements the functions of Mpi that have these names; their contracts are in mpi.h, but for what is said here.
template <class Abi>
class LibraryTypes {
 public:
  using Comm = typename Abi::Comm;
  using Datatype = typename Abi::Datatype;
  using Op = typename Abi::Op;

  /// It is called through `call`, which outlives this.
  explicit LibraryTypes(const Profiling<Abi>& call) : call_(call) {}

  /// Looks up functions, once the library is loaded.
  void open(void* library) { contents_ = TypeContents<Abi>(library); }
  /// Sets the null handle of types.
  void none(Handle handle) { none_ = handle; }
  /// Sets the function that is asked for the shape of a type that may be null, or is not committed: ask_shape() where
  /// errors are codes.
  void ask_doubtful(std::function<int(Handle, Shape&)> ask) { ask_doubtful_ = std::move(ask); }
  int ask_shape(Handle handle, Shape& shape) const {
    const auto type = from_handle<Datatype>(handle);
    int code = call_.type_size_x(type, &shape.size);
    if (code == 0) code = call_.type_get_extent(type, &shape.lower, &shape.extent);
    if (code == 0) code = call_.type_get_true_extent(type, &shape.true_lower, &shape.true_extent);
    return code;
  }
  /// Adds a type that is the library's own; in the table's order.
  void add(Handle handle, const Meaning& meaning) {
    Known& known = types_[handle];
    known.meaning = meaning;
    Place& place = places_[place_of(handle)];
    if (place.known == nullptr) place = {handle, &known};
    if (meaning.count == 1 && !meaning.truths) handles_of_types_.emplace_back(meaning.type, handle);
  }
  /// Sets the communicator that packs as long as check_on() has given none.
  void pack_on(Handle comm) { self_ = comm; }
  /// Sets the communicator on which an error is a code and no more, from now on; returns the one before. kNoHandle:
  /// none.
  Handle check_on(Handle comm) { return std::exchange(checks_, comm); }

  int shape(Handle handle, Shape& shape) const {
    if (const Known* const known = predefined(handle); known != nullptr && known->shape.size >= 0) {
      shape = known->shape;
      return 0;
    }
    if (handle == none_) return kErrType;
    return is_valid(handle) || !ask_doubtful_ ? ask_shape(handle, shape) : ask_doubtful_(handle, shape);
  }

  std::optional<std::int64_t> size(Handle handle) const {
    Count size = 0;
    if (const Known* const known = predefined(handle); known != nullptr && known->shape.size >= 0)
      return known->shape.size;
    return is_valid(handle) && call_.type_size_x(from_handle<Datatype>(handle), &size) == 0 ? std::optional(size)
                                                                                            : std::nullopt;
  }

  /// Returns the bytes of an element of a predefined type, without a call of the library; negative of another type.
  std::int64_t size_of_predefined(Handle handle) const {
    const Known* const known = predefined(handle);
    return known != nullptr ? known->shape.size : -1;
  }

  /// Returns whether the library takes messages of the type, and so may be asked about it. A question about another
  /// type would call an error handler of the program's, and not that of the communicator which the program's call is
  /// on. MPI has no function that tells. To pack nothing takes 20 to 40 ns, and every MPI looks at the type before.
  bool is_valid(Handle handle) const {
    if (handle == none_) return false;
    if (checks_ == kNoHandle || types_.contains(handle)) return true;
    std::byte none{}, packed{};
    int position = 0;
    return call_.pack(&none, 0, from_handle<Datatype>(handle), &packed, sizeof packed, &position,
                      from_handle<Comm>(checks_)) == 0;
  }

  std::optional<Uniform> uniform(Handle handle) const { return is_valid(handle) ? made_of(handle) : std::nullopt; }
  std::optional<stage::Strided> strided(Handle handle) const {
    return is_valid(handle) ? strided_in(handle) : std::nullopt;
  }

  std::optional<std::vector<stage::Segment>> segments(Handle handle) const {
    return is_valid(handle) ? segments_in(handle) : std::nullopt;
  }

  /// Answers also before MPI has begun: a call that comes too early has the library complain of that call, and of no
  /// other.
  bool is_predefined(Handle handle) const { return find(handle) != nullptr; }
  void freed() const { freed_.fetch_add(1, std::memory_order_relaxed); }

  /// Asked in every call with a derived type: what was found out is remembered. That a type is still the one that was
  /// asked about, where another library has freed that without a word, two of its numbers tell.
  std::span<const std::int64_t> far(Handle handle) const {
    struct Memo {
      Handle type = kNoHandle;
      std::uint64_t freed = 0;
      Aint lower = 0, extent = 0;
      std::vector<std::int64_t> places;
    };
    thread_local std::array<Memo, 8> memos;
    if (is_predefined(handle)) return {};
    Memo& memo = memos[place_of(handle) % memos.size()];
    const std::uint64_t freed = freed_.load(std::memory_order_relaxed);
    const bool known = memo.type == handle && memo.freed == freed;
    Aint lower = 0, extent = 0;
    if (!known && !is_valid(handle)) return {};
    if (call_.type_get_true_extent(from_handle<Datatype>(handle), &lower, &extent) != 0) return {};
    if (!known || memo.lower != lower || memo.extent != extent)
      memo = {handle, freed, lower, extent, far_places(handle, lower, extent)};
    return memo.places;
  }

  Handle type_of_bytes(Datatype byte, std::int64_t bytes) const {
    const std::lock_guard lock(made_mutex_);
    if (const auto found = made_.find(bytes); found != made_.end()) return found->second;
    Datatype made;
    if (bytes > std::numeric_limits<int>::max() || call_.type_contiguous(static_cast<int>(bytes), byte, &made) != 0 ||
        call_.type_commit(&made) != 0)
      return kNoHandle;
    return made_[bytes] = to_handle(made);
  }

  /// `given`: `op` as the MPI has it.
  std::optional<Numbers> numbers(Handle type, device::Operator op, Handle given) const {
    const Known* const known = predefined(type);
    if (known == nullptr || !known->as_meant()) return std::nullopt;
    auto& answer = known->answers[static_cast<std::size_t>(op)];
    if (answer.load(std::memory_order_acquire) == kNotAsked)
      answer.store(ask(type, *known, op, given), std::memory_order_release);
    const std::uint8_t told = answer.load(std::memory_order_acquire);
    if (told < kFirstType) return std::nullopt;
    return Numbers{static_cast<device::Type>(told - kFirstType), known->meaning.count};
  }

  bool accepts(Handle type, Handle op) const {
    Shape one;
    if (shape(type, one) != 0 || one.extent < 0) return false;
    std::vector<std::byte> in(static_cast<std::size_t>(one.extent)), out(in.size());
    // A communicator of one rank reduces nothing, so that an MPI's mistake (MPICH 4.0 at MPI_LAND of MPI_FLOAT) does
    // no harm.
    const Alone here = alone();
    return checks_ != kNoHandle && call_.allreduce(in.data(), out.data(), 1, from_handle<Datatype>(type),
                                                   from_handle<Op>(op), here.comm) == 0;
  }

  Handle type_of(device::Type type) const {
    // The first in the table's order, which is that of all ranks.
    for (const auto& [known, handle] : handles_of_types_)
      if (known == type && uniform(handle)) return handle;
    return kNoHandle;
  }
  Handle keep(Handle type, std::shared_ptr<void>& keeper) const {
    Datatype same;
    if (call_.type_dup(from_handle<Datatype>(type), &same) != 0) return kNoHandle;
    keeper = std::shared_ptr<void>(nullptr, [this, same](void*) mutable { (void)call_.type_free(&same); });
    return to_handle(same);
  }

  /// A communicator of this process alone, as long as this lives: it takes one collective call at a time.
  struct Alone {
    Comm comm;
    std::unique_lock<std::mutex> lock;
  };
  Alone alone() const { return {quiet(), std::unique_lock(alone_)}; }

  int pack(const void* buffer, Handle handle, std::int64_t bytes, void* packed) const {
    Shape one;
    if (const int code = shape(handle, one); code != 0) return code;
    if (one.size == 0) return Abi::kErrOther;
    if (buffer == nullptr)  // MPI_BOTTOM, which MPICH 4.0 does not pack from
      return copy_segments(handle, one.extent, bytes, [&](const stage::Segment& segment, std::int64_t at) {
        std::memcpy(static_cast<std::byte*>(packed) + at, address_of(segment),
                    static_cast<std::size_t>(segment.bytes));
      });
    // Whole elements alone can be packed: one more than was filled covers the rest.
    const std::int64_t count = (bytes + one.size - 1) / one.size;
    if (count > std::numeric_limits<int>::max() / one.size) return Abi::kErrOther;
    std::vector<std::byte> whole(static_cast<std::size_t>(count * one.size));
    int position = 0;
    const int code = call_.pack(buffer, static_cast<int>(count), from_handle<Datatype>(handle), whole.data(),
                                static_cast<int>(whole.size()), &position, quiet());
    if (code == 0) std::memcpy(packed, whole.data(), static_cast<std::size_t>(bytes));
    return code;
  }

  int unpack(const void* packed, std::int64_t bytes, void* buffer, Handle handle) const {
    Shape one;
    if (const int code = shape(handle, one); code != 0) return code;
    const auto* from = static_cast<const std::byte*>(packed);
    auto* to = static_cast<std::byte*>(buffer);
    if (buffer == nullptr)
      return copy_segments(handle, one.extent, bytes, [&](const stage::Segment& segment, std::int64_t at) {
        std::memcpy(address_of(segment), from + at, static_cast<std::size_t>(segment.bytes));
      });
    // MPI_Unpack is called for runs of elements that an int counts.
    const std::int64_t most =
        std::max<std::int64_t>(1, (std::int64_t{1} << 30) / std::max<std::int64_t>(one.size, 1));
    for (std::int64_t left = one.size > 0 ? bytes / one.size : 0; left > 0;) {
      const std::int64_t now = std::min(left, most);
      int position = 0;
      const int code = call_.unpack(from, static_cast<int>(now * one.size), &position, to, static_cast<int>(now),
                                    from_handle<Datatype>(handle), quiet());
      if (code != 0) return code;
      from += now * one.size;
      to += now * one.extent;
      left -= now;
    }
    return one.size > 0 && bytes % one.size != 0 ? unpack_some(from, bytes % one.size, to, handle) : 0;
  }

 private:
  /// Returns the communicator on which an error is a code alone, once there is such a one.
  Comm quiet() const { return from_handle<Comm>(checks_ != kNoHandle ? checks_ : self_); }
  static std::byte* address_of(const stage::Segment& absolute) {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(absolute.first));
  }
  /// Copies the first `bytes` bytes of elements whose places are addresses: copy(segment, place of its data). MPI's
  /// code.
  template <class Copy>
  int copy_segments(Handle handle, std::int64_t extent, std::int64_t bytes, const Copy& copy) const {
    const auto data = segments(handle);
    if (!data || data->empty()) return Abi::kErrOther;
    std::int64_t done = 0;
    for (std::int64_t element = 0; done < bytes; ++element)
      for (const stage::Segment& segment : *data) {
        const std::int64_t some = std::min(segment.bytes, bytes - done);
        if (some > 0) copy(stage::Segment{segment.first + element * extent, some}, done);
        done += some;
      }
    return 0;
  }
  /// Unpacks the first bytes of one element, of which the others stay.
  int unpack_some(const std::byte* packed, std::int64_t bytes, std::byte* to, Handle handle) const {
    Shape one;
    if (const int code = shape(handle, one); code != 0) return code;
    std::vector<std::byte> whole(static_cast<std::size_t>(one.size));
    if (const int code = pack(to, handle, one.size, whole.data()); code != 0) return code;
    std::memcpy(whole.data(), packed, static_cast<std::size_t>(bytes));
    return unpack(whole.data(), one.size, to, handle);
  }

  /// Does what strided() does for a type that others are made of: it need not be committed.
  std::optional<stage::Strided> strided_in(Handle handle) const {
    if (const auto uniform = made_of(handle)) {
      const std::int64_t bytes = uniform->count * bytes_of(uniform->meaning);
      return bytes > 0 ? std::optional(stage::Strided{0, bytes, bytes, 1}) : std::nullopt;
    }
    auto made = contents_.of(call_, from_handle<Datatype>(handle));
    if (!made) return std::nullopt;
    Shape shape;
    const auto one = strided_in(to_handle(made->inner));
    const bool known = one && ask_shape(to_handle(made->inner), shape) == 0;
    free_contents(made->inner);
    return known ? strided_of<Abi>(*made, *one, shape.extent) : std::nullopt;
  }

  /// Does what segments() does for a type that others are made of.
  std::optional<std::vector<stage::Segment>> segments_in(Handle handle) const {
    Shape shape;
    if (ask_shape(handle, shape) != 0) return std::nullopt;
    if (shape.size == 0) return std::vector<stage::Segment>();
    if (shape.size == shape.true_extent && (is_predefined(handle) || made_of(handle)))
      return std::vector<stage::Segment>{{shape.true_lower, shape.size}};
    if (const auto rows = strided_in(handle)) return segments_of(*rows);
    auto whole = contents_.whole(call_, from_handle<Datatype>(handle));
    if (!whole) return std::nullopt;
    const auto of = [&]<class Inner>(std::int64_t index) -> std::optional<Inner> {
      const auto at = static_cast<std::size_t>(index);
      if (at >= whole->types.size()) return std::nullopt;
      const Handle inner = to_handle(whole->types[at]);
      Shape one;
      auto data = segments_in(inner);
      if (!data || ask_shape(inner, one) != 0) return std::nullopt;
      return Inner{std::move(*data), one.extent};
    };
    auto found = whole->types.empty() && shape.size == shape.true_extent
                     ? std::optional(std::vector<stage::Segment>{{shape.true_lower, shape.size}})
                     : mpi::segments_of<Abi>(whole->combiner, whole->numbers, of);
    for (Datatype& inner : whole->types) free_contents(inner);
    return found;
  }
  static std::optional<std::vector<stage::Segment>> segments_of(const stage::Strided& rows) {
    constexpr std::int64_t kMost = 1 << 20;
    if (rows.rows > kMost / rows.planes) return std::nullopt;
    std::vector<stage::Segment> all;
    for (std::int64_t plane = 0; plane < rows.planes; ++plane)
      for (std::int64_t row = 0; row < rows.rows; ++row)
        all.push_back({rows.first + plane * rows.plane_stride + row * rows.stride, rows.bytes});
    return all;
  }

  /// Returns the place of a type's first byte, if that is not at the address, and of all else that may lie in another
  /// memory. Memory of GPUs begins at multiples of 64 KiB and more. Parts at equal distances are taken for one array,
  /// unless they are few; of many parts those are told apart that have the longest gaps before them.
  std::vector<std::int64_t> far_places(Handle handle, Aint lower, Aint extent) const {
    constexpr Aint kNear = 64 << 10;
    constexpr std::size_t kFew = 16;
    std::vector<std::int64_t> places;
    if (extent <= 0) return places;
    if (lower != 0) places.push_back(lower);
    if (extent < kNear) return places;
    if (const auto rows = strided_in(handle)) {
      const std::int64_t count = rows->rows * rows->planes;
      if (count > 1 && count <= static_cast<std::int64_t>(kFew)) places.push_back(lower + extent - 1);
      return places;
    }
    auto data = segments_in(handle);
    if (!data || data->empty()) {
      places.push_back(lower + extent - 1);
      return places;
    }
    std::ranges::sort(*data, {}, &stage::Segment::first);
    const auto gap = [&](std::size_t i) { return (*data)[i].first - (*data)[i - 1].first - (*data)[i - 1].bytes; };
    std::vector<std::size_t> others(data->size() - 1);
    std::iota(others.begin(), others.end(), std::size_t{1});
    if (others.size() >= kFew) {
      std::ranges::nth_element(others, others.begin() + kFew, std::ranges::greater(), gap);
      others.resize(kFew);
    }
    for (const std::size_t i : others) places.push_back((*data)[i].first);
    return places;
  }

  /// Frees a type that get_contents has returned: a derived type must be freed, a predefined one must not.
  void free_contents(Datatype& inner) const {
    if (types_.find(to_handle(inner)) != types_.end()) return;
    const auto combiner = contents_.combiner(call_, inner);
    if (combiner && *combiner != Abi::kCombinerNamed && std::ranges::count(Abi::kCombinersUnnamed, *combiner) == 0)
      (void)call_.type_free(&inner);
  }

  /// Does what uniform() does for a type that need not be committed: others are made of it.
  std::optional<Uniform> made_of(Handle handle) const {
    if (const Known* const known = predefined(handle)) {
      return known->as_meant() ? std::optional(Uniform{known->meaning, 1}) : std::nullopt;
    }
    auto made = contents_.of(call_, from_handle<Datatype>(handle));
    if (!made) return std::nullopt;
    std::optional<Uniform> uniform;
    if (made->combiner == Abi::kCombinerContiguous || made->combiner == Abi::kCombinerDup)
      uniform = made_of(to_handle(made->inner));
    if (uniform) uniform->derived = true;
    if (uniform && made->combiner == Abi::kCombinerContiguous) uniform->count *= made->numbers[0];
    free_contents(made->inner);
    return uniform;
  }

  static constexpr std::uint8_t kNotAsked = 0, kRefused = 1, kFirstType = 2;

  struct Known {
    Meaning meaning;
    Shape shape{-1, 0, 0, 0, 0};  ///< a negative size: the library does not say
    /// By operator: one of these, or kFirstType and what the numbers are.
    mutable std::array<std::atomic<std::uint8_t>, device::kOperators> answers{};

    /// Some names mean what a compiler's options say: Fortran's INTEGER has 8 bytes with -i8.
    bool as_meant() const { return shape.size == bytes_of(meaning); }
  };

  /// Tries the MPI's reduction, and returns the answer that numbers() keeps. An error must not get to the program,
  /// and MPI_Reduce_local has no communicator to return it on; so it is called only for what the MPI accepts
  /// elsewhere. Several threads may ask at once.
  std::uint8_t ask(Handle type, const Known& known, device::Operator op, Handle given) const {
    // MPICH 4.0 ends the job at some pairs that it accepts, which sennit does not reduce.
    if (!device::supports(known.meaning.type, op)) return kRefused;
    if (!accepts(type, given)) return checks_ != kNoHandle ? kRefused : kNotAsked;
    const auto numbers = numbers_like(
        [&](const void* in, void* inout, int count) {
          return call_.reduce_local(in, inout, count, from_handle<Datatype>(type), from_handle<Op>(given));
        },
        known.meaning, op);
    return numbers ? static_cast<std::uint8_t>(kFirstType + static_cast<unsigned>(numbers->type)) : kRefused;
  }

  /// Finds what is known of a predefined type; null: a derived type. Once MPI has begun: it is asked for the shapes.
  const Known* predefined(Handle type) const {
    // Every call asks for them: one load here, since std::call_once calls a function each time.
    if (!shapes_known_.load(std::memory_order_acquire)) [[unlikely]]
      ask_shapes();
    return find(type);
  }
  /// Asks for the shapes of predefined types, which never change.
  [[gnu::noinline]] void ask_shapes() const {
    std::call_once(shapes_asked_, [this] {
      for (auto& [handle, known] : types_)
        if (ask_shape(handle, known.shape) != 0) known.shape.size = -1;
      shapes_known_.store(true, std::memory_order_release);
    });
  }
  const Known* find(Handle type) const {
    if (const Place& place = places_[place_of(type)]; place.type == type) return place.known;
    const auto found = types_.find(type);
    return found != types_.end() ? &found->second : nullptr;
  }
  static std::size_t place_of(Handle type) { return static_cast<std::size_t>(type * 0x9e3779b97f4a7c15 >> 56); }

  const Profiling<Abi>& call_;
  TypeContents<Abi> contents_;
  std::function<int(Handle, Shape&)> ask_doubtful_;
  Handle self_ = 0, none_ = 0;
  Handle checks_ = kNoHandle;
  mutable std::once_flag shapes_asked_;
  mutable std::atomic<bool> shapes_known_{false};
  mutable std::mutex alone_;
  mutable std::unordered_map<Handle, Known> types_;
  struct Place {
    Handle type = kNoHandle;
    const Known* known = nullptr;
  };
  std::array<Place, 256> places_;  // of most of them: one look
  mutable std::atomic<std::uint64_t> freed_{0};
  mutable std::mutex made_mutex_;
  mutable std::unordered_map<std::int64_t, Handle> made_;  // by bytes
  std::vector<std::pair<device::Type, Handle>> handles_of_types_;
};

}  // namespace sennit::shim::mpi
