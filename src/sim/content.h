// Describes what bytes are, without the bytes: which inputs have been added up in them, and in which order. Two
// places with the same content hold the same bits, whatever the numbers are.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace sennit::sim {

/// Of a stretch of bytes. The byte at position p of its memory is made of the bytes at p + shift + … of what `form`
/// says. Moving bytes changes the shift alone.
struct Content {
  std::uint32_t form = 0;  ///< 0: nothing that anybody has written
  std::int64_t shift = 0;

  bool operator==(const Content&) const = default;
  Content moved(std::uint64_t from, std::uint64_t to) const {
    return {form, shift + static_cast<std::int64_t>(from) - static_cast<std::int64_t>(to)};
  }
};

/// An input in a content: the byte at p has byte p + shift of the region in it.
struct Term {
  std::uint32_t region = 0;
  std::int64_t shift = 0;

  bool operator==(const Term&) const = default;
  bool operator<(const Term& other) const { return std::pair(region, shift) < std::pair(other.region, other.shift); }
};

/// How far a reduction has come: operators treat inputs and the final result differently (averages divide,
/// pre-multiplied sums multiply), each once.
enum class State : std::uint8_t { given, lifted, finished };

/// All forms of one job. Equal forms have equal numbers.
class Forms {
 public:
  /// What the caller put into a region, where it lies there.
  Content given(std::uint32_t region);
  /// Of sources in this order, of which those of `raw` are taken as inputs; `last`: as the final result. Where one is
  /// nothing: nothing.
  Content reduced(std::span<const Content> sources, unsigned raw, bool last);
  State state(Content content) const { return forms_[content.form].state; }
  /// All inputs that have gone into it, each as often as it has, in ascending order.
  std::vector<Term> terms(Content content) const;

 private:
  using Key = std::vector<std::pair<std::uint32_t, std::int64_t>>;  // forms of sources and their shifts
  struct Form {
    std::vector<Term> terms;
    State state = State::given;
  };

  std::map<std::uint32_t, std::uint32_t> leaves_;
  std::map<Key, std::uint32_t> reductions_;
  std::vector<Form> forms_{1};
};

}  // namespace sennit::sim
