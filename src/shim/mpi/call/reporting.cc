#include "shim/mpi/call/reporting.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/log.h"

namespace sennit::shim::mpi {

void Reporting::count(const Call& call, std::uint64_t bytes, std::string_view how, std::chrono::nanoseconds took) {
  switches_.listener.tell(how);
  if (!switches_.report) return;
  const std::chrono::duration<double, std::micro> microseconds = took;
  report_.count(name_of(call), bytes, how, microseconds.count());
}

void Reporting::explain_way(std::string_view name, std::uint64_t bytes, std::string_view how,
                            std::string_view detail) {
  if (explains_) explanations_.say_way(name, bytes, fmt::format("{}{}", how, detail));
}

void Reporting::print() const {
  if (switches_.report && rank_ == 0)
    std::fputs(report_.empty() ? "sennit: no call had a GPU buffer on rank 0\n"
                               : report_.text("sennit: calls with GPU buffers on rank 0").c_str(),
               stderr);
}

void Reporting::say(std::string_view what, Handle comm, const Status& status) const {
  const std::string on = comm == kNoHandle ? "" : " on " + describe(mpi_, comm);
  log(LogLevel::error, fmt::format("rank {}: {}{}: {}", rank_, what, on, status.text()));
}

int Reporting::fail(std::string_view what, Handle comm, const Status& status) const {
  say(what, comm, status);
  return mpi_.fail(comm, code_of(status));
}

int Reporting::code_of(const Status& status) const {
  if (status.code() == Code::out_of_memory) return mpi_.err_no_memory();
  return status.code() == Code::peer_lost ? mpi_.err_lost() : mpi_.err_other();
}

}  // namespace sennit::shim::mpi
