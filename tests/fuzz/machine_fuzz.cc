// libFuzzer target for the readers of machine documents and NCCL topologies. Build with clang:
//   cmake -S . -B build/fuzz -DCMAKE_CXX_COMPILER=clang++ -DSENNIT_CUDA=OFF -DSENNIT_FUZZ=ON
//   cmake --build build/fuzz --target machine_fuzz
//   build/fuzz/bin/machine_fuzz CORPUS machines tests/machine/data
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "machine/document.h"
#include "machine/nccl_xml.h"
#include "machine/validate.h"

namespace {

void check(const sennit::Result<sennit::machine::Machine>& machine) {
  if (!machine.ok()) {
    if (machine.status().text().empty()) std::abort();
    return;
  }
  if (!sennit::machine::validate(*machine).ok()) std::abort();
  const std::string written = sennit::machine::to_json(*machine).dump();
  const sennit::Result<sennit::Json> read = sennit::parse_json(written, "again");
  if (!read.ok() || !sennit::machine::from_json(*read, "again").ok()) std::abort();
  // A ring of switches cannot be written; everything else must come back.
  if (const auto xml = sennit::machine::to_nccl_xml(*machine); !xml.ok() && xml.status().text().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(sennit::machine::from_nccl_xml(text, "fuzz"));
  if (const sennit::Result<sennit::Json> json = sennit::parse_json(text, "fuzz"); json.ok())
    check(sennit::machine::from_json(*json, "fuzz"));
  return 0;
}
