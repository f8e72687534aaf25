#include "bench/partitioned/link.h"

#include <array>

#include <fmt/format.h>

#include "bench/mpi/functions.h"
#include "bench/mpi/job.h"
#include "bench/partitioned/ends.h"
#include "shim/mpi/abi/library.h"

namespace sennit::bench::partitioned {

namespace {

using shim::mpi::Flavour;

Status from_code(int code, const char* function) {
  if (code == 0) return {};
  return Status(Code::system_error, fmt::format("{} returned {}", function, code), {},
                "The MPI's own messages may say why");
}

template <class Abi>
class LinkOf final : public Link {
 public:
  using Link::hear;
  using Link::open;
  using Link::tell;

  static Result<std::unique_ptr<Link>> start(const mpi::OpenLibrary& found, bool two) {
    auto link = std::make_unique<LinkOf>();
    if (auto status = link->begin(found, two); !status) return status;
    return std::unique_ptr<Link>(std::move(link));
  }

  Result<std::unique_ptr<End>> open(BackEnd back_end, const Message& message, const Way& way) override {
    const int first_tag = kFirstTag + way.number * kMostPartitions;
    auto end = make_end<Abi>(back_end, Sides<Abi>{call_, partitions_, byte_, info_, way.sends, way.peer, first_tag},
                             message);
    if (!end->status().ok()) return end->status();
    return end;
  }
  int start_all(End& one, End& other) override {
    std::array requests = {static_cast<PartitionedEnd<Abi>&>(one).request(),
                           static_cast<PartitionedEnd<Abi>&>(other).request()};
    const int code = call_.startall(int(requests.size()), requests.data());
    static_cast<PartitionedEnd<Abi>&>(one).request() = requests[0];
    static_cast<PartitionedEnd<Abi>&>(other).request() = requests[1];
    return code;
  }

  Status tell(std::span<const std::byte> bytes, int to) override {
    return from_code(call_.send(bytes.data(), int(bytes.size()), byte_, to, 0, words_), "MPI_Send");
  }
  Status hear(std::span<std::byte> bytes, int from) override {
    auto* const ignore = reinterpret_cast<typename Abi::Status*>(Abi::kStatusIgnore);
    return from_code(call_.recv(bytes.data(), int(bytes.size()), byte_, from, 0, words_, ignore), "MPI_Recv");
  }
  Status meet() override { return from_code(call_.barrier.blocking(words_), "MPI_Barrier"); }

  void finish() override {
    (void)call_.comm_free(&partitions_);
    (void)call_.comm_free(&words_);
    (void)call_.info_free(&info_);
    (void)call_.finalize();
  }

 private:
  static constexpr int kFirstTag = 16;  // those below are of what ends tell each other

  bool has_partitioned() const override {
    return call_.psend_init != nullptr && call_.precv_init != nullptr && call_.pready != nullptr &&
           call_.parrived != nullptr;
  }

  Status begin(const mpi::OpenLibrary& found, bool two) {
    const auto lacking = [&](const std::string& what) {
      return Status(Code::unsupported, fmt::format("{} has no {}", found.file, what), "--library",
                    "Use an MPI of version 3.0 or later");
    };
    if (const auto missing = find(found.handle, call_); !missing.empty()) return lacking(missing);
    library_ = shim::mpi::Library<Abi>::open(found.handle);
    if (library_ == nullptr) return lacking("function that every MPI 3.0 has");
    int provided = 0;
    if (auto status =
            from_code(call_.init_thread(nullptr, nullptr, Abi::kThreadMultiple, &provided), "MPI_Init_thread");
        !status)
      return std::move(status).in(found.file);
    thread_multiple_ = provided >= Abi::kThreadMultiple;
    shim::mpi::CommShape shape;
    (void)library_->shape(library_->comm_world(), shape);
    rank_ = shape.rank;
    ranks_ = shape.size;
    if (two && shape.size != 2)
      return Status(Code::invalid_argument, fmt::format("a message has two ends, and there are {} ranks", shape.size),
                    {}, "Start it as two ranks: mpirun -n 2 sennit-bench-partitioned");
    version_ = mpi::library_version(call_);
    byte_ = library_->byte();
    const auto world = shim::mpi::from_handle<typename Abi::Comm>(library_->comm_world());
    // Each code is of a call that all before must have made possible.
    if (auto status = from_code(call_.comm_dup(world, &partitions_), "MPI_Comm_dup"); !status) return status;
    if (auto status = from_code(call_.comm_dup(world, &words_), "MPI_Comm_dup"); !status) return status;
    return from_code(call_.info_create(&info_), "MPI_Info_create");
  }

  mpi::Functions<Abi> call_{};
  std::unique_ptr<shim::mpi::Library<Abi>> library_;
  typename Abi::Comm partitions_{}, words_{};
  typename Abi::Datatype byte_{};
  typename Abi::Info info_{};
};

}  // namespace

Result<std::unique_ptr<Link>> Link::start(const mpi::OpenLibrary& library, bool two) {
  switch (library.flavour) {
    case Flavour::standard: return LinkOf<shim::mpi::Standard>::start(library, two);
    case Flavour::mpich: return LinkOf<shim::mpi::Mpich>::start(library, two);
    case Flavour::openmpi: break;
  }
  return LinkOf<shim::mpi::OpenMpi>::start(library, two);
}

std::string Link::lacks(BackEnd back_end, int threads) const {
  if (back_end == BackEnd::mpi && !has_partitioned()) return "This MPI has no MPI_Psend_init; it came with MPI 4.0.";
  if (!is_whole(back_end) && threads > 1 && !thread_multiple_)
    return "This MPI gives no MPI_THREAD_MULTIPLE, and each thread calls it; use --threads 1.";
  return {};
}

}  // namespace sennit::bench::partitioned
