"""What was tuned, on the terminal: for each class of pairs a table of sizes, and a sentence."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.compare.pair_classes import PairClass, pair_classes
from sennit.model.tuned import PutTable, TunedPut
from sennit.units import NOTHING
from sennit.views.text_table import READABLE, Table, print_part


def print_put_table(table: PutTable, console: Console) -> None:
    """Prints the whole document."""
    console.print(Text(f"The fastest splits of puts on this machine ({table.fingerprint}), measured {table.date}"))
    for one in pair_classes(table):
        print_part(one.title, [_sizes(one)], [verdict(one)], console)
    if not table.entries:
        console.print(Text("Nothing was tuned: no two devices of this machine reach each other."))


def verdict(one: PairClass) -> str:
    """For example: Most at 256 MiB: 1.09 ± 0.01 times the single path."""
    best = one.best
    if best is None:
        return "Nothing beats the single path beyond the noise, so it carries every message."
    return f"Most at {units.size(best.bytes)}: {best.gain} times the single path."


def shares_text(entry: TunedPut) -> str:
    """For example: direct 91 %, host0 (engine) 9 %. What carries most comes first."""
    if not entry.split:
        return f"{next(iter(entry.shares))} alone"
    ordered = sorted(entry.shares.items(), key=lambda part: -part[1])
    return ", ".join(f"{route} {units.percent(share)}" for route, share in ordered)


def _sizes(one: PairClass) -> Table:
    lines = [
        [
            units.size(entry.bytes),
            units.plain_time(entry.us, entry.spread_us),
            units.three_digits(entry.bytes / entry.us / 1e3 if entry.us > 0 else 0),
            units.three_digits(entry.single_us),
            str(entry.gain or NOTHING),
            shares_text(entry),
        ]
        for entry in one.entries
    ]
    gains = [{"× single": "faster" if entry.gain else ""} for entry in one.entries]
    return Table(
        ["size", "µs", "GB/s", "single µs", "× single", "split"], lines, gains, ["split"], {"split": READABLE}
    )
