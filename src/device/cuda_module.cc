#include "device/cuda_module.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <system_error>

#include <fmt/format.h>

namespace sennit::device {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFile = "libsennit-cuda.so";

/// Returns the file of the program or library that this code was linked into.
fs::path own_file() {
  std::error_code error;
  Dl_info info{};
  void* map = nullptr;
  const auto* const here = reinterpret_cast<const void*>(&own_file);
  const bool known = ::dladdr1(here, &info, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr;
  // The loader knows the program itself by no name; dladdr() gives what it was called as, which need not be a path.
  const char* const name = known ? static_cast<const link_map*>(map)->l_name : "";
  return *name == '\0' ? fs::read_symlink("/proc/self/exe", error) : fs::weakly_canonical(name, error);
}

/// Libraries lie beside it; programs in the folder beside its own, and those of tests two further down.
std::vector<fs::path> places() {
  const fs::path folder = own_file().parent_path();
  return {folder, folder.parent_path() / "lib", folder.parent_path().parent_path() / "lib"};
}

}  // namespace

Result<const CudaModule*> cuda_module(const std::vector<fs::path>& places) {
  for (const fs::path& place : places) {
    std::error_code error;
    const fs::path file = place / kFile;
    if (!fs::exists(file, error)) continue;
    const auto broken = [&](std::string_view why) {
      return Status(Code::corrupt, fmt::format("the cuda executor cannot be loaded: {}", why), file.string(),
                    "Build or install sennit again");
    };
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) return broken(::dlerror());
    const auto* const module = static_cast<const CudaModule*>(::dlsym(library, "sennit_cuda_module"));
    if (module == nullptr) return broken("it is no library of sennit's");
    if (std::strcmp(module->version, SENNIT_VERSION) != 0)
      return broken(fmt::format("it is of sennit {}, the rest of {}", module->version, SENNIT_VERSION));
    return module;
  }
  return Status(Code::unsupported, "this build of sennit has no cuda executor", {},
                "Install a CUDA toolkit (12.5 or newer), put nvcc on PATH and build again");
}

Result<const CudaModule*> cuda_module() {
  static const Result<const CudaModule*> opened = cuda_module(places());
  return opened;
}

Result<std::shared_ptr<Executor>> open_cuda_executor(int own_thread_of) {
  const auto module = cuda_module();
  return module ? (*module)->open(own_thread_of) : module.status();
}

}  // namespace sennit::device
