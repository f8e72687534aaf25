"""The command line of sennit, the readers and views of the documents that its C++ programs print, and simulate()."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sennit.programs.problem import Problem
    from sennit.programs.sim import simulate, simulate_messages

__all__ = ["Problem", "simulate", "simulate_messages"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Read only when it is asked for: ranks of other libraries import this package too, and have no need of pydantic.
    if name in __all__:
        return getattr(import_module(f"sennit.programs.{'problem' if name == 'Problem' else 'sim'}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
