// Makes a short name for "this hardware with this driver", under which measurements are kept.
#pragma once

#include <string>

#include "machine/machine.h"

namespace sennit::machine {

/// 16 hexadecimal digits over the identities of devices (UUID, PCI address, model), the links between them (kind and
/// count) and the driver. Independent of the order of devices and links, of their ids, of names, dates and of every
/// measured or assumed figure.
std::string fingerprint(const Machine& machine);

}  // namespace sennit::machine
