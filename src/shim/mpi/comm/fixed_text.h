// Puts a text into a structure that ranks tell each other whole.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace sennit::shim::mpi {

/// `into` holds zeros; what does not fit before its last one is left out.
template <std::size_t length>
void put_text(const std::string& text, std::array<char, length>& into) {
  std::memcpy(into.data(), text.data(), std::min(text.size(), length - 1));
}

}  // namespace sennit::shim::mpi
