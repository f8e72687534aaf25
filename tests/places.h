// Where things are that a test program reads or starts. Its places.cc is written by sennit_tests(): what differs
// between checkouts stands in that file alone, so that a compiler cache serves all the others to any checkout.
#pragma once

#include <string>
#include <string_view>

namespace sennit::places {

/// A file or folder of this checkout, by its path there: "machines/mist.json".
std::string source(std::string_view path);

/// A program or library that was built for this test program, by its name in STARTS. Aborts where it is not there.
std::string built(std::string_view name);

}  // namespace sennit::places
