// Tells why things happened when they did: each moment names what had to come before, so that from the last one back
// there is a way along which nothing could have been sooner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/outcome.h"

namespace sennit::sim {

class Past {
 public:
  using Moment = std::uint32_t;
  /// Before everything.
  static constexpr Moment kBegin = ~Moment{0};

  /// `us` behind `cause`, because of `why`: a number from reason().
  Moment add(Moment cause, double us, int why) {
    moments_.push_back({cause, us, why});
    return static_cast<Moment>(moments_.size() - 1);
  }
  /// The number of a reason in words. `shared`: as Critical has it.
  int reason(const std::string& text, bool shared = false) {
    const auto [found, is_new] = known_.emplace(text, static_cast<int>(reasons_.size()));
    if (is_new) reasons_.push_back({text, shared});
    return found->second;
  }

  /// From `last` back, by reasons: longest first.
  std::vector<Critical> critical(Moment last) const {
    std::vector<double> us(reasons_.size());
    for (Moment at = last; at != kBegin; at = moments_[at].cause)
      us[static_cast<std::size_t>(moments_[at].why)] += moments_[at].us;
    std::vector<Critical> all;
    for (std::size_t i = 0; i < us.size(); ++i)
      if (us[i] > 0) all.push_back({reasons_[i].text, us[i], reasons_[i].shared});
    std::ranges::sort(all, std::greater<>(), &Critical::us);
    return all;
  }

 private:
  struct Piece {
    Moment cause;
    double us;
    int why;
  };
  struct Reason {
    std::string text;
    bool shared;
  };
  std::vector<Piece> moments_;
  std::map<std::string, int> known_;
  std::vector<Reason> reasons_;
};

}  // namespace sennit::sim
