#include "shim/mpi/entry/attach_abi.h"

template int sennit::shim::mpi::attach<sennit::shim::mpi::OpenMpi>(const sennit_front& front);
