// Writes down the primitives of device/block.h instead of doing them. No byte moves and nothing waits: the program
// takes the way on which every wait ends well. What a block keeps for itself (load, store, shared, each) is real
// memory, so that counts go on from launch to launch as they do elsewhere.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "device/own_memory.h"
#include "device/trace/recorder.h"

namespace sennit::device {

class TraceBlock : public OwnMemory {
 public:
  TraceBlock(Recorder& recorder, std::uint32_t strand, unsigned index, unsigned count)
      : recorder_(recorder), strand_(strand), index_(index), count_(count) {}

  unsigned index() const { return index_; }
  unsigned count() const { return count_; }

  void copy(void* dst, const void* src, std::uint64_t bytes) {
    recorder_.next_group(strand_);
    move({dst, src, bytes});
  }
  template <class Message>
  void copy_each(unsigned count, Message message) {
    recorder_.next_group(strand_);
    for (unsigned k = 0; k < count; ++k) move(message(k));
  }

  bool sound() const { return true; }

  void signal(Word* word, Word value) {
    recorder_.next_group(strand_);
    tell(Act::signal, word, value);
  }
  void post(Word* word, Word value) {
    recorder_.next_group(strand_);
    tell(Act::post, word, value);
  }
  bool await(Word* word, Word value, Word wait_id, int peer = -1) {
    recorder_.next_group(strand_);
    ask({word, value, wait_id, peer});
    return true;
  }
  bool await_for(Word* word, Word value, std::uint64_t) { return await(word, value, 0); }
  /// Answers as to the block that meets first.
  bool meet(Word* mine, Word value, Word*) {
    post(mine, value);
    return false;
  }
  bool equals(Word*, Word) { return true; }

  template <class Ask>
  void signal_each(unsigned count, Ask ask_for) {
    recorder_.next_group(strand_);
    for (unsigned i = 0; i < count; ++i)
      if (const Signal one = ask_for(i); one.word != nullptr) tell(Act::signal, one.word, one.value);
  }
  template <class Ask>
  bool await_each(unsigned count, Ask ask_for) {
    recorder_.next_group(strand_);
    for (unsigned i = 0; i < count; ++i)
      if (const Wait one = ask_for(i); one.word != nullptr) ask(one);
    return true;
  }

  /// Answers the waits of one wait_id, another one than the last time where there is one: as a rank would go on that
  /// finds what it waits for.
  template <class Ask>
  std::uint32_t await_any(unsigned count, Ask ask_for) {
    recorder_.next_group(strand_);
    Wait chosen;
    for (unsigned i = 0; i < count; ++i)
      if (const Wait one = ask_for(i);
          one.word != nullptr && (chosen.word == nullptr || chosen.wait_id == last_site_))
        chosen = one;
    if (chosen.word == nullptr) return 0;
    last_site_ = chosen.wait_id;
    std::uint32_t over = 0;
    for (unsigned i = 0; i < count; ++i)
      if (const Wait one = ask_for(i); one.word != nullptr && one.wait_id == last_site_) {
        ask(one);
        over |= std::uint32_t{1} << i;
      }
    return over;
  }

  template <class Source, class Destination>
  void reduce(const Reduce& what, Source source, Destination destination, const Reduction&, Stage stage) {
    if (what.bytes == 0) return;
    recorder_.next_group(strand_);
    at_stage(recorder_.add(strand_, Act::move), stage).bytes = what.bytes;
    for (unsigned k = 0; k < what.sources; ++k) recorder_.add_source(strand_, source(k));
    for (unsigned k = 0; k < what.destinations; ++k) recorder_.add_destination(strand_, destination(k));
  }

  template <class Message>
  void send_packets(unsigned count, Message message, PacketUse use) {
    recorder_.next_group(strand_);
    for (unsigned k = 0; k < count; ++k) {
      const PacketSend send = message(k);
      packets(send.bytes, use.tag, 0, -1);
      if (send.bytes != 0) recorder_.add_source(strand_, send.from);
      recorder_.add_destination(strand_, send.to + use.offset, true);
    }
  }
  template <class Message>
  bool receive_packets(unsigned count, Message message, PacketUse use, Word wait_id) {
    recorder_.next_group(strand_);
    for (unsigned k = 0; k < count; ++k) {
      const PacketReceive receive = message(k);
      packets(receive.bytes, use.tag, wait_id, receive.peer);
      recorder_.add_source(strand_, receive.from + use.offset, true);
      if (receive.bytes != 0) recorder_.add_destination(strand_, receive.to);
    }
    return true;
  }
  /// Returns false: no peer is there to send a message that may not come.
  template <class Message>
  bool await_packets_for(const Packet*, Word, std::uint64_t, Message&) {
    recorder_.next_group(strand_);
    return false;
  }
  template <class Source, class Taker>
  bool reduce_packets(const PacketReduce& reduce, Source source, Taker taker, PacketUse use, Word wait_id,
                      const Reduction&, Stage stage) {
    recorder_.next_group(strand_);
    at_stage(packets(reduce.bytes, use.tag, wait_id, -1), stage);
    for (unsigned k = 0; k < reduce.sources; ++k)
      if (const PacketSource one = source(k); one.from != nullptr)
        recorder_.add_source(strand_, one.from + use.offset, true);
      else if (reduce.bytes != 0)
        recorder_.add_source(strand_, reduce.own);
    if (reduce.bytes != 0) recorder_.add_destination(strand_, reduce.result);
    for (unsigned k = 0; k < reduce.takers; ++k) recorder_.add_destination(strand_, taker(k) + use.offset, true);
    return true;
  }

 private:
  void move(const Copy& copy) {
    if (copy.bytes == 0) return;
    recorder_.add(strand_, Act::move).bytes = copy.bytes;
    recorder_.add_source(strand_, copy.from);
    recorder_.add_destination(strand_, copy.to);
  }
  void tell(Act act, const Word* word, Word value) {
    recorder_.add(strand_, act).value = value;
    recorder_.add_destination(strand_, word);
  }
  void ask(const Wait& wait) {
    Step& step = recorder_.add(strand_, Act::await);
    step.value = wait.value;
    step.wait_id = wait.wait_id;
    step.peer = wait.peer;
    recorder_.add_source(strand_, wait.word);
  }
  static Step& at_stage(Step& step, Stage stage) {
    step.reduces = true;
    step.raw = static_cast<std::uint8_t>(stage.raw);
    step.last = stage.last;
    return step;
  }
  Step& packets(std::uint64_t bytes, Word tag, Word wait_id, int peer) {
    Step& step = recorder_.add(strand_, Act::move);
    step.bytes = bytes;
    step.value = tag;
    step.wait_id = wait_id;
    step.peer = peer;
    return step;
  }

  Recorder& recorder_;
  const std::uint32_t strand_;
  const unsigned index_, count_;
  Word last_site_ = 0;  // of await_any()
};

}  // namespace sennit::device
