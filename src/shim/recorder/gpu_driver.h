// The recorder calls these functions of CUDA's driver, which it finds where the program has loaded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sennit::shim::recorder {

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  void* function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared_bytes = 0;
  void** parameters = nullptr;
  void **extra = nullptr, *kernel = nullptr, *context = nullptr;
};
static_assert(sizeof(KernelNode) == 72);

/// Functions of the CUDA driver, whose ABI is frozen. They return 0, or an error's number.
struct GpuDriver {
  int (*current)(void** context) = nullptr;
  int (*context_of)(void* stream, void** context) = nullptr;
  int (*push)(void* context) = nullptr;
  int (*pop)(void** context) = nullptr;
  int (*create)(void** event, unsigned flags) = nullptr;
  int (*record)(void* event, void* stream) = nullptr;
  int (*query)(void* event) = nullptr;
  int (*elapsed)(float* milliseconds, void* begin, void* end) = nullptr;
  int (*stream_query)(void* stream) = nullptr;
  int (*capturing)(void* stream, int* status) = nullptr;
  int (*exchange_mode)(int* mode) = nullptr;
  int (*context_id)(void* context, unsigned long long* id) = nullptr;  ///< null where the driver is too old

  /// For graphs; all null where the driver lacks one of them.
  struct Graphs {
    int (*capture_info)(void* stream, int* status, unsigned long long* id, void** graph, const void* dependencies,
                        std::size_t* count) = nullptr;
    int (*load)(void** module, const void* image) = nullptr;
    int (*function)(void** function, void* module, const char* name) = nullptr;
    int (*register_memory)(void* at, std::size_t bytes, unsigned flags) = nullptr;
    int (*device_pointer)(unsigned long long* device, void* host, unsigned flags) = nullptr;
    int (*add_kernel)(void** node, void* graph, const void* dependencies, std::size_t count,
                      const KernelNode* kernel) = nullptr;
  };
  Graphs graphs;

  /// Returns a number that no other context ever has; 0 for one that is gone, and where the driver knows no ids.
  unsigned long long id_of(void* context) const {
    unsigned long long id = 0;
    return context_id != nullptr && context_id(context, &id) == 0 ? id : 0;
  }
  /// That of this process, if the program has loaded it.
  static std::optional<GpuDriver> of_process();
};

/// What captures a stream into a CUDA graph.
struct Capture {
  enum class State : std::uint8_t { unknown, none, active, broken };
  State state = State::unknown;  ///< unknown: the driver does not say, as of the legacy stream beside a capture
  unsigned long long id = 0;     ///< of an active one
  void* graph = nullptr;
};

/// One call of the driver, which breaks no capture.
Capture capture_of(const GpuDriver& driver, void* stream);

/// While it lives, this thread's calls break no capture that is under way, on whatever stream: events that are
/// queried would.
class WithoutCapture {
 public:
  explicit WithoutCapture(const GpuDriver& driver) : driver_(driver) {
    changed_ = driver_.exchange_mode(&mode_) == 0;
  }
  ~WithoutCapture() {
    if (changed_) (void)driver_.exchange_mode(&mode_);
  }
  WithoutCapture(const WithoutCapture&) = delete;
  WithoutCapture& operator=(const WithoutCapture&) = delete;

 private:
  const GpuDriver& driver_;
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
  bool changed_;
};

/// While it lives, what the thread puts into graphs is the recorder's, and neither the program's nor a call's.
class OwnWork {
 public:
  OwnWork() { ++depth_; }
  ~OwnWork() { --depth_; }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
  static bool is_there() { return depth_ != 0; }

 private:
  static inline thread_local constinit int depth_ = 0;
};

/// While it lives, the context is the thread's.
class InContext {
 public:
  InContext(const GpuDriver& driver, void* context) : driver_(driver) {
    void* current = nullptr;
    pushed_ = driver.current(&current) == 0 && current != context && driver.push(context) == 0;
  }
  ~InContext() {
    void* context = nullptr;
    if (pushed_) (void)driver_.pop(&context);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const GpuDriver& driver_;
  bool pushed_;
};

}  // namespace sennit::shim::recorder
