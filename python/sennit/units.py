"""Quantities as people read them. MiB are 2^20 bytes, GB/s are 10^9 bytes/s, times are µs."""

from __future__ import annotations

import math
import re

NOTHING = "–"  # in a cell

SIZE = re.compile(r"(\d+\.?\d*|\.\d+) *(?:([kmgt])(?:i?b)?|b)?", re.IGNORECASE | re.ASCII)


def size(count: int) -> str:
    """4096 → "4 KiB"; one digit behind the point where it is not a whole number."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    power = 0
    while power + 1 < len(units) and count >= 1024 ** (power + 1):
        power += 1
    value = count / 1024**power
    return f"{f'{value:.1f}'.removesuffix('.0')} {units[power]}"


def bytes_of(text: str) -> int:
    """What the C++ programs read too: 4096, 64K, 1.5M or 2GiB. Raises ValueError, which says what is wrong."""
    found = SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"'{text}' is not a size")
    power = " kmgt".index((found[2] or " ").lower())
    count = float(found[1]) * 1024.0**power
    if count >= 2.0**63:
        raise ValueError(f"'{text}' is not a size: it is too large")
    return round(count)


def three_digits(value: float) -> str:
    """Three significant digits without an exponent: 0.0123, 1.23, 12.3, 123, 1234."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def rate(gbps: float) -> str:
    """12.345 → "12.3 GB/s"."""
    return f"{three_digits(gbps)} GB/s"


def time(us: float, spread_us: float = 0) -> str:
    """A time and its spread, both to the spread's precision: "15.2 ± 0.3 µs"."""
    if spread_us <= 0:
        return f"{three_digits(us)} µs"
    digits = max(0, min(3, 2 - math.floor(math.log10(max(us, 1e-9)))))
    return f"{us:.{digits}f} ± {spread_us:.{digits}f} µs"


def plain_time(us: float, spread_us: float = 0) -> str:
    """The same without its unit, for a column that names it."""
    return time(us, spread_us).removesuffix(" µs")


def percent(fraction: float) -> str:
    """0.914 → "91 %"; what is there but rounds to nothing is "<1 %"."""
    if not math.isfinite(fraction):
        return "–"
    said = f"{100 * fraction:.0f} %"
    return "<1 %" if fraction > 0 and said == "0 %" else said
