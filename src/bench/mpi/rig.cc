#include "bench/mpi/rig.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/collective/numbers.h"
#include "bench/mpi/contents.h"
#include "bench/mpi/schedule.h"

namespace sennit::bench::mpi {

namespace {

/// Bytes behind the output that must stay as they were.
constexpr std::uint64_t kMargin = 256;
constexpr std::byte kBehind{0x5A}, kNonsense{0xA5};
/// Read back at once: whole periods.
constexpr std::uint64_t kPiece = 32 * collective::kPeriod;
/// A call's time is estimated from a run of so long: a default, some ten times what the ranks' meeting takes.
constexpr double kEstimateUs = 200;
constexpr int kMostEstimated = 1 << 12;

}  // namespace

Status Rig::make_room(const std::vector<Case>& cases) {
  return job_.agree(allocate(cases));
}

Status Rig::allocate(const std::vector<Case>& cases) {
  std::uint64_t gpu = 0, managed = 0, host = 0;
  for (const Case& what : cases) {
    const Layout layout{what, job_.rank(), job_.size()};
    std::uint64_t& most = what.buffers == Buffers::managed ? managed : layout.on_gpu() ? gpu : host;
    most = std::max(most, Layout::room(what, job_.size()));
  }
  const auto whole = [](std::uint64_t bytes) { return (bytes + kMargin + 2 * MiB - 1) / (2 * MiB) * (2 * MiB); };
  const auto make = [&](Room& room, std::uint64_t bytes, auto&& one) -> Status {
    for (device::Memory* memory : {&room.input, &room.output}) {
      auto made = one(whole(bytes));
      if (!made) return made.status();
      *memory = std::move(*made);
    }
    return {};
  };
  const auto on_gpu = [&](std::uint64_t bytes) { return memories_.allocate(true, bytes); };
  const auto migrates = [&](std::uint64_t bytes) { return memories_.allocate_managed(bytes); };
  const auto pinned = [&](std::uint64_t bytes) { return memories_.allocate_pinned(bytes); };
  const std::uint64_t staged = std::max(gpu, managed);
  if (gpu > 0)
    if (auto status = make(gpu_, gpu, on_gpu); !status) return status;
  if (managed > 0)
    if (auto status = make(managed_, managed, migrates); !status) return status;
  if (staged > 0)
    if (auto status = make(staged_, staged, pinned); !status) return status;
  return make(host_, host, [&](std::uint64_t bytes) { return memories_.allocate(false, bytes); });
}

Batch Rig::batch(const Case& what, const Variant& variant) const {
  Batch batch;
  batch.layout = {what, job_.rank(), job_.size()};
  if (what.pattern)
    batch.layout.part = std::make_shared<const Part>(part_of(*what.pattern, variant.map, job_.rank()));
  batch.with_sennit = variant.with_sennit;
  batch.variant = variant.name;
  if (what.over == Over::nccl) batch.nccl = nccl_;
  const Layout& layout = batch.layout;
  const auto input_of = [&](const Room& room) {
    return (layout.one_buffer() ? room.output : room.input).data() + layout.input_at();
  };
  const bool managed = what.buffers == Buffers::managed;
  const Room& own = managed ? managed_ : layout.on_gpu() ? gpu_ : host_;
  batch.input = input_of(own);
  batch.output = own.output.data();
  if (variant.by_hand && (managed || layout.on_gpu())) {
    batch.staged_input = input_of(staged_);
    batch.staged_output = staged_.output.data();
  }
  return batch;
}

Status Rig::write(std::byte* to, std::uint64_t bytes, const std::vector<std::byte>& again_and_again) {
  for (std::uint64_t at = 0; at < bytes; at += again_and_again.size()) {
    const std::uint64_t some = std::min<std::uint64_t>(again_and_again.size(), bytes - at);
    if (auto status = memories_.copy(to + at, again_and_again.data(), some); !status) return status;
  }
  return {};
}

/// Nothing of an earlier call is left that could be taken for this one's.
Status Rig::prepare(const Batch& batch) {
  const Layout& layout = batch.layout;
  const std::uint64_t room = Layout::room(layout.what, layout.size);
  const std::vector<std::byte> nonsense(std::clamp<std::uint64_t>(room, 1, collective::kPeriod), kNonsense);
  if (auto status = write(batch.output, room, nonsense); !status) return status;
  if (auto status = write(batch.output + (layout.one_buffer() ? room : layout.output_bytes()), kMargin,
                          std::vector<std::byte>(kMargin, kBehind));
      !status)
    return status;
  if (updates(layout.what.operation) && layout.is_target())
    if (auto status = write(batch.output, layout.what.bytes, before(layout, reduction_)); !status) return status;
  for (unsigned index = 0; index < layout.given(); ++index) {
    const auto [at, bytes] = layout.piece_given(index);
    if (auto status = write(batch.input + at, bytes, given(layout, reduction_, index)); !status) return status;
  }
  return {};
}

Status Rig::check(const Batch& batch) {
  const Layout& layout = batch.layout;
  std::vector<std::byte> got(std::max(kPiece, kMargin));
  for (unsigned index = 0; index < layout.taken(); ++index) {
    const auto [begin, bytes] = layout.piece_taken(index);
    const std::vector<std::byte> right = expected(layout, reduction_, index);
    for (std::uint64_t at = 0; at < bytes; at += kPiece) {
      const std::uint64_t some = std::min(kPiece, bytes - at);
      if (auto status = memories_.copy(got.data(), batch.output + begin + at, some); !status) return status;
      if (const auto wrong = first_wrong(std::span(got).first(some), right))
        return Status(Code::corrupt, fmt::format("byte {} of message {} is wrong", at + *wrong, index), {},
                      "Do not trust this MPI with such buffers; please report it");
    }
  }
  const std::uint64_t end = layout.one_buffer() ? Layout::room(layout.what, layout.size) : layout.output_bytes();
  if (auto status = memories_.copy(got.data(), batch.output + end, kMargin); !status) return status;
  if (first_wrong(std::span(got).first(kMargin), std::vector<std::byte>(kMargin, kBehind)))
    return Status(Code::corrupt, "bytes behind the output were written", {},
                  "Do not trust this MPI with such buffers; please report it");
  return {};
}

Status Rig::verify(const Case& what, const Variant& variant) {
  const Batch one = batch(what, variant);
  const std::string which = fmt::format("{} by {}", describe(what), variant.name);
  if (auto status = job_.agree(prepare(one)); !status) return std::move(status).in(which);
  auto ran = job_.run(one, 1);
  if (!ran) return std::move(ran).status().in(which);
  auto checked = job_.agree(check(one));
  return std::move(checked).in(which);
}

Result<double> Rig::estimate(const Batch& batch) {
  for (int calls = 1;; calls *= 4) {
    // The least of several: the first ones set things up, and any may meet something else that runs.
    double us = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      auto ran = job_.run(batch, calls);
      if (!ran) return ran.status();
      us = attempt == 0 ? ran->all_us : std::min(us, ran->all_us);
    }
    if (us * calls >= kEstimateUs || calls >= kMostEstimated) return us;
  }
}

Result<std::vector<Times>> Rig::time(const Case& what, const std::vector<Variant>& variants, double seconds) {
  std::vector<Batch> batches;
  std::vector<double> estimates;
  for (const Variant& variant : variants) {
    batches.push_back(batch(what, variant));
    auto us = estimate(batches.back());
    if (!us) return us.status();
    estimates.push_back(*us);
  }
  const Schedule planned = schedule(estimates, seconds);
  const int count = static_cast<int>(variants.size());
  std::vector<std::vector<double>> samples(variants.size());
  // The first round finds caches as none of the others does.
  for (int round = -1; round < planned.rounds; ++round)
    for (const int which : order(round + 1, count)) {
      const auto index = static_cast<std::size_t>(which);
      if (const int calls = warming(estimates, index); calls != 0)
        if (auto warmed = job_.run(batches[index], calls); !warmed) return warmed.status();
      auto ran = job_.run(batches[index], planned.calls[index]);
      if (!ran) return ran.status();
      if (round >= 0) samples[index].push_back(ran->us);
    }
  std::vector<Times> times;
  // Maps of an exchange are compared with the order as it is, which comes first.
  const auto own = what.pattern ? 0 : std::ranges::find(variants, true, &Variant::with_sennit) - variants.begin();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Times one{measure::summarise(samples[i]), planned.calls[i], {}};
    if (own < count && static_cast<std::ptrdiff_t>(i) != own)
      one.against = compare(samples[std::size_t(own)], samples[i]);
    times.push_back(one);
  }
  return times;
}

}  // namespace sennit::bench::mpi
