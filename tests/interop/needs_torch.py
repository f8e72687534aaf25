"""Skips the tests that import it where there is no PyTorch. Before torch, and what imports that."""

from __future__ import annotations

from importlib import util

import pytest
from sennit.programs.packages import install

if util.find_spec("torch") is None:
    pytest.skip(f"PyTorch is not installed: {install('torch')}", allow_module_level=True)
