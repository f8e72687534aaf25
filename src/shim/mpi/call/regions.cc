#include "shim/mpi/call/regions.h"

#include <algorithm>
#include <utility>

namespace sennit::shim::mpi {

Result<Region> Region::make(const Mpi& mpi, std::int64_t count, Handle type) {
  Region region(mpi, count, type);
  Elements elements;
  elements.count = count;
  elements.type = type;
  const auto span = span_of(mpi, elements);
  std::int64_t bytes = 0;
  if (!span || mpi.shape(type, region.shape_) != 0 || __builtin_mul_overflow(count, region.shape_.size, &bytes))
    return Status(Code::invalid_argument, "no such type, or no such number of elements");
  region.span_ = bytes > 0 ? *span : Span{};
  region.bytes_ = static_cast<std::uint64_t>(bytes);
  region.dense_ = bytes == 0 || is_dense(mpi, elements);
  auto segments = segments_of(mpi, elements);
  if (!segments) return Status(Code::invalid_argument, "MPI_Unpack does not take the type");
  region.segments_ = std::move(*segments);
  return region;
}

Status Region::pack(const std::byte* image, std::byte* packed) const {
  // MPI_Pack is called for runs of elements that an int counts.
  const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{1} << 30) / shape_.size);
  for (std::int64_t done = 0; done < count_; done += most) {
    const std::int64_t now = std::min(most, count_ - done);
    if (mpi_->pack(image - span_.first + done * shape_.extent, type_, now * shape_.size,
                   packed + done * shape_.size) != 0)
      return Status(Code::invalid_argument, "MPI_Pack does not take the type");
  }
  return {};
}

Status Region::unpack(std::byte* image, const std::byte* packed) const {
  return mpi_->unpack(packed, static_cast<std::int64_t>(bytes_), image - span_.first, type_) == 0
             ? Status()
             : Status(Code::invalid_argument, "MPI_Unpack does not take the type");
}

Status Region::read(const Copy& copy, const std::byte* base, std::byte* packed) const {
  if (bytes_ == 0) return {};
  if (dense_) return copy(packed, base + span_.first, bytes_);
  std::vector<std::byte> image(static_cast<std::size_t>(span_.bytes()));
  // Gaps are read with the rest: they are not seen.
  if (auto status = copy(image.data(), base + span_.first, image.size()); !status) return status;
  return pack(image.data(), packed);
}

Status Region::write(const Copy& copy, std::byte* base, const std::byte* packed) const {
  if (bytes_ == 0) return {};
  if (dense_) return copy(base + span_.first, packed, bytes_);
  std::vector<std::byte> image(static_cast<std::size_t>(span_.bytes()));
  if (auto status = unpack(image.data(), packed); !status) return status;
  return write_image(copy, base, image.data());
}

Status Region::write_image(const Copy& copy, std::byte* base, const std::byte* image) const {
  Status status;
  const auto copied = [&](const stage::Segment& segment) {
    status =
        copy(base + segment.first, image + segment.first - span_.first, static_cast<std::uint64_t>(segment.bytes));
    return status.ok();
  };
  (void)std::ranges::all_of(segments_, [&](const stage::Segments& segments) { return segments.visit(copied); });
  return status;
}

}  // namespace sennit::shim::mpi
