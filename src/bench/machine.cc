// sennit-machine writes this machine and others as documents; it is the program behind `sennit topo`.
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "bench/machine_measure.h"
#include "bench/program.h"
#include "device/cuda_module.h"
#include "machine/cache.h"
#include "machine/catalogue.h"
#include "machine/discover.h"
#include "machine/document.h"
#include "machine/nccl_xml.h"

namespace sennit::bench {

namespace {

void add_executor(CLI::App& command, std::string& executor) {
  command.add_option("--executor", executor, "auto (GPUs where they answer), cuda or host")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
}

void add_discover(Program& program, std::string& executor) {
  CLI::App& command =
      program.command("discover", "Describe this machine without measuring it", [&]() -> Result<Exit> {
        const Result<machine::Machine> found = machine::this_machine(executor);
        if (!found.ok()) return found.status();
        print(machine::to_json(*found));
        return Exit::ok;
      });
  add_executor(command, executor);
}

void add_cached(Program& program, std::string& executor) {
  CLI::App& command = program.command("cached", "Show what was measured here earlier", [&]() -> Result<Exit> {
    const Result<machine::Machine> found = machine::this_machine(executor);
    if (!found.ok()) return found.status();
    const Result<machine::Machine> kept = machine::load_cached(found->fingerprint);
    if (!kept.ok()) return kept.status();
    print(machine::to_json(*kept));
    return Exit::ok;
  });
  add_executor(command, executor);
}

void add_show(Program& program, std::string& which) {
  CLI::App& command = program.command("show", "Validate a machine and print it in full", [&]() -> Result<Exit> {
    const Result<machine::Machine> loaded = machine::load(which);
    if (!loaded.ok()) return of_arguments(loaded.status());
    print(machine::to_json(*loaded));
    return Exit::ok;
  });
  command.add_option("machine", which, "Name of a shipped machine, or a file")->required();
}

void add_build(Program& program) {
  program.command("build", "Say what CUDA kernels are installed", []() -> Result<Exit> {
    const auto module = device::cuda_module();
    if (!module && module.status().code() != Code::unsupported) return module.status();
    print({{"cuda", module ? (*module)->toolkit : ""}, {"architectures", module ? (*module)->architectures : ""}});
    return Exit::ok;
  });
}

void add_list(Program& program) {
  program.command("list", "Name the machines that come with sennit", []() -> Result<Exit> {
    const Result<std::vector<std::filesystem::path>> files = machine::shipped_files();
    if (!files.ok()) return files.status();
    Json machines = Json::array();
    for (const std::filesystem::path& file : *files) {
      const Result<machine::Machine> loaded = machine::load(file.string());
      if (!loaded.ok()) return loaded.status();
      machines.push_back({{"name", file.stem().string()}, {"description", loaded->description}});
    }
    print({{"machines", machines}});
    return Exit::ok;
  });
}

void add_convert(Program& program, std::string& from_nccl, std::string& to_nccl) {
  CLI::App& command =
      program.command("convert", "Turn an NCCL topology dump into a machine, or back", [&]() -> Result<Exit> {
        if (!from_nccl.empty()) {
          const Result<machine::Machine> read = machine::load_nccl_xml(from_nccl);
          if (!read.ok()) return of_arguments(read.status());
          print(machine::to_json(*read));
          return Exit::ok;
        }
        const Result<machine::Machine> loaded = machine::load(to_nccl);
        if (!loaded.ok()) return of_arguments(loaded.status());
        const Result<std::string> text = machine::to_nccl_xml(*loaded);
        if (!text.ok()) return text.status();
        fmt::print("{}", *text);
        return Exit::ok;
      });
  CLI::Option_group* direction = command.add_option_group("direction");
  direction->add_option("--from-nccl", from_nccl, "File that NCCL_TOPO_DUMP_FILE wrote");
  direction->add_option("--to-nccl", to_nccl, "Name of a shipped machine, or a file");
  direction->require_option(1);
}

int run_machine(int argc, const char* const* argv) {
  Program program("sennit-machine", "Machines as documents: devices, links, and what they deliver.",
                  "  sennit-machine discover\n"
                  "  sennit-machine measure --progress\n"
                  "  sennit-machine show hgx-h200-4\n"
                  "  sennit-machine convert --from-nccl topology.xml > mine.json");
  std::string executor, which, from_nccl, to_nccl;
  add_discover(program, executor);
  MeasureOptions measure;
  add_measure(program, measure);
  add_cached(program, executor);
  add_show(program, which);
  add_list(program);
  add_build(program);
  add_convert(program, from_nccl, to_nccl);
  return program.run(argc, argv);
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::run_machine(argc, argv);
}
