#include "bench/put/nccl.h"

#include <cstring>

#include <fmt/format.h>

#include "base/nccl_name.h"
#include "bench/nccl/library.h"
#include "comm/exchange.h"
#include "device/executor.h"

namespace sennit::bench::put {

namespace {

constexpr int kBytesType = 1;  // ncclUint8

class NcclVariant final : public Variant {
 public:
  NcclVariant(Rig& rig, NcclLibrary library) : rig_(rig), library_(library) {}
  ~NcclVariant() override {
    // Abort rather than destroy: an abort waits for no rank, and after an error the peer may be gone.
    if (communicator_ != nullptr) (void)library_.abort(communicator_);
  }

  Status open(const NcclId& id) {
    const int rank = rig_.node().rank();
    device_ = rig_.side(rank).device;
    auto lane = rig_.node().executor().lane(device_);
    if (!lane) return lane.status();
    lane_ = std::move(*lane);
    const device::OnDevice current(rig_.node().executor(), device_);
    return check(library_.init(&communicator_, 2, id, rank), "ncclCommInitRank");
  }

  std::string name() const override { return "nccl"; }
  bool two_sided() const override { return true; }
  Status prepare(const Case&) override { return {}; }
  Status enqueue(int number, bool sends, bool receives, const Message& message) override {
    const device::OnDevice current(rig_.node().executor(), device_);
    auto* const stream = static_cast<NcclLibrary::Stream>(lane_->native());
    Side& side = rig_.side(number);
    const int peer = 1 - number;
    if (auto status = check(library_.group_start(), "ncclGroupStart"); !status) return status;
    int error = 0;
    if (sends)
      error =
          library_.send(side.source.data() + message.source, message.bytes, kBytesType, peer, communicator_, stream);
    if (receives && error == 0)
      error = library_.receive(side.destination.data() + message.destination, message.bytes, kBytesType, peer,
                               communicator_, stream);
    const int ended = library_.group_end();
    return check(error != 0 ? error : ended, "ncclSend, ncclRecv");
  }
  Status finish(int) override { return lane_->synchronize(); }

 private:
  Status check(int error, std::string_view call) {
    if (error == 0) return {};
    return Status(Code::device_error, fmt::format("{}: {}", call, library_.text(error)), "nccl",
                  "NCCL_DEBUG=INFO tells more; leave nccl out of --vs to go on without");
  }

  Rig& rig_;
  const NcclLibrary library_;
  int device_ = 0;
  std::unique_ptr<device::Lane> lane_;
  NcclCommunicator communicator_ = nullptr;
};

Missing left_out(const Status& why) {
  return fmt::format(
      "nccl is left out: {}; install it, give --nccl FILE (of the Python package: nvidia/nccl/lib), or leave it out "
      "of --vs.",
      why.what());
}

}  // namespace

Result<Nccl> open_nccl(Rig& rig, const Job& job) {
  comm::Group& group = rig.node().group();
  const bool takes_part = rig.node().rank() < 2;

  if (rig.node().executor().kind() != device::Kind::cuda) {
    Nccl nccl;
    nccl.missing = "nccl is left out: it moves GPU memory alone; measure it where GPUs are, or leave it out of --vs.";
    return nccl;
  }

  // 1. Both ranks have the library; rank 0 makes the id that names their meeting.
  auto library = takes_part ? open_nccl_library(job.nccl) : Result<NcclLibrary>(NcclLibrary{});
  NcclId id{};
  Status status = library.status();
  Nccl nccl;
  if (status.ok() && takes_part) {
    int version = 0;
    (void)library->version(&version);
    nccl.version = nccl_version_text(version);
    if (rig.node().rank() == 0)
      if (const int error = library->unique_id(&id); error != 0)
        status = Status(Code::device_error, std::string("ncclGetNcclId: ") + library->text(error));
  }
  auto ids = comm::agree(group.exchange(), status, std::as_bytes(std::span(&id, 1)));
  if (!ids) {
    if (status.ok() && ids.status().code() == Code::peer_lost) return ids.status();
    nccl.missing = left_out(ids.status());
    return nccl;
  }
  if (ids->front().size() != sizeof id) return Status(Code::mismatch, "rank 0 gave no id for NCCL");
  std::memcpy(&id, ids->front().data(), sizeof id);

  // 2. They meet.
  std::unique_ptr<NcclVariant> variant;
  if (takes_part) {
    variant = std::make_unique<NcclVariant>(rig, *library);
    status = variant->open(id);
  }
  auto met = comm::agree(group.exchange(), status, {});
  if (!met) {
    if (status.ok() && met.status().code() == Code::peer_lost) return met.status();
    nccl.missing = left_out(met.status());
    return nccl;
  }
  nccl.variant = std::move(variant);
  return nccl;
}

}  // namespace sennit::bench::put
