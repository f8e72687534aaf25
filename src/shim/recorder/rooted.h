// What a rank gives and takes in a call that has a root; pure.
#pragma once

#include <cstdint>

#include "profile/rooted.h"

namespace sennit::shim::recorder {

using profile::Rooted;
using profile::rooted_of;

/// A rank's part in the call. Between two groups (MPI's intercommunicators) the root is alone in its own group, and
/// has no part of the data itself: the others of its group are `apart`, and those of the other group are `other`.
/// `unknown`: of a rank that could not say its number.
enum class Role : std::uint8_t { unknown, root, root_of_others, other, apart };

struct Sides {
  bool gives = true, takes = true;
  bool operator==(const Sides&) const = default;
};

constexpr Sides sides_of(Rooted kind, Role role) {
  if (kind == Rooted::none || role == Role::unknown) return {};
  if (role == Role::apart) return {false, false};
  const bool is_root = role != Role::other, is_within = role == Role::root;
  switch (kind) {
    case Rooted::broadcast: return {is_root, !is_root};
    case Rooted::gathers: return {!is_root || is_within, is_root};
    default: return {is_root, !is_root || is_within};
  }
}

}  // namespace sennit::shim::recorder
