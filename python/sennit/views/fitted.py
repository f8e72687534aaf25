"""A table on a screen that may be narrow: a column is there as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

BETWEEN = 3  # blanks between columns
LEAST = 24  # characters of a column whose text is broken into lines


def print_fitted(drawn: Table, console: Console, first: Sequence[str] = (), dropped: Sequence[str] = ()) -> None:
    """Prints the table. Where the screen is too narrow it leaves out the columns that `first` names, in that order,
    then those to the right, and says which: half a figure is none. The two leftmost stay. `dropped` are out."""
    columns, left_out = list(drawn.columns), list(dropped)
    while needs(columns) > console.width and len(columns) > 2:
        names = [str(column.header) for column in columns]
        place = next((names.index(each) for each in first if each in names), len(names) - 1)
        left_out.append(names[place])
        columns.pop(place)
    console.print(drawn if len(columns) == len(drawn.columns) else of_columns(drawn, columns))
    if named := [name for name in left_out if name]:
        console.print(Text(f"No room here for: {', '.join(named)}. A wider screen has them.", style="dim"))


def print_remarked(drawn: Table, remarks: Sequence[tuple[str, str]], console: Console) -> None:
    """The table, whose last column has remarks: below it where there is no room for them."""
    if fits(drawn, console.width):
        console.print(drawn)
        return
    print_fitted(of_columns(drawn, drawn.columns[:-1]), console)
    for what, remark in remarks:
        if remark:
            console.print(Text(f"{what}: {remark}"))


def fits(drawn: Table, width: int) -> bool:
    """Whether a screen of that width has room for the whole table."""
    return needs(drawn.columns) <= width


def needs(columns: Sequence[Column]) -> int:
    """How wide a screen these columns need."""
    return sum(width_of(column) + BETWEEN for column in columns) - BETWEEN


def width_of(column: Column) -> int:
    """The longest cell; where cells are broken into lines, no more than can be read."""
    longest = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
    return longest if column.no_wrap else min(longest, LEAST)


def of_columns(drawn: Table, columns: Sequence[Column]) -> Table:
    """The table with these of its columns."""
    kept = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        kept.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap)
    for row, *cells in zip(drawn.rows, *(column.cells for column in columns), strict=True):
        kept.add_row(*cells, style=row.style)
    return kept
