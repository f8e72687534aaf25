// Holds the half of peers.h that touches GPUs, in a process of its own.
#include <memory>

#include "base/units.h"
#include "device/executor.h"
#include "doctor/pattern.h"
#include "doctor/peers.h"
#include "doctor/status_json.h"

namespace sennit::doctor {

namespace {

constexpr std::size_t kBytes = MiB;  ///< enough for several packets of any link, and done in well under 1 ms

/// Holds what each device needs: bytes to send, bytes to receive, and a lane.
struct Party {
  device::Memory out, in;
  std::unique_ptr<device::Lane> lane;
};

Result<Party> party_of(device::Executor& executor, int device) {
  Party party;
  Result<device::Memory> out = executor.allocate(device, kBytes), in = executor.allocate(device, kBytes);
  Result<std::unique_ptr<device::Lane>> lane = executor.lane(device);
  for (const Status& status : {out.status(), in.status(), lane.status()})
    if (!status.ok()) return status;
  party.out = std::move(*out);
  party.in = std::move(*in);
  party.lane = std::move(*lane);
  return party;
}

/// 1. `from` gets a pattern of its own. 2. It writes it to `to`, whose memory holds another. 3. `to` reads what it
/// has got. 4. `from` overwrites its own copy and reads the bytes back from `to`.
Status try_direction(Party& from, Party& to, const device::Memory& pinned, std::uint64_t seed) {
  const std::vector<std::byte> sent = pattern(kBytes, 2 * seed + 1), stale = pattern(kBytes, 2 * seed + 2);
  if (Status status = put_bytes(*to.lane, to.in.data(), stale, pinned); !status) return status;
  if (Status status = put_bytes(*from.lane, from.out.data(), sent, pinned); !status) return status;
  if (Status status = from.lane->copy(to.in.data(), from.out.data(), kBytes); !status) return status;
  if (Status status = from.lane->synchronize(); !status) return status;
  if (Status status = expect_bytes(*to.lane, to.in.data(), sent, pinned); !status)
    return std::move(status).in("written");
  if (Status status = put_bytes(*from.lane, from.out.data(), stale, pinned); !status) return status;
  if (Status status = from.lane->copy(from.out.data(), to.in.data(), kBytes); !status) return status;
  if (Status status = from.lane->synchronize(); !status) return status;
  Status read_back = expect_bytes(*from.lane, from.out.data(), sent, pinned);
  return read_back.ok() ? read_back : std::move(read_back).in("read back");
}

}  // namespace

void probe_peers(std::uint64_t pinned_bytes) {
  Result<std::shared_ptr<device::Executor>> opened = device::open_cuda_executor();
  if (!opened.ok()) return tell({{"opened", to_json(opened.status())}});
  device::Executor& executor = **opened;
  const int count = int(executor.devices().size());
  Json devices = Json::array();
  for (const device::DeviceInfo& info : executor.devices()) devices.push_back(info.pci);
  tell({{"opened", nullptr}, {"devices", devices}});

  {
    const Result<device::Memory> staging = executor.allocate_pinned(pinned_bytes);
    tell({{"pinned", to_json(staging.status())}});
  }
  const Result<device::Memory> pinned = executor.allocate_pinned(kBytes);
  if (!pinned.ok()) return tell({{"opened", to_json(pinned.status())}});
  std::vector<Party> parties;
  for (int device = 0; device < count && count > 1; ++device) {
    Result<Party> party = party_of(executor, device);
    if (!party.ok()) return tell({{"opened", to_json(party.status())}});
    parties.push_back(std::move(*party));
    tell({{"ready", device}});
  }
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      tell({{"trying", {from, to}}});
      const bool reaches = executor.reaches(from, to);
      const Status bytes = reaches ? try_direction(parties[std::size_t(from)], parties[std::size_t(to)], *pinned,
                                                   std::uint64_t(from) * std::uint64_t(count) + std::uint64_t(to))
                                   : Status();
      tell({{"from", from}, {"to", to}, {"reaches", reaches}, {"bytes", to_json(bytes)}});
    }
}

}  // namespace sennit::doctor
