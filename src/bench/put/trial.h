// Tries one case with all variants: verified first, then timed in turns.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/measure/timing.h"
#include "bench/put/checking.h"
#include "bench/put/pairing.h"
#include "bench/put/variants.h"

namespace sennit::bench::put {

class Trial {
 public:
  /// Both processes of the pair make the same calls.
  Trial(Rig& rig, Pairing& pairing, Checker& checker) : rig_(rig), pairing_(pairing), checker_(checker) {}

  /// Sends every message of a window into poisoned memory and compares all bytes. Errors: corrupt, naming the variant
  /// and the case; those of the variant.
  Status verify(Variant& variant, const Case& what);
  /// Odd sizes between odd addresses, one message each.
  Status verify_odd(Variant& variant, bool both_ways);

  /// Returns the times of one message, by variant; for those that do not cover the case: none. `seconds`: for each
  /// variant.
  Result<std::vector<std::optional<measure::Summary>>> time(std::span<const std::unique_ptr<Variant>> variants,
                                                            const Case& what, double seconds);

 private:
  Status verify(Variant& variant, const Case& what, std::span<const Message> messages);
  std::vector<Message> messages_of(const Case& what) const;
  Status send(Variant& variant, const Case& what, std::span<const Message> messages);
  Result<double> send_timed(Variant& variant, const Case& what, std::span<const Message> messages);
  Status batch(Variant& variant, const Case& what, std::span<const Message> messages, int repetitions,
               std::vector<double>& samples_us);

  Rig& rig_;
  Pairing& pairing_;
  Checker& checker_;
};

/// Messages of a window lie side by side as far as there is room, then use the same places again.
std::uint64_t places(std::uint64_t room, const Case& what);

}  // namespace sennit::bench::put
