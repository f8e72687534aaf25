"""The command line of sennit, the readers and views of the documents that its C++ programs print, and simulate()."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sennit.sim import simulate

__all__ = ["simulate"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Read only when it is asked for: ranks of other libraries import this package too, and have no need of pydantic.
    if name == "simulate":
        from sennit.sim import simulate

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
