// Measures collectives: one rank of a job with its communicator, its stream and its buffers. Each way of doing an
// operation is verified and timed on it, together with all other ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/collective/layout.h"
#include "bench/collective/nccl.h"
#include "bench/collective/stream.h"
#include "bench/measure/timing.h"
#include "path/registry.h"
#include "plan/communicator.h"

namespace sennit::bench::collective {

/// One way of doing it: by this plan, or by NCCL.
struct Way {
  std::optional<coll::Plan> plan;  ///< none: NCCL
  bool chosen = false;             ///< leave it to the communicator, which would take this plan, as programs do
  bool nccl_windows = false;       ///< NCCL on memory that is registered with it
};

/// All times are of one call, from the last rank's start to the last rank's end, and the same on every rank.
struct Times {
  measure::Summary summary;
  int calls = 0;       ///< in each run
  double host_us = 0;  ///< that the busiest caller spent in one call; 0 where they were a graph
};

class Rig {
 public:
  struct Options {
    std::uint64_t most_bytes = 0;  ///< of a Layout
    bool eager = false;            ///< call by call, instead of as a CUDA graph
    bool waited = false;           ///< so, and each is waited for before the next
    bool registered = false;       ///< the buffers, as symmetric windows
    double skew_us = 0;            ///< by which the last rank starts each run later: as in programs, which compute
    std::unique_ptr<coll::Chooser> chooser = std::make_unique<coll::ModelChooser>();
  };
  /// Opens the rig of the rank that the environment names. Collective. Errors: those of the executor and of meeting.
  static Result<std::unique_ptr<Rig>> open(std::shared_ptr<device::Executor> executor, Options options);

  device::Executor& executor() { return *executor_; }
  node::Node& node() const { return communicator_->node(); }
  coll::Collectives& collectives() const { return communicator_->collectives(); }
  bool on_gpus() const { return executor_->kind() == device::Kind::cuda; }
  /// Returns whether calls are timed as a CUDA graph, as rows say it.
  bool by_graph() const { return !eager_ && on_gpus(); }
  bool waited() const { return waited_; }

  /// Collective. NCCL where `versus` names it, or is empty on GPUs; `file`: libnccl or its folder, empty where the
  /// loader finds it. Returns a warning where it is wanted and cannot be had. Errors: peer_lost.
  Result<std::string> open_nccl(const std::vector<std::string>& versus, const std::string& file);
  /// Collective. Its windows, once it is open; returns a warning where they cannot be had. Errors: peer_lost.
  Result<std::string> open_nccl_windows();
  /// Null unless opened.
  Nccl* nccl() { return nccl_.get(); }
  static bool nccl_can(coll::Operation operation, const device::Reduction& reduction);

  /// Returns the key that a call's plan is chosen for.
  coll::CallKey call_key_of(const Layout& layout, const device::Reduction& reduction) const;
  Layout layout(coll::Operation operation, std::uint64_t bytes, device::Type type, bool in_place) const;

  /// Makes one call on fresh numbers, and compares with the host's own reference; nothing may be written beyond the
  /// buffer. Collective. Errors, the same on every rank: corrupt; those of the call.
  Status verify(const Way& way, const Layout& layout, const device::Reduction& reduction);
  /// Back-to-back calls for some `seconds`. Collective.
  Result<Times> time(const Way& way, const Layout& layout, const device::Reduction& reduction, double seconds);

  /// Collective: when all is done.
  Status close();

 private:
  Rig() = default;
  /// Returns the buffer that the way uses; in place both are the first.
  std::byte* base(const Way& way, bool first) const {
    if (way.nccl_windows) return nccl_->window(first ? 0 : 1);
    return (first ? input_ : output_).data();
  }
  std::byte* input_of(const Way& way, const Layout& layout) const { return base(way, true) + layout.input_at(); }
  std::byte* output_of(const Way& way, const Layout& layout) const {
    return base(way, layout.in_place) + layout.output_at();
  }
  Status call(const Way& way, const Layout& layout, const device::Reduction& reduction);
  Status move(void* dst, const void* src, std::uint64_t bytes);
  Status spoil(std::byte* data, std::uint64_t bytes);
  Status verify_here(const Way& way, const Layout& layout, const device::Reduction& reduction);
  Result<double> largest(double mine);
  /// µs of as many calls as were prepared.
  Result<double> run();

  bool eager_ = false, waited_ = false;
  double skew_us_ = 0;
  std::shared_ptr<device::Executor> executor_;
  std::optional<plan::Communicator> communicator_;
  std::unique_ptr<path::Registry> registry_;
  device::Memory input_, output_;
  std::vector<std::shared_ptr<path::Window>> windows_;  // of both, where they are registered
  std::unique_ptr<Nccl> nccl_;                          // after the stream's graph of its calls: it waits for that
  std::unique_ptr<Stream> stream_;
};

}  // namespace sennit::bench::collective
