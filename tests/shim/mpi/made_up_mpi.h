// An MPI of made-up types and communicators, for what decides over one.
#pragma once

#include <map>
#include <vector>

#include "shim/mpi/call/call.h"

namespace sennit::shim::mpi {

class MadeUpMpi : public Mpi {
 public:
  static constexpr Handle kComm = 100, kFloat = 1, kDouble = 2, kFourFloats = 3, kGaps = 4, kByte = 5, kColumn = 6,
                          kSum = 11, kMine = 12;

  CommShape comm{0, 4, false, 0};
  bool refuses_bytes = false;  ///< in reductions, as MPICH does
  Neighbours around{2, 3};
  std::map<Handle, Shape> shapes{{kFloat, {4, 0, 4, 0, 4}},
                                 {kDouble, {8, 0, 8, 0, 8}},
                                 {kFourFloats, {16, 0, 16, 0, 16}},
                                 {kGaps, {8, 0, 16, 4, 8}},  // 8 bytes of data from byte 4 on, every 16 bytes
                                 {kByte, {1, 0, 1, 0, 1}},
                                 // A column of ten numbers of a matrix, one every 16 KiB.
                                 {kColumn, {40, 0, 9 * 16384 + 4, 0, 9 * 16384 + 4}}};
  std::map<Handle, Uniform> uniforms{{kFloat, {*parse_meaning("float32"), 1}},
                                     {kDouble, {*parse_meaning("float64"), 1}},
                                     {kFourFloats, {*parse_meaning("float32"), 4, true}},
                                     {kByte, {*parse_meaning("uint8"), 1}}};

  Handle comm_world() const override { return kComm; }
  Handle comm_null() const override { return 99; }
  Handle request_null() const override { return 98; }
  int any_source() const override { return -1; }
  int any_tag() const override { return -2; }
  bool is_in_place(const void* address) const override { return address == in_place(); }
  static void* in_place() { return reinterpret_cast<void*>(1); }
  bool is_inter_root(int root) const override { return root == -4; }
  int err_other() const override { return 16; }
  int err_no_memory() const override { return 39; }
  int err_truncate() const override { return 15; }
  int err_lost() const override { return 16; }
  bool tells_of_deaths() const override { return false; }
  int shape(Handle, CommShape& shape) const override {
    shape = comm;
    return 0;
  }
  std::string name(Handle) const override { return "made up"; }
  int neighbours(Handle, Neighbours& neighbours) const override {
    neighbours = around;
    return 0;
  }
  int world_ranks(Handle, std::vector<int>& ranks) const override {
    for (int rank = 0; rank < comm.size; ++rank) ranks.push_back(rank);
    return 0;
  }
  int all_world_ranks(Handle handle, std::vector<int>& ranks) const override { return world_ranks(handle, ranks); }
  int world_ranks_of_group(Handle, std::vector<int>&) const override { return 8; }
  int world_ranks_of(Shared, Handle, std::vector<int>&) const override { return 8; }
  int shape(Handle type, Shape& shape) const override {
    const auto found = shapes.find(type);
    if (found == shapes.end()) return 3;
    shape = found->second;
    return 0;
  }
  std::optional<Uniform> uniform(Handle type) const override {
    const auto found = uniforms.find(type);
    return found != uniforms.end() ? std::optional(found->second) : std::nullopt;
  }
  std::optional<stage::Strided> strided(Handle type) const override {
    if (type == kGaps) return stage::Strided{4, 8, 8, 1};
    if (type == kColumn) return stage::Strided{0, 4, 16384, 10};
    const auto found = uniforms.find(type);
    if (found == uniforms.end()) return std::nullopt;
    const std::int64_t bytes = found->second.count * bytes_of(found->second.meaning);
    return stage::Strided{0, bytes, bytes, 1};
  }
  std::map<Handle, device::Operator> operators{{kSum, device::Operator::sum}};  // kMine: the program's own
  int begin_placeholder(Handle&) const override { return 16; }
  int end_placeholder(Handle) const override { return 16; }
  Handle keep(Handle type, std::shared_ptr<void>&) const override { return type; }
  std::optional<device::Operator> op(Handle op) const override {
    const auto found = operators.find(op);
    return found != operators.end() ? std::optional(found->second) : std::nullopt;
  }
  std::optional<Numbers> numbers(Handle type, Handle op) const override {
    const auto made_of = uniform(type);
    const auto known = this->op(op);
    if (refuses_bytes && type == kByte) return std::nullopt;
    if (!made_of || !known || !device::supports(made_of->meaning.type, *known)) return std::nullopt;
    return Numbers{made_of->meaning.type, made_of->meaning.count};
  }
  Handle type_of(device::Type type) const override {
    for (const auto& [handle, uniform] : uniforms)
      if (uniform.count == 1 && uniform.meaning.type == type) return handle;
    return kNoHandle;
  }
  Handle op_of(device::Operator op) const override {
    for (const auto& [handle, known] : operators)
      if (known == op) return handle;
    return kNoHandle;
  }
  // Nothing that decides alone asks other ranks.
  int all_gather(Handle, const void*, void*, int) const override { return 16; }
  int all_gather(Handle, const void*, int, void*, std::span<const int>, std::span<const int>) const override {
    return 16;
  }
  int begin_all_gather(Handle, const void*, void*, int, Handle&) const override { return 16; }
  int done(Handle&, bool&) const override { return 16; }
  bool revoked(Handle) const override { return false; }
  int begin_barrier(Handle, Handle&) const override { return 16; }
  int split(Handle, int, int, Handle&) const override { return 16; }
  int free(Handle&) const override { return 16; }
  int all_gather_rows(Handle, void*, int) const override { return 16; }
  int gather_rows(Handle, void*, int, int, int) const override { return 16; }
  int scatter_rows(Handle, void*, int, int, int) const override { return 16; }
  int all_to_all(Handle, const void*, void*, std::span<const int>, std::span<const int>) const override { return 16; }
  int swap(Handle, const void*, int, int, void*, int, int) const override { return 16; }
  int all_reduce(Handle, void*, int, Handle, Handle) const override { return 16; }
  int reduce(Handle, void*, int, Handle, Handle, int, bool) const override { return 16; }
  int broadcast(Handle, void*, int, int) const override { return 16; }
  void begin_to_check() override {}
  void end_checking() override {}
  int begin_send(Handle, const void*, int, int, int, Handle&) const override { return 16; }
  int begin_receive(Handle, void*, int, int, int, Handle&) const override { return 16; }
  int cancel(Handle) const override { return 16; }
  int look_at(Handle, bool, bool&, Received&) const override { return 16; }
  int free_request(Handle) const override { return 16; }
  void progress() const override {}
  int begin_flush(Handle&) const override { return 8; }
  int pack(const void*, Handle, std::int64_t, void*) const override { return 16; }
  int unpack(const void*, std::int64_t, void*, Handle) const override { return 16; }
  int fail(Handle, int code) const override { return code; }
};

inline Elements run(std::int64_t count, Handle type, int blocks = 1) {
  Elements elements;
  elements.blocks = blocks;
  elements.count = count;
  elements.type = type;
  return elements;
}

}  // namespace sennit::shim::mpi
