// Holds the machines that C programs hold handles of.
#pragma once

#include "capi/handles.h"
#include "machine/machine.h"

namespace sennit::capi {

using Machines = Handles<sennit_machine, const machine::Machine, 0x5E01>;
/// Returns a registry that is never destroyed: a program may free its machines after this library's own globals are
/// gone.
Machines& machines();

}  // namespace sennit::capi
