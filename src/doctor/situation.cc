#include "doctor/situation.h"

#include <system_error>

#include "device/cuda_module.h"

namespace sennit::doctor {

Situation read_situation(const std::string& executor, const std::filesystem::path& root) {
  Situation situation;
  situation.executor = executor;
  const auto module = device::cuda_module();
  situation.cuda_build = module.ok();
  if (module.ok())
    situation.toolkit = (*module)->toolkit;
  else if (module.status().code() == Code::corrupt)
    situation.cuda_trouble = module.status().text();
  for (const char* trace : {"proc/driver/nvidia/version", "dev/nvidia0", "dev/nvidiactl", "dev/dxg"}) {
    std::error_code ignored;
    situation.gpu_traces = situation.gpu_traces || std::filesystem::exists(root / trace, ignored);
  }
  return situation;
}

}  // namespace sennit::doctor
