#include "shim/mpi/call/call_names.h"

#include <cctype>

#include <fmt/format.h>

namespace sennit::shim::mpi {

std::string describe(const Mpi& mpi, Handle comm) {
  if (comm == mpi.comm_world()) return "MPI_COMM_WORLD";
  CommShape shape;
  if (mpi.shape(comm, shape) != 0) return "a communicator";
  const std::string name = mpi.name(comm);
  return name.empty() ? fmt::format("a communicator of {} ranks", shape.size)
                      : fmt::format("the communicator '{}' of {} ranks", name, shape.size);
}

std::string name_of(Function function) {
  std::string family(kFamilyNames[std::size_t(function.family)]);
  for (char& c : family) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  switch (function.form) {
    case Form::nonblocking: return family[0] == 'i' ? family : "i" + family;
    case Form::persistent: return family.ends_with("_init") ? family : family + "_init";
    case Form::blocking: break;
  }
  return family;
}

std::string function_of(const Call& call) {
  std::string name = name_of(call);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return "MPI_" + name;
}

}  // namespace sennit::shim::mpi
