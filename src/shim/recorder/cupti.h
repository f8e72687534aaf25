// The recorder uses this of CUPTI, NVIDIA's library for profilers, which is opened at run time and never linked.
//
// Layouts are those of cupti_activity.h, checked against the headers of CUDA 13.0: records grow at their ends from
// version to version, and the fields named here stand where they stood in CUDA 11.6.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace sennit::shim::recorder {

/// Functions of CUPTI. They return 0, or an error's number.
struct Cupti {
  using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
  using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                   std::size_t valid);
  int (*subscribe)(void** subscriber, void* callback, void* data) = nullptr;
  int (*unsubscribe)(void* subscriber) = nullptr;
  int (*register_callbacks)(BufferRequested, BufferCompleted) = nullptr;
  int (*enable)(int kind) = nullptr;
  int (*disable)(int kind) = nullptr;
  int (*flush_all)(std::uint32_t flag) = nullptr;
  int (*next_record)(std::uint8_t* buffer, std::size_t valid, void** record) = nullptr;
  int (*push)(int kind, std::uint64_t id) = nullptr;
  int (*pop)(int kind, std::uint64_t* id) = nullptr;
  int (*timestamp)(std::uint64_t* ns) = nullptr;
  int (*flush_period)(std::uint32_t ms) = nullptr;  ///< null where CUPTI is too old; so are the next two
  int (*enable_callback)(std::uint32_t enable, void* subscriber, int domain, std::uint32_t id) = nullptr;
  int (*graph_node_id)(void* node, std::uint64_t* id) = nullptr;

  /// The one that the program has loaded, else one that the loader finds, or the toolkit's. Errors: not_found.
  static Result<Cupti> of_process();
};

/// Kinds of records, CUpti_ActivityKind.
enum class Activity : std::uint32_t {
  memcpy = 1,
  memset = 2,
  driver = 4,
  runtime = 5,
  kernel = 10,  // CONCURRENT_KERNEL: kernels stay as they run
  memcpy_peer = 22,
  external_correlation = 39,
};

/// CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2. PyTorch's profiler has the other two.
inline constexpr int kCorrelationKind = 5;

inline constexpr int kMultipleSubscribers = 39, kInsufficientPrivileges = 35, kVirtualPrivileges = 40;
inline constexpr std::uint32_t kFlushForced = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

/// CUPTI_CB_DOMAIN_RESOURCE, and its CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED and _CLONED.
inline constexpr int kResourceDomain = 3;
inline constexpr std::uint32_t kGraphNodeCreated = 13, kGraphNodeCloned = 20;

/// CUpti_ResourceData, and the beginning of the CUpti_GraphData that it leads to there.
struct ResourceData {
  void *context, *handle;
  const void* descriptor;
};
struct GraphData {
  void *graph, *original_graph, *node, *original_node;
};

/// CUpti_ActivityExternalCorrelation.
struct CorrelationRecord {
  std::uint32_t kind, external_kind;
  std::uint64_t external_id;
  std::uint32_t correlation, reserved;
};
static_assert(sizeof(CorrelationRecord) == 24);

/// The beginning of CUpti_ActivityKernel6 and later.
struct KernelRecord {
  std::uint32_t kind, unused[3];
  std::uint64_t begin, end, completed;  ///< ns; `end` is 0 while it runs
  std::uint32_t device, context, stream, grid[3], block[3], memory[4], correlation;
  std::uint64_t grid_id, name, reserved, queued, submitted, launch;
  std::uint64_t graph_node;  ///< 0: it is of no graph
};
static_assert(offsetof(KernelRecord, begin) == 16 && offsetof(KernelRecord, device) == 40 &&
              offsetof(KernelRecord, correlation) == 92 && offsetof(KernelRecord, graph_node) == 144);

/// The beginning of CUpti_ActivityMemcpy5, CUpti_ActivityMemset4 and later.
struct CopyRecord {
  std::uint32_t kind, unused;
  std::uint64_t bytes, begin, end;
  std::uint32_t device, context, stream;
  std::uint32_t correlation;
  std::uint64_t more[2];
  std::uint64_t graph_node;
};
static_assert(offsetof(CopyRecord, begin) == 16 && offsetof(CopyRecord, device) == 32 &&
              offsetof(CopyRecord, correlation) == 44 && offsetof(CopyRecord, graph_node) == 64);

/// The beginning of CUpti_ActivityMemcpyPtoP4 and later.
struct PeerCopyRecord {
  std::uint32_t kind, unused;
  std::uint64_t bytes, begin, end;
  std::uint32_t device, context, stream, peers[4];
  std::uint32_t correlation;
  std::uint64_t reserved, graph_node;
};
static_assert(offsetof(PeerCopyRecord, begin) == 16 && offsetof(PeerCopyRecord, device) == 32 &&
              offsetof(PeerCopyRecord, correlation) == 60 && offsetof(PeerCopyRecord, graph_node) == 72);

}  // namespace sennit::shim::recorder
