// Describes memory of one rank to its peers, who map it: as bytes that travel by whatever means, and files that are
// fetched.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/group.h"
#include "comm/wire.h"
#include "device/executor.h"

namespace sennit::path {

/// A file that a rank offers its peers.
struct FileDescription {
  std::uint64_t number = 0;  ///< to fetch it by
  std::uint64_t bytes = 0;
};

/// Returns ok where peers may be shown [data, data + bytes) at that location. Errors: invalid_argument (pageable
/// memory, more bytes than the allocation has).
Status check_to_share(const device::Executor& executor, const device::Location& location, const void* data,
                      std::uint64_t bytes);

/// Memory of this rank that peers may map while this object lives. Movable only.
class Offer {
 public:
  /// Offers nothing.
  Offer() = default;
  /// Errors: those of Executor::share, which says why peers cannot map it, and of Group::offer.
  static Result<Offer> make(comm::Group& group, device::Executor& executor, const void* data, std::uint64_t bytes);
  Offer(Offer&& other) noexcept { *this = std::move(other); }
  Offer& operator=(Offer&& other) noexcept;
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;
  ~Offer();

  /// Appends what Offered::read() takes off.
  void write(comm::Writer& writer) const;

 private:
  comm::Group* group_ = nullptr;
  device::Shareable memory_;  // without its files, which the group has
  std::vector<FileDescription> files_;
};

/// Describes what a peer offers: memory.files is empty until they are fetched.
struct Offered {
  device::Shareable memory;
  std::vector<FileDescription> files;

  /// Returns ok where `device` reaches the memory, as far as can be told before it is mapped. Errors: unsupported.
  Status reached_by(device::Executor& executor, int device) const;
  /// Takes off the reader what Offer::write() appended. A message that is cut off shows in Reader::finish().
  static Offered read(comm::Reader& reader);
};

}  // namespace sennit::path
