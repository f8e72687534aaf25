#include "doctor/situation.h"

#include <system_error>

namespace sennit::doctor {

namespace {

#ifdef SENNIT_DOCTOR_TOOLKIT
constexpr const char* kToolkit = SENNIT_DOCTOR_TOOLKIT;
#else
constexpr const char* kToolkit = "";
#endif

}  // namespace

Situation read_situation(const std::string& executor, const std::filesystem::path& root) {
  Situation situation;
  situation.executor = executor;
  situation.toolkit = kToolkit;
  situation.cuda_build = !situation.toolkit.empty();
  for (const char* trace : {"proc/driver/nvidia/version", "dev/nvidia0", "dev/nvidiactl", "dev/dxg"}) {
    std::error_code ignored;
    situation.gpu_traces = situation.gpu_traces || std::filesystem::exists(root / trace, ignored);
  }
  return situation;
}

}  // namespace sennit::doctor
