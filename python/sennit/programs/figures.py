"""Charts as PNG and PDF, by cairosvg, which the extra `figures` brings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sennit.programs.problem import Exit, Problem

SCALE = 2.0  # pixels of a picture for each of its units, so that it is sharp on today's screens


def converter(ending: str) -> Callable[[str], bytes]:
    """What makes a picture of SVG text, for `png` or `pdf`. Raises Problem (environment) where cairosvg is missing,
    or the library that it stands on."""
    try:
        library: Any = import_module("cairosvg")
    except ImportError:
        raise Problem(
            "cairosvg is not installed", "pip install 'sennit[figures]', or take --svg", Exit.ENVIRONMENT
        ) from None
    except OSError:
        raise Problem("cairosvg does not find the library cairo", "apt-get install libcairo2, or take --svg",
                      Exit.ENVIRONMENT) from None  # fmt: skip
    convert = {"png": library.svg2png, "pdf": library.svg2pdf}[ending]

    def made(svg: str) -> bytes:
        found: bytes = convert(
            bytestring=svg.encode(), scale=SCALE, **({"background_color": "white"} if ending == "png" else {})
        )
        return found

    return made
