#include "shim/mpi/staging/staging.h"

#include <vector>

namespace sennit::shim::mpi {

stage::Gpus* Staging::gpus() {
  const std::lock_guard lock(mutex_);
  if (gpus_ == nullptr && no_gpus_.ok()) {
    auto executor = memories_.executor();
    if (executor) {
      gpus_ = std::make_unique<stage::Gpus>(*executor, linger_);
      host_ = std::make_unique<stage::PinnedPool>(*executor);
    } else {
      no_gpus_ = executor.status();
    }
  }
  return gpus_.get();
}

std::optional<int> Staging::device_of(const Call& call) const {
  std::optional<int> device;
  for (const Part& part : call.all()) {
    if (!part.used() || call.mpi.is_in_place(part.address)) continue;
    const int here = memories_.info_of(part.address).device;
    if (here < 0 || (device && *device != here)) return -1;
    device = here;
  }
  return device;
}

Result<std::shared_ptr<StagedBuffers>> Staging::stage(const Call& call, bool again) {
  if (gpus() == nullptr) return no_gpus_;
  auto staged = std::make_shared<StagedBuffers>(*gpus_, *host_);
  const auto held = [&](const void* at) {
    return again || memories_.is_device(at) ? memories_.info_of(at) : stage::MemInfo{};
  };
  const auto overlap = is_collective(call.family) ? overlap_of(call) : std::nullopt;
  if (!overlap) {
    if (auto status = staged->make(call, held); !status) return status;
    return staged;
  }
  // The MPI is to find in the staged buffers what it would find in the program's memory, and to say what it says of
  // that.
  Call one(call);
  one.parts[overlap->outer].access = Access::both;
  one.parts[overlap->inner].significant = false;
  if (auto status = staged->make(one, held); !status) return status;
  staged->put_inside(*overlap);
  return staged;
}

int Staging::perform(const Call& call, const RealCall& real, std::string_view why) {
  const auto since = Reporting::Clock::now();
  auto staged = stage(call);
  if (!staged) return reporting_.fail(call, staged.status());
  const int code = real((*staged)->memory(), nullptr);
  if (code != 0) return code;
  if (auto status = (*staged)->copy_out(-1); !status) return reporting_.fail(call, status);
  count(call, **staged, why, since);
  return 0;
}

Result<Staging::Copy> Staging::copy(const Call& call) {
  const Part& part = call.parts[0];
  if (gpus() != nullptr) {
    auto staged = stage(call, false);
    if (!staged) return staged.status();
    if ((*staged)->bytes() != 0) return Copy{(*staged)->memory()[0], *staged, (*staged)->memory().types[0]};
  }
  auto* const address = const_cast<std::byte*>(static_cast<const std::byte*>(part.address));
  const auto span = part.used() ? span_of(mpi_, part.elements) : std::nullopt;
  if (!span || span->bytes() <= 0)
    return Copy{address, nullptr, kNoHandle};  // nothing to copy, or the real function's to refuse
  // Memory between parts that lie far apart may not be readable.
  Shape shape;
  const auto data = is_dense(mpi_, part.elements) ? std::nullopt : mpi_.segments(part.elements.type);
  const Handle type = data && mpi_.shape(part.elements.type, shape) == 0 ? mpi_.type_of_bytes(shape.size) : kNoHandle;
  if (type != kNoHandle) {
    auto packed = std::make_shared<std::vector<std::byte>>();
    for (std::int64_t element = 0; element < part.count(); ++element)
      for (const stage::Segment& segment : *data) {
        const std::byte* const at = address + element * shape.extent + segment.first;
        packed->insert(packed->end(), at, at + segment.bytes);
      }
    return Copy{packed->data(), packed, type};
  }
  auto bytes = std::make_shared<std::vector<std::byte>>(address + span->first, address + span->last);
  return Copy{bytes->data() - span->first, bytes, kNoHandle};
}

}  // namespace sennit::shim::mpi
