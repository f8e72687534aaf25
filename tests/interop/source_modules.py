"""Generators and their tables among the sources, which are modules of no package, for tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def load(name: str, file: Path) -> Any:
    """The module in that file, imported as `name`."""
    specification = importlib.util.spec_from_file_location(name, file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # where its dataclasses look for their types
    specification.loader.exec_module(module)
    return module
