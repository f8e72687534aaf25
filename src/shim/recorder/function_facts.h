// Tells what kind of call each function of MPI is, as far as recording goes by it; pure, from the table of functions.
#pragma once

#include <cstdint>
#include <cstring>

#include "shim/mpi/call/description.h"
#include "shim/recorder/call_memo.h"
#include "shim/recorder/ending_call.h"
#include "shim/recorder/mpi_memory.h"

namespace sennit::shim::recorder {

struct FunctionFacts {
  std::uint16_t index = 0;                ///< its name's, of the recorder
  bool of_all = false;                    ///< a collective call, not one that is only prepared
  bool sends = false, receives = false;   ///< messages, as this rank's
  bool frees = false;                     ///< something whose handle another one may have from then on
  bool polls = false;                     ///< asks for something that may not be there, and does not wait for it
  bool tells = false;                     ///< a status of the message that it has received
  bool begins = false, prepares = false;  ///< a request, which runs or is to be started
  bool registers = false;                 ///< memory, or ends that
  Ending ending = Ending::none;
  DecidingArguments deciding;
};

inline bool is_of_all(const mpi::Description& of) {
  return of.kind == mpi::Kind::collective || of.kind == mpi::Kind::neighbor ||
         std::strcmp(of.name, "MPI_Barrier") == 0 || std::strcmp(of.name, "MPI_Ibarrier") == 0;
}

inline bool frees(mpi::Entry entry) {
  using mpi::Entry;
  return entry == Entry::Comm_free || entry == Entry::Comm_disconnect || entry == Entry::Win_free ||
         entry == Entry::Type_free || entry == Entry::Op_free;
}

inline bool polls(mpi::Entry entry) {
  using mpi::Entry;
  switch (entry) {
    case Entry::Iprobe:
    case Entry::Improbe:
    case Entry::Request_get_status:
    case Entry::Request_get_status_all:
    case Entry::Request_get_status_any:
    case Entry::Parrived:
    case Entry::Win_test: return true;
    default: return false;
  }
}

inline FunctionFacts facts_of(mpi::Entry entry, std::uint16_t index) {
  using mpi::Entry;
  using mpi::Kind;
  const mpi::Description& of = mpi::kDescriptions[static_cast<std::size_t>(entry)];
  const bool runs = of.form != mpi::Form::persistent;
  const bool begins = of.request != mpi::kAbsent && !of.request_is_value && of.kind != Kind::requests &&
                      entry != Entry::Grequest_start;
  return {.index = index,
          .of_all = runs && is_of_all(of),
          .sends = of.kind == Kind::send || of.kind == Kind::exchange || entry == Entry::Psend_init,
          .receives = of.kind == Kind::receive || entry == Entry::Precv_init,
          .frees = frees(entry),
          .polls = polls(entry),
          .tells = of.status != mpi::kAbsent && (of.kind == Kind::receive || of.kind == Kind::exchange),
          .begins = begins,
          .prepares = begins && std::strstr(of.name, "_init") != nullptr,
          .registers = registers(entry),
          .ending = ending_of(entry),
          .deciding = DecidingArguments(of)};
}

}  // namespace sennit::shim::recorder
