"""README, CONTRIBUTING and docs/: lines fit a screen, links lead somewhere, and the index has every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LONGEST = 120  # characters of a line; what is generated, and what programs print, is as long as it has to be
GENERATED = re.compile(r"<!-- generated from \S+: (.*?) -->.*?<!-- end of \1 -->", re.DOTALL)
PRINTED = re.compile(r"^```.*?^```$|^    .*?$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[.*?\]: (\S+)$", re.MULTILINE)


def written(page: Path) -> str:
    """A page without its generated parts and blocks of code, whose lines are kept as empty ones."""
    text = page.read_text(encoding="utf-8")
    for left_out in (GENERATED, PRINTED):
        text = left_out.sub(lambda part: "\n" * part[0].count("\n"), text)
    return text


def links(page: Path) -> list[str]:
    """Where it leads to, in this tree."""
    text = PRINTED.sub("", page.read_text(encoding="utf-8"))
    found = [inline or below for inline, below in LINK.findall(text)]
    return [each for each in found if not re.match(r"[a-z]+:", each)]


def anchors(page: Path) -> set[str]:
    """Where a link into the page can lead: its headings as GitHub names them, and anchors of its own."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", PRINTED.sub("", text), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", each).lower()) for each in headings]
    return {each.replace(" ", "-") for each in plain} | set(re.findall(r'<a id="(.*?)">', text))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_lines_are_short(page: Path) -> None:
    lines = written(page).splitlines()
    assert [f"{number}: {line}" for number, line in enumerate(lines, 1) if len(line) > LONGEST] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: there is no such file"
        assert not anchor or anchor in anchors(target), f"{link}: there is no such heading"


def test_the_index_has_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    pages = {page for page in PAGES if page.parent.name in ("use", "tune", "develop")}
    assert pages - listed == set()


def test_the_first_screen_of_readme_is_one_screen() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines.index("<!-- end of summary -->") < 25
    assert len(lines) <= 50
