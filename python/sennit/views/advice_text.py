"""Advice on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.advice.advice import Advice
from sennit.views.text_table import READABLE

SHARE = 5  # letters


def print_advice(advice: Sequence[Advice], console: Console) -> None:
    """Prints what to do, what is worth most first; nothing where nothing is."""
    if not advice:
        return
    width = max(READABLE, console.width - SHARE - 2)
    console.print(Text("\nWhat to do about it", style="bold"))
    for one in advice:
        first, *others = wrap(one.what, width) + wrap(one.evidence, width) + wrap(one.remedy, width)
        console.print(Text.assemble((f"{units.percent(one.share):>{SHARE}}", "bold"), f"  {first}"))
        for line in others:
            console.print(Text(f"{'':{SHARE + 2}}{line}"))
        console.print()
