// Copies the bytes that elements of a type have in memory, and leaves alone what lies between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/call/segments.h"

namespace sennit::shim::mpi {

/// Copies `bytes` bytes, and is done with it when it returns.
using Copy = std::function<Status(void* to, const void* from, std::uint64_t bytes)>;

class Region {
 public:
  /// Errors: invalid_argument for a type or a count that MPI does not take.
  static Result<Region> make(const Mpi& mpi, std::int64_t count, Handle type);

  /// Returns the bytes of data.
  std::uint64_t bytes() const { return bytes_; }
  /// Returns the span from the first byte to the last one, from the address that a call names.
  const Span& span() const { return span_; }
  /// Returns whether the data fills the whole span, in the order of addresses.
  bool dense() const { return dense_; }

  /// Copies the data, one behind the other, from memory at `base` (which only `copy` can read); write() copies it
  /// there.
  Status read(const Copy& copy, const std::byte* base, std::byte* packed) const;
  Status write(const Copy& copy, std::byte* base, const std::byte* packed) const;
  /// Copies the data of `image`, which lies as the span does.
  Status write_image(const Copy& copy, std::byte* base, const std::byte* image) const;

 private:
  Region(const Mpi& mpi, std::int64_t count, Handle type) : mpi_(&mpi), count_(count), type_(type) {}
  /// The two convert between an image of the span and packed data, by MPI.
  Status pack(const std::byte* image, std::byte* packed) const;
  Status unpack(std::byte* image, const std::byte* packed) const;

  const Mpi* mpi_;
  std::int64_t count_;
  Handle type_;
  Shape shape_;
  Span span_;
  std::uint64_t bytes_ = 0;
  bool dense_ = true;
  std::vector<stage::Segments> segments_;
};

}  // namespace sennit::shim::mpi
