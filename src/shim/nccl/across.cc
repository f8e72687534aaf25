#include "shim/nccl/across.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::shim::nccl {

namespace {

/// What is tried, and with other sizes decided by: a default. Shorter messages than the first are NCCL's.
constexpr std::array<std::uint64_t, 4> kTrialSizes{1 * MiB, 4 * MiB, 16 * MiB, 64 * MiB};
/// The same where processors do the work of GPUs.
constexpr std::array<std::uint64_t, 1> kEmulatedSizes{16 * KiB};

}  // namespace

Across::Across(path::Node& node, std::unique_ptr<NcclRail> rail, const Layout& layout)
    : node_(node), name_(fmt::format("rails over {} nodes", layout.nodes)), rail_(std::move(rail)) {}

Result<std::unique_ptr<Across>> Across::create(path::Node& node, coll::Collectives& collectives,
                                               std::unique_ptr<NcclRail> rail, const Layout& layout) {
  std::unique_ptr<Across> made(new Across(node, std::move(rail), layout));
  auto allreduce = net::EnqueuedAllreduce::create(node, collectives, *made->rail_, {});
  if (!allreduce) return allreduce.status();
  made->allreduce_ = std::move(*allreduce);
  return made;
}

Status Across::try_out(comm::Exchange& all, const Enqueued& by_nccl, bool emulated) {
  const Enqueued rails = [this](const std::byte* input, std::byte* output, std::uint64_t bytes) {
    return allreduce_->call(input, output, bytes, {device::Type::float32, device::Operator::sum, 1, 1, 1},
                            node_.lane());
  };
  using Sizes = std::span<const std::uint64_t>;
  auto tried = nccl::try_out(all, node_, by_nccl, rails, emulated ? Sizes(kEmulatedSizes) : Sizes(kTrialSizes));
  if (!tried) return tried.status();
  tried_ = std::move(*tried);
  return {};
}

Status Across::call(const coll::Request& request, device::Lane& lane) {
  const std::uint64_t bytes = request.count * device::bytes_of(request.reduction.type);
  return allreduce_->call(request.input, request.output, bytes, request.reduction, lane);
}

}  // namespace sennit::shim::nccl
