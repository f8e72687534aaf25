"""Tables on narrow screens: columns are there as a whole or not at all, and what is missing is named."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from conftest import shown
from sennit.views.text_table import Table, print_part, print_table


def text_of(width: int, less: Sequence[Sequence[str]] = ()) -> str:
    names = ["plan", "one call", "back to back", "× fastest"]
    lines = [["two_shot 8x256", "1200 µs", "1100 µs", "1.00"], ["ring 32x256", "12345 µs", "12000 µs", "10.3"]]
    return shown(lambda console: print_table(Table(names, lines, less=less), console), width=width)


def test_a_wide_screen_has_everything() -> None:
    text = text_of(60)
    assert "10.3" in text
    assert "No room" not in text


@pytest.mark.parametrize("width", [49, 40, 30, 20])
def test_no_figure_is_cut(width: int) -> None:
    text = text_of(width)
    assert "…" not in text or width < 25  # the two leftmost columns stay
    assert "× fastest" in " ".join(text.partition("No room here for:")[2].split())


def test_what_is_to_go_first_goes_first() -> None:
    table, _, missing = text_of(45, [["back to back"]]).partition("No room here for: ")
    assert "10.3" in table
    assert missing.startswith("back to back.")


def test_columns_of_one_heading_go_one_by_one() -> None:
    table = Table(["size", "µs", "host, NCCL", "µs"], [["1 KiB", "3.00", "1.00", "2.00"]])
    text = shown(lambda console: print_table(table, console), width=25)
    assert "3.00" in text
    assert "2.00" not in text
    assert "No room here for: µs." in " ".join(text.split())


@pytest.mark.parametrize(("width", "below"), [(60, False), (30, True)])
def test_remarks_stand_below_where_they_have_no_room(width: int, below: bool) -> None:
    said = "1 KiB: measured in another way"
    lines = [["1 KiB", "3.00 µs", "measured in another way"], ["2 KiB", "4.00 µs", ""]]
    table = Table(["size", "time", "what"], lines, less=[["what"]], instead=[said])
    for draw in (
        lambda console: print_table(table, console),
        lambda console: print_part("A", [table], [], console),
    ):
        text = " ".join(shown(draw, width=width).split())
        assert (said in text) is below
        assert "No room" not in text
