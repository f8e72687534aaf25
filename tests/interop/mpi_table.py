"""src/shim/mpi/table.py, which is no module of a package."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from mpi_headers import ROOT

SHIM = ROOT / "src" / "shim" / "mpi"


def read() -> Any:
    specification = importlib.util.spec_from_file_location("shim_table", SHIM / "table.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["shim_table"] = module  # where its dataclasses look for their types
    specification.loader.exec_module(module)
    return module


TABLE = read()
