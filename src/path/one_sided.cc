#include "path/one_sided.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"

namespace sennit::path {

namespace {

/// Below, memory here is taken for the GPU's own where the two have different plans: a default. A look at it takes
/// 0.3 µs, a hundredth of a 4 MiB put (H200).
constexpr std::uint64_t kLeastGlance = 16 * MiB;

/// Agrees on one table for the whole node: the leader's, so that all ranks split messages alike.
Result<std::shared_ptr<const PutTable>> agree_on_table(node::Node& node) {
  comm::Group& group = node.group();
  std::string text;
  if (group.rank() == group.leader())
    if (const auto own = tuned_puts(node.machine()); own != nullptr) text = to_json(*own).dump();
  auto texts = group.exchange().all_gather(std::as_bytes(std::span(text.data(), text.size())));
  if (!texts) return texts.status();
  const comm::Bytes& chosen = (*texts)[static_cast<std::size_t>(group.leader())];
  if (chosen.empty()) return std::shared_ptr<const PutTable>();
  const char* const origin = "the leader's table";
  auto document = parse_json({reinterpret_cast<const char*>(chosen.data()), chosen.size()}, origin);
  if (!document) return document.status();
  auto table = put_table_from_json(*document, origin);
  if (!table) return table.status();
  return std::make_shared<const PutTable>(std::move(*table));
}

}  // namespace

Status OneSided::make_transport(Result<std::shared_ptr<const PutTable>> tuned) {
  if (!tuned) return tuned.status();
  const std::lock_guard lock(mutex_);
  if (owned_ != nullptr) return {};
  auto made = Transport::create(node_.shared_executor(), node_.group(), node_.device(),
                                PlanInputs{node_.machine(), std::move(*tuned)}, node_.machine_is_given(),
                                [this](std::uint32_t window, std::uint64_t offset, std::uint64_t bytes) {
                                  return registry_.resolve(window, offset, bytes);
                                });
  if (!made) return made.status();
  owned_ = std::move(*made);
  transport_.store(owned_.get(), std::memory_order_release);
  return {};
}

Status OneSided::prepare() {
  if (transport_.load(std::memory_order_acquire) != nullptr) return {};
  return make_transport(tuned_puts(node_.machine()));
}

Result<std::shared_ptr<Window>> OneSided::open(void* data, std::uint64_t bytes) {
  if (!has_met_) {
    // Each rank has an environment of its own: one that cannot work must not leave the others to fewer.
    auto tuned = agree_on_table(node_);
    const Status made = make_transport(std::move(tuned));
    if (auto alike = comm::agree(node_.group().exchange(), made, {}); !alike) return alike.status();
    has_met_ = true;
  }
  return registry_.open(data, bytes);
}

Result<End> OneSided::local_end(const void* data, std::uint64_t bytes, device::Access access) {
  auto location = node_.executor().describe(data, bytes);
  if (!location) return location.status();
  if (location->bytes != 0) {
    const auto before = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location->base);
    if (bytes > location->bytes - before)
      return Status(Code::invalid_argument,
                    fmt::format("{} from {} reach beyond the allocation, which has {} left", format_bytes(bytes),
                                data, format_bytes(location->bytes - before)),
                    {}, "Check the size of the message");
  } else if (!device::is_usable(data, bytes, access)) {
    // The extent of pageable memory is not known; a byte that is not there would fault on a lane's thread.
    return Status(Code::invalid_argument,
                  fmt::format("a part of the {} from {} cannot be {}", format_bytes(bytes), data,
                              access == device::Access::read ? "read" : "written"),
                  {}, "Check the size of the message, and that the memory is neither freed nor protected");
  }
  End end = End::local(const_cast<void*>(data), location->device);
  end.pageable = location->place == device::Place::pageable;
  return end;
}

bool OneSided::single(const End& there, const void* data, std::uint64_t bytes, bool put) {
  // Only where the driver itself refuses addresses that are not memory: threads of the host executor would crash.
  if (there.rank < 0 || there.data == nullptr || node_.executor().kind() != device::Kind::cuda) return false;
  const auto least = [&](int here) {
    return put ? transfer_engine().plans().least_split(there.device, here)
               : transfer_engine().plans().least_split(here, there.device);
  };
  const std::uint64_t own = least(node_.device()), pinned = least(kHost);
  const bool alike = (bytes < own) == (bytes < pinned);
  if (alike || bytes < kLeastGlance) return bytes < own;
  const auto here = node_.executor().holder(data);
  return here && bytes < least(*here);
}

bool OneSided::single(const void* dst, const void* src, std::uint64_t bytes) {
  if (node_.executor().kind() != device::Kind::cuda) return false;
  const auto to = node_.executor().holder(dst), from = node_.executor().holder(src);
  return to && from && bytes < transfer_engine().plans().least_split(*to, *from);
}

Status OneSided::copy_single(void* dst, const void* src, std::uint64_t bytes, Ours ours, device::Lane& lane) {
  auto status = lane.copy(dst, src, bytes);
  if (status.ok()) return status;
  // The driver only says that something is wrong; the address tells what.
  if (ours.dst)
    if (auto end = local_end(dst, bytes, device::Access::write); !end) return end.status();
  if (ours.src)
    if (auto end = local_end(src, bytes, device::Access::read); !end) return end.status();
  return status;
}

Status OneSided::put(Window& window, int peer, std::uint64_t offset, const void* src, std::uint64_t bytes,
                     device::Lane& lane) {
  if (auto status = node_.check(); !status) return status;
  auto to = window.end(peer, offset, bytes);
  if (!to) return to.status();
  if (bytes == 0) return {};
  if (single(*to, src, bytes, true)) return copy_single(to->data, src, bytes, {false, true}, lane);
  auto from = local_end(src, bytes, device::Access::read);
  if (!from) return from.status();
  return move(*to, *from, bytes, lane);
}

Status OneSided::get(Window& window, int peer, std::uint64_t offset, void* dst, std::uint64_t bytes,
                     device::Lane& lane) {
  if (auto status = node_.check(); !status) return status;
  auto from = window.end(peer, offset, bytes);
  if (!from) return from.status();
  if (bytes == 0) return {};
  if (single(*from, dst, bytes, false)) return copy_single(dst, from->data, bytes, {true, false}, lane);
  auto to = local_end(dst, bytes, device::Access::write);
  if (!to) return to.status();
  return move(*to, *from, bytes, lane);
}

Status OneSided::copy(void* dst, const void* src, std::uint64_t bytes, device::Lane& lane) {
  if (auto status = node_.check(); !status) return status;
  if (bytes == 0) return {};
  if (auto status = check_apart(dst, src, bytes); !status) return status;
  if (auto status = prepare(); !status) return status;
  if (single(dst, src, bytes)) return copy_single(dst, src, bytes, {true, true}, lane);
  auto to = local_end(dst, bytes, device::Access::write);
  if (!to) return to.status();
  auto from = local_end(src, bytes, device::Access::read);
  if (!from) return from.status();
  return move(*to, *from, bytes, lane);
}

}  // namespace sennit::path
