"""src/shim/mpi/abi/table.py, which is no module of a package."""

from __future__ import annotations

import source_modules
from mpi_headers import ROOT

SHIM = ROOT / "src" / "shim" / "mpi" / "abi"
TABLE = source_modules.load("shim_table", SHIM / "table.py")
