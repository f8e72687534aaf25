#include "bench/nccl/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

namespace sennit::bench {

namespace {

template <class Function>
bool look_up(void* handle, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, symbol));
  return function != nullptr;
}

/// Returns whether all functions of NCCL 2.7 are there.
bool look_up_all(void* handle, NcclLibrary& library) {
  if (!(look_up(handle, "ncclGetVersion", library.version) && look_up(handle, "ncclGetUniqueId", library.unique_id) &&
        look_up(handle, "ncclCommInitRank", library.init) && look_up(handle, "ncclCommAbort", library.abort) &&
        look_up(handle, "ncclSend", library.send) && look_up(handle, "ncclRecv", library.receive) &&
        look_up(handle, "ncclAllReduce", library.all_reduce) &&
        look_up(handle, "ncclReduceScatter", library.reduce_scatter) &&
        look_up(handle, "ncclAllGather", library.all_gather) && look_up(handle, "ncclReduce", library.reduce) &&
        look_up(handle, "ncclBroadcast", library.broadcast) &&
        look_up(handle, "ncclGroupStart", library.group_start) &&
        look_up(handle, "ncclGroupEnd", library.group_end) && look_up(handle, "ncclGetErrorString", library.text)))
    return false;
  (void)look_up(handle, "ncclAlltoAll", library.all_to_all);
  (void)look_up(handle, "ncclGather", library.gather);
  (void)look_up(handle, "ncclScatter", library.scatter);
  (void)(look_up(handle, "ncclMemAlloc", library.allocate) && look_up(handle, "ncclMemFree", library.free) &&
         look_up(handle, "ncclCommWindowRegister", library.open_window));
  return true;
}

}  // namespace

Result<NcclLibrary> open_nccl_library(const std::string& given) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code ignored;
  if (!given.empty()) {
    names.push_back(fs::is_directory(given, ignored) ? (fs::path(given) / "libnccl.so.2").string() : given);
  } else {
    names.push_back("libnccl.so.2");
    if (const char* home = std::getenv("NCCL_HOME"); home != nullptr && *home != '\0')
      names.push_back((fs::path(home) / "lib" / "libnccl.so.2").string());
  }
  std::string why;
  for (const std::string& name : names) {
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* error = ::dlerror();
      why = error != nullptr ? error : "cannot be opened";
      continue;
    }
    NcclLibrary library;
    if (look_up_all(handle, library)) return library;
    why = name + " lacks a function of NCCL 2.7";
  }
  return Status(Code::not_found, why);
}

NcclLibrary as_programs_reach(const NcclLibrary& own) {
  NcclLibrary reached;
  return look_up_all(RTLD_DEFAULT, reached) ? reached : own;
}

}  // namespace sennit::bench
