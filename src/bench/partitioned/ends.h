// Makes the ends of a message over one set of MPI's functions of one ABI, one class a back end.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "bench/mpi/functions.h"
#include "bench/partitioned/back_end.h"
#include "bench/partitioned/end.h"

namespace sennit::bench::partitioned {

/// This rank's end of a message, and how its calls name it.
template <class Abi>
struct Sides {
  const mpi::Functions<Abi>& call;
  typename Abi::Comm comm;
  typename Abi::Datatype byte;
  typename Abi::Info info;  ///< an empty one
  bool sends = false;
  int peer = 0;
  int first_tag = 0;  ///< of the first partition; the others follow
};

template <class Abi>
class EndOf : public End {
 public:
  EndOf(const Sides<Abi>& sides, const Message& message) : sides_(sides), call_(sides.call), message_(message) {}

 protected:
  using Request = typename Abi::Request;
  static constexpr int kDoneTag = 1;

  static auto* ignore() { return reinterpret_cast<typename Abi::Status*>(Abi::kStatusIgnore); }
  std::byte* at(int partition) const { return message_.data + static_cast<unsigned>(partition) * message_.each(); }
  int count() const { return static_cast<int>(message_.each()); }
  int tag(int partition) const { return sides_.first_tag + partition; }
  bool test(Request& request) {
    int flag = 0;
    this->check(call_.test(&request, &flag, ignore()), "MPI_Test");
    return flag != 0 || !this->status().ok();
  }

  const Sides<Abi> sides_;
  const mpi::Functions<Abi>& call_;
  const Message message_;
};

/// BackEnd::single and threads: a blocking send of each partition, and a receive of each that is posted before.
template <class Abi>
class SendEnd final : public EndOf<Abi> {
  using Base = EndOf<Abi>;

 public:
  SendEnd(const Sides<Abi>& sides, const Message& message)
      : Base(sides, message), requests_(std::size_t(message.partitions)) {}

  void begin() override {
    for (int partition = 0; partition < this->message_.partitions && !this->sides_.sends; ++partition)
      this->check(this->call_.irecv(this->at(partition), this->count(), this->sides_.byte, this->sides_.peer,
                                    this->tag(partition), this->sides_.comm, &requests_[std::size_t(partition)]),
                  "MPI_Irecv");
  }
  int ready(int partition) override {
    return this->call_.send(this->at(partition), this->count(), this->sides_.byte, this->sides_.peer,
                            this->tag(partition), this->sides_.comm);
  }
  bool arrived(int partition) override { return this->test(requests_[std::size_t(partition)]); }
  void finish() override {}

 private:
  std::vector<typename Abi::Request> requests_;
};

/// BackEnd::persistent and persistent_partitions.
template <class Abi>
class PersistentEnd final : public EndOf<Abi> {
  using Base = EndOf<Abi>;

 public:
  PersistentEnd(const Sides<Abi>& sides, const Message& message)
      : Base(sides, message), requests_(std::size_t(message.partitions)) {
    for (int partition = 0; partition < message.partitions; ++partition) {
      auto* const request = &requests_[std::size_t(partition)];
      const auto make = sides.sends ? this->call_.send_init : nullptr;
      if (make != nullptr)
        this->check(make(this->at(partition), this->count(), sides.byte, sides.peer, this->tag(partition), sides.comm,
                         request),
                    "MPI_Send_init");
      else
        this->check(this->call_.recv_init(this->at(partition), this->count(), sides.byte, sides.peer,
                                          this->tag(partition), sides.comm, request),
                    "MPI_Recv_init");
    }
  }
  ~PersistentEnd() override {
    for (auto& request : requests_) (void)this->call_.request_free(&request);
  }

  void begin() override {
    for (auto& request : requests_)
      if (!this->sides_.sends) this->check(this->call_.start(&request), "MPI_Start");
  }
  int ready(int partition) override { return this->call_.start(&requests_[std::size_t(partition)]); }
  bool arrived(int partition) override { return this->test(requests_[std::size_t(partition)]); }
  void finish() override {
    for (auto& request : requests_)
      if (this->sides_.sends) this->check(this->call_.wait(&request, this->ignore()), "MPI_Wait");
  }

 private:
  std::vector<typename Abi::Request> requests_;
};

/// BackEnd::mpi: MPI's own. Requests are started one by one: Open MPI 5's MPI_Startall starts only the first.
template <class Abi>
class PartitionedEnd final : public EndOf<Abi> {
  using Base = EndOf<Abi>;

 public:
  PartitionedEnd(const Sides<Abi>& sides, const Message& message) : Base(sides, message) {
    if (sides.sends)
      this->check(this->call_.psend_init(message.data, message.partitions, this->count(), sides.byte, sides.peer,
                                         sides.first_tag, sides.comm, sides.info, &request_),
                  "MPI_Psend_init");
    else
      this->check(this->call_.precv_init(message.data, message.partitions, this->count(), sides.byte, sides.peer,
                                         sides.first_tag, sides.comm, sides.info, &request_),
                  "MPI_Precv_init");
  }
  ~PartitionedEnd() override { (void)this->call_.request_free(&request_); }

  void begin() override { this->check(this->call_.start(&request_), "MPI_Start"); }
  int ready(int partition) override { return this->call_.pready(partition, request_); }
  bool arrived(int partition) override {
    int flag = 0;
    this->check(this->call_.parrived(request_, partition, &flag), "MPI_Parrived");
    return flag != 0 || !this->status().ok();
  }
  void finish() override { this->check(this->call_.wait(&request_, this->ignore()), "MPI_Wait"); }

  /// For calls of several at once.
  typename Abi::Request& request() { return request_; }

 private:
  typename Abi::Request request_{};
};

/// Both back ends of one-sided calls: a window over the receiver's message and a word for each partition behind it.
template <class Abi>
class WindowEnd : public EndOf<Abi> {
  using Base = EndOf<Abi>;

 public:
  WindowEnd(const Sides<Abi>& sides, const Message& message) : Base(sides, message) {
    const auto bytes = sides.sends ? 0 : static_cast<shim::mpi::Aint>(message.bytes);
    this->check(this->call_.win_create(sides.sends ? nullptr : message.data, bytes, 1, sides.info, sides.comm, &win_),
                "MPI_Win_create");
  }
  ~WindowEnd() override { (void)this->call_.win_free(&win_); }

 protected:
  int put(int partition) {
    const auto place = static_cast<shim::mpi::Aint>(static_cast<unsigned>(partition) * this->message_.each());
    return this->call_.put(this->at(partition), this->count(), this->sides_.byte, this->sides_.peer, place,
                           this->count(), this->sides_.byte, win_);
  }

  typename Abi::Win win_{};
};

template <class Abi>
class StartedWindowEnd final : public WindowEnd<Abi> {
  using Base = WindowEnd<Abi>;

 public:
  StartedWindowEnd(const Sides<Abi>& sides, const Message& message) : Base(sides, message) {
    typename Abi::Group all{};
    const int peer = sides.peer;
    this->check(this->call_.comm_group(sides.comm, &all), "MPI_Comm_group");
    this->check(this->call_.group_incl(all, 1, &peer, &peer_), "MPI_Group_incl");
    this->check(this->call_.group_free(&all), "MPI_Group_free");
  }
  ~StartedWindowEnd() override { (void)this->call_.group_free(&peer_); }

  void begin() override {
    is_complete_ = false;
    if (this->sides_.sends)
      this->check(this->call_.win_start(peer_, 0, this->win_), "MPI_Win_start");
    else
      this->check(this->call_.win_post(peer_, 0, this->win_), "MPI_Win_post");
  }
  int ready(int partition) override { return this->put(partition); }
  bool arrived(int) override {
    if (is_complete_) return true;
    int flag = 0;
    this->check(this->call_.win_test(this->win_, &flag), "MPI_Win_test");
    return is_complete_ = flag != 0 || !this->status().ok();
  }
  void finish() override {
    if (this->sides_.sends) this->check(this->call_.win_complete(this->win_), "MPI_Win_complete");
  }

 private:
  typename Abi::Group peer_{};
  bool is_complete_ = false;  // the receiver's epoch, of all partitions at once
};

template <class Abi>
class FlushedWindowEnd final : public WindowEnd<Abi> {
  using Base = WindowEnd<Abi>;

 public:
  FlushedWindowEnd(const Sides<Abi>& sides, const Message& message)
      : Base(sides, message), words_(std::size_t(message.partitions)), sent_(std::size_t(message.partitions)) {
    const auto bytes = sides.sends ? 0 : static_cast<shim::mpi::Aint>(words_.size() * sizeof(std::uint64_t));
    this->check(
        this->call_.win_create(sides.sends ? nullptr : words_.data(), bytes, 1, sides.info, sides.comm, &said_),
        "MPI_Win_create");
    if (!sides.sends) return;
    this->check(this->call_.win_lock_all(0, this->win_), "MPI_Win_lock_all");
    this->check(this->call_.win_lock_all(0, said_), "MPI_Win_lock_all");
  }
  ~FlushedWindowEnd() override {
    if (this->sides_.sends) {
      (void)this->call_.win_unlock_all(said_);
      (void)this->call_.win_unlock_all(this->win_);
    }
    (void)this->call_.win_free(&said_);
  }

  void begin() override {
    ++round_;
    if (this->sides_.sends) return;
    this->check(this->call_.irecv(&done_, 0, this->sides_.byte, this->sides_.peer, Base::kDoneTag, this->sides_.comm,
                                  &ending_),
                "MPI_Irecv");
    is_done_ = false;
  }
  int ready(int partition) override {
    const int peer = this->sides_.peer;
    if (const int code = this->put(partition); code != 0) return code;
    if (const int code = this->call_.win_flush(peer, this->win_); code != 0) return code;
    std::uint64_t& word = sent_[std::size_t(partition)];
    word = round_;
    const auto place = static_cast<shim::mpi::Aint>(std::size_t(partition) * sizeof word);
    if (const int code = this->call_.put(&word, int(sizeof word), this->sides_.byte, peer, place, int(sizeof word),
                                         this->sides_.byte, said_);
        code != 0)
      return code;
    return this->call_.win_flush(peer, said_);
  }
  /// The receiver's MPI is given time: where one-sided calls are messages inside, nobody else receives them.
  bool arrived(int partition) override {
    if (!is_done_) is_done_ = this->test(ending_);
    std::atomic_ref word(words_[std::size_t(partition)]);
    return word.load(std::memory_order_acquire) == round_ || !this->status().ok();
  }
  void finish() override {
    if (this->sides_.sends)
      this->check(
          this->call_.send(&done_, 0, this->sides_.byte, this->sides_.peer, Base::kDoneTag, this->sides_.comm),
          "MPI_Send");
    else if (!is_done_)
      this->check(this->call_.wait(&ending_, this->ignore()), "MPI_Wait");
  }

 private:
  typename Abi::Win said_{};
  std::vector<std::uint64_t> words_, sent_;
  typename Abi::Request ending_{};
  std::uint64_t round_ = 0;
  int done_ = 0;
  bool is_done_ = true;
};

template <class Abi>
std::unique_ptr<End> make_end(BackEnd back_end, const Sides<Abi>& sides, const Message& message) {
  switch (back_end) {
    case BackEnd::single:
    case BackEnd::threads: return std::make_unique<SendEnd<Abi>>(sides, message);
    case BackEnd::persistent:
    case BackEnd::persistent_partitions: return std::make_unique<PersistentEnd<Abi>>(sides, message);
    case BackEnd::mpi: return std::make_unique<PartitionedEnd<Abi>>(sides, message);
    case BackEnd::rma_flush: return std::make_unique<FlushedWindowEnd<Abi>>(sides, message);
    case BackEnd::rma_pscw: break;
  }
  return std::make_unique<StartedWindowEnd<Abi>>(sides, message);
}

}  // namespace sennit::bench::partitioned
