"""Tables on narrow screens: columns are there as a whole or not at all, and what is missing is named."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from sennit.views.fitted import print_fitted, print_remarked
from sennit.views.plain_table import plain_table


def shown(width: int, first: tuple[str, ...] = ()) -> str:
    screen = Console(file=StringIO(), width=width)
    names = ["plan", "one call", "back to back", "× fastest"]
    lines = [["two_shot 8x256", "1200 µs", "1100 µs", "1.00"], ["ring 32x256", "12345 µs", "12000 µs", "10.3"]]
    print_fitted(plain_table(names, lines), screen, first)
    assert isinstance(screen.file, StringIO)
    return screen.file.getvalue()


def test_a_wide_screen_has_everything() -> None:
    text = shown(60)
    assert "10.3" in text
    assert "No room" not in text


@pytest.mark.parametrize("width", [49, 40, 30, 20])
def test_no_figure_is_cut(width: int) -> None:
    text = shown(width)
    assert "…" not in text or width < 25  # the two leftmost columns stay
    assert "× fastest" in " ".join(text.partition("No room here for:")[2].split())


def test_what_is_to_go_first_goes_first() -> None:
    table, _, missing = shown(45, ("back to back",)).partition("No room here for: ")
    assert "10.3" in table
    assert missing.startswith("back to back.")


def test_remarks_stand_below_where_they_have_no_room() -> None:
    table = plain_table(
        ["size", "time", "what"], [["1 KiB", "3.00 µs", "measured in another way"], ["2 KiB", "4.00 µs", ""]]
    )
    for width, below in ((60, False), (30, True)):
        screen = Console(file=StringIO(), width=width)
        print_remarked(table, [("1 KiB", "measured in another way"), ("2 KiB", "")], screen)
        assert isinstance(screen.file, StringIO)
        text = " ".join(screen.file.getvalue().split())
        assert ("1 KiB: measured in another way" in text) is below
        assert "2 KiB:" not in text
