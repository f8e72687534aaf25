// Opens libsennit-cuda.so, which has the cuda executor and all kernels: one file for every program and library of an
// installation, and for none where CUDA was left out.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/status.h"
#include "device/executor.h"

namespace sennit::device {

/// What libsennit-cuda.so exports as `sennit_cuda_module`. Types of C++ cross this border, so both sides have to be
/// of one build; `version` comes first, to be looked at before all else.
struct CudaModule {
  const char* version;        ///< of sennit: "0.1.0"
  const char* toolkit;        ///< CUDA's version at build time: "13.0.88"
  const char* architectures;  ///< that kernels were compiled for, as CMake names them: "80-real 90"
  Result<std::shared_ptr<Executor>> (*open)(int own_thread_of);  ///< see open_cuda_executor()
};

/// Opens it once for the process, in which it stays. Errors: unsupported where the installation has no such file;
/// corrupt where it cannot be loaded, or is of another build.
Result<const CudaModule*> cuda_module();

/// The same with the file among `places`, anew at each call: for tests.
Result<const CudaModule*> cuda_module(const std::vector<std::filesystem::path>& places);

}  // namespace sennit::device
