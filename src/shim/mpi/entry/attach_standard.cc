#include "shim/mpi/entry/attach_abi.h"

template int sennit::shim::mpi::attach<sennit::shim::mpi::Standard>(const sennit_front& front);
