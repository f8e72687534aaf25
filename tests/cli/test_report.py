"""`sennit report`: a profile as a page and as files, and other documents by the views that they have.
The file is long, as its tests read pages by the same few functions."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import made_up_profiles as made_up
import pytest
import sennit.profile
from conftest import Programs, check_snapshot, data
from sennit import units
from sennit.advice.rules import advise
from sennit.model.document import parse
from sennit.model.machine import Machine
from sennit.model.profile import Profile
from sennit.model.profile_traffic import route
from sennit.programs import figures, load_profile
from sennit.programs.problem import Exit, Problem
from sennit.verbs.report import document_at
from sennit.views.charts.frame import standalone
from sennit.views.charts.heat import SHADES, shade
from sennit.views.csv import profile_csv
from sennit.views.profile.links import links
from sennit.views.profile.page import profile_html, profile_markdown
from sennit.views.profile.sections import parts, run_time
from sennit.views.profile.sizes import contiguous

ROOT = Path(__file__).resolve().parents[2]
KIB, MIB = 1 << 10, 1 << 20
EVERY = (made_up.ddp, made_up.halo, made_up.horovod, made_up.harmless, made_up.server)
HTML = "<b onclick=alert(1)>&\"'"


def read(document: Any) -> Profile:
    return parse(Profile, document, "it")


def page_of(document: Any) -> str:
    found = read(document)
    return profile_html(found, advise(found))


class Tags(HTMLParser):
    """Names and attributes of a page's tags, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, text: str) -> None:
        self.text += text


def save(programs: Programs, document: Any, name: str = "run") -> Path:
    folder = programs.folder / name
    folder.mkdir()
    (folder / "profile.json").write_text(json.dumps(document))
    return folder


# ---- the page -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EVERY)
def test_a_page_needs_nothing_from_outside(make: Callable[[], Any]) -> None:
    page = page_of(make())
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in page
    for outside in ("http:", "https:", "<script", "<link", "<img", "@import", "url(", "javascript:"):
        assert outside not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    for svg in re.findall(r"<svg xmlns.*?</svg>", page):
        root = ElementTree.fromstring(svg)
        assert root.attrib["aria-label"]
        assert not re.search("nan|inf", "".join(map(str, [*root.attrib.values()])))


def test_the_first_sentence_says_what_took_the_time() -> None:
    page = page_of(made_up.horovod()).replace("&nbsp;", " ")  # a number and its unit stay on a line
    assert (
        "<h1>71 % of run time went into communication, 33 % into MPI_Allreduce of 4 B to 8 B in host memory; 12 % "
        "was waiting for the last rank.</h1>" in page
    )
    assert page.index("<h1>") < page.index("<svg")


def test_names_of_programs_that_hold_html_are_text() -> None:
    document = made_up.halo([HTML, "node2"])
    document |= {"mpi": HTML, "missing": [99], "unreadable": [{"file": HTML, "why": HTML}]}
    for rank in document["ranks"]:
        rank["program"] = f"/home/user/{HTML}"
    for row in document["rows"]:
        row |= {"function": HTML, "reduction": HTML, "how": f"staged: {HTML}", "phase": HTML}
    document["skew"][0]["function"] = HTML
    document = made_up.over_time(document)
    document["queues"]["why_not"]["variables"] = HTML
    page = page_of(document)
    tags = Tags(page)
    assert not {"b"} & {tag for tag, attributes in tags.tags if "onclick" in attributes}
    assert not any(name.startswith("on") for _, attributes in tags.tags for name in attributes)
    assert tags.text.count(HTML) > 8
    found = read(document)
    for part in parts(found):
        for svg in part.pictures.values():
            ElementTree.fromstring(standalone(svg))
    assert "\n| " in profile_markdown(found, advise(found))


def test_a_page_of_64_ranks_is_small() -> None:
    page = page_of(made_up.large())
    assert len(page.encode()) <= 2 << 20
    assert "Lines divide hosts." in page
    assert page.count(" → ") >= 2 * 64 * 63, "all pairs are in the picture and in the table"


def test_hundreds_of_ranks_share_squares() -> None:
    found = read(made_up.large(200))
    (part,) = (part for part in parts(found) if part.title == "Partners")
    assert part.pictures["partners"].count("<title>") <= 50 * 50
    assert "A square of the picture is of 4 ranks by 4, named by the first." in part.sentences
    assert len(profile_html(found, [])) <= 2 << 20


def test_pictures_say_what_their_tables_say() -> None:
    for make in EVERY:
        for part in parts(read(make())):
            cells = {cell for line in part.table.lines for cell in line}
            for svg in part.pictures.values():
                for title in map(unescape, re.findall(r"<title>(.*?)</title>", svg)):
                    said = title.rsplit(": ", 1)[1].removesuffix(" calls").removesuffix(" of run time")
                    assert said in cells, title


def test_shares_of_run_time_are_whole() -> None:
    bars = run_time(read(made_up.halo()))
    assert [bar.name for bar in bars] == ["host memory", "no buffer, as waits", "outside of calls"]
    assert sum(bar.part for bar in bars) == pytest.approx(1)
    document = made_up.harmless()
    for row in document["rows"]:
        row["rank_seconds"]["mean"] = 90.0
    bars = run_time(read(document))  # threads in calls at once
    assert [(bar.name, bar.said) for bar in bars] == [("host memory", "180 %")]
    assert sum(bar.part for bar in bars) == pytest.approx(1)


def test_bins_are_shown_without_gaps() -> None:
    assert contiguous([0, 1, 8]) == [0, 1, 2, 4, 8]
    assert contiguous([0]) == [0]
    assert contiguous([3, 16]) == [3, 16], "what is no bin stands as it is"
    assert [shade(value, 256) for value in (256, 65, 64, 16, 1, 0)] == [SHADES, SHADES, SHADES - 1, SHADES - 2, 1, 1]


def test_a_profile_of_nothing_has_a_page() -> None:
    assert "called neither MPI nor NCCL" in page_of(made_up.profile([], []))
    empty = made_up.profile([made_up.rank(0, "node1", 0.0, 0.0)], [])
    assert "called neither MPI nor NCCL" in page_of(empty)
    assert profile_csv(read(empty))["rows"].startswith("function,communicator_size,")
    assert len(profile_csv(read(empty))) == 1


def test_what_was_accelerated_and_named_is_shown() -> None:
    document = made_up.halo()
    for number, row in enumerate(document["rows"]):
        row |= {"how": "direct copy" if number else None, "phase": "solve" if number else None}
    titles = [part.title for part in parts(read(document))]
    assert titles == ["By function and memory", "By size", "Who did it", "By phase", "Partners",
                      "Waiting for the last rank", "Ranks"]  # fmt: skip


# ---- files --------------------------------------------------------------------------------------------------------


def test_a_report_makes_a_page_in_the_folder(programs: Programs) -> None:
    save(programs, made_up.horovod())
    done = programs.sennit("report", "run", COLUMNS="110")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "wrote run/page.html\n"
    check_snapshot("report-horovod.txt", done.stdout)
    assert (programs.folder / "run/page.html").read_text() == page_of(made_up.horovod())
    (programs.folder / "run/page.html").unlink()
    for option in ("--text", "--json"):
        assert programs.sennit("report", "run", option).stderr == ""
    assert not (programs.folder / "run/page.html").exists()


def test_a_folder_that_cannot_be_written_has_no_page(programs: Programs) -> None:
    (save(programs, made_up.halo()) / "page.html").mkdir()
    done = programs.sennit("report", "run")
    assert done.returncode == 0
    assert "no page: run/page.html cannot be written" in done.stderr
    assert "By function" in done.stdout
    done = programs.sennit("report", "run", "--html", "run/page.html")
    assert (done.returncode, done.stdout) == (2, ""), "told before anything is read"


def test_a_report_writes_every_view(programs: Programs) -> None:
    save(programs, made_up.halo())
    order = {"version": 1, "kind": "map order", "ranks": 16, "process": [*range(0, 16, 2), *range(1, 16, 2)]}
    programs.add("sennit-map", order, to="order")
    done = programs.sennit(
        "report", "run", "--html", "a.html", "--csv", "a.csv", "--markdown", "a.md", "--svg", "drawn"
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO((programs.folder / "a.csv").read_text())))
    assert [row["function"] for row in rows] == [row["function"] for row in made_up.halo()["rows"]]
    assert float(rows[0]["rank_seconds_mean"]) == pytest.approx(0.3)
    check_snapshot("report-halo.md", (programs.folder / "a.md").read_text())
    drawn = sorted(file.name for file in (programs.folder / "drawn").iterdir())
    assert drawn == ["functions.svg", "partners.svg", "ranks.svg", "sizes-calls.svg", "sizes-time.svg", "waiting.svg"]
    for name in drawn:
        ElementTree.fromstring((programs.folder / "drawn" / name).read_text())
    assert not (programs.folder / "run/page.html").exists(), "the page was asked for elsewhere"


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_pictures_are_made_by_cairosvg(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    class Library:
        @staticmethod
        def made(bytestring: bytes, **_: Any) -> bytes:
            return b"made of " + bytestring

        svg2png = svg2pdf = made

    monkeypatch.setattr(figures, "import_module", lambda _: Library)
    assert figures.converter(ending)("<svg/>") == b"made of <svg/>"

    def missing(_name: str) -> Any:
        raise ImportError

    monkeypatch.setattr(figures, "import_module", missing)
    with pytest.raises(Problem, match="cairosvg is not installed") as caught:
        figures.converter(ending)
    assert caught.value.exit_code == Exit.ENVIRONMENT
    assert "sennit[figures]" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("result", "gpu0 → gpu1"), ("collective", "Allreduce"), ("plans", "Allreduce"), ("tuned", "fastest splits"),
        ("sim", "Allreduce"), ("sim_sweep", "Allgather"), ("sim_messages", "allreduce"), ("sim_put", "gpu0"),
        ("sim_paper", "paper"), ("sim_beyond", "GB/s"), ("reproduction", "median error"), ("check", "jobs"),
        ("machine", "made-up"),
    ],
)  # fmt: skip
def test_other_documents_have_the_views_of_their_verbs(programs: Programs, name: str, title: str) -> None:
    (programs.folder / "kept.json").write_text(json.dumps(data(name)))
    done = programs.sennit("report", "kept.json")
    assert done.returncode == 0, done.stderr
    assert title.lower() in done.stdout.lower()
    assert json.loads(programs.sennit("report", "kept.json", "--json").stdout) == data(name)
    refused = programs.sennit("report", "kept.json", "--svg", "drawn")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--svg is of profiles" in refused.stderr


def test_other_documents_have_pages_where_there_are_some(programs: Programs) -> None:
    programs.add("sennit-machine", data("machine"))
    for name in ("result", "sim", "sim_sweep"):
        (programs.folder / "kept.json").write_text(json.dumps(data(name)))
        done = programs.sennit("report", "kept.json", "--html", "kept.html")
        assert done.returncode == 0, done.stderr
        assert "default-src 'none'" in (programs.folder / "kept.html").read_text()
    (programs.folder / "kept.json").write_text(json.dumps(data("plans")))
    done = programs.sennit("report", "kept.json", "--html", "kept.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no --html of a document of kind collective table" in done.stderr
    for text in ("[]", '{"kind": "other"}', "3"):
        (programs.folder / "kept.json").write_text(text)
        assert "no document that sennit knows" in programs.sennit("report", "kept.json").stderr


def test_a_folder_that_nobody_may_read_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests may run as a user whom nothing is forbidden."""

    def forbidden(_self: Path, *_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    for method in ("is_file", "exists", "iterdir"):
        with monkeypatch.context() as within:
            within.setattr(Path, method, forbidden)
            with pytest.raises(Problem, match="cannot be read: Permission denied") as caught:
                document_at(tmp_path)
            assert caught.value.exit_code == Exit.USAGE


# ---- on a machine -------------------------------------------------------------------------------------------------


def test_bytes_lie_on_the_links_of_the_machine() -> None:
    """Of a collective those that its ranks have to give at least, in equal parts to all others."""
    machine = parse(Machine, json.loads((ROOT / "machines/hgx-h200-4.json").read_text()), "it")
    document = made_up.ddp()
    document["partners"] = [made_up.partner(0, 3, 10, MIB)]
    document["rows"].append(made_up.row("ncclSend", 4, calls=10, seconds=0.1, size=MIB, memory="gpu"))
    found = read(document)
    part = links(found, machine)
    assert part is not None
    # Each rank gives 1.5 times each message of an allreduce, and a broadcast once.
    each = 1.5 * (4000 * 25 * MIB + 2000 * MIB + 1000 * 4) + 160 * 256 * KIB
    table = {line[0]: line for line in part.table.lines}
    assert table["gpu0 → nvswitch0"] == ("gpu0 → nvswitch0", f"{(each + 10 * MIB) / 1e9:.0f} GB", "1 %")
    assert table["nvswitch0 → gpu1"][1] == f"{each / 1e9:.0f} GB"
    assert len(table) == 8, "no byte goes through the host"
    picture = part.drawings["links"]
    ElementTree.fromstring(picture)
    assert ">rank 2</text>" in picture
    assert f">{each / 1e9:.0f} GB</text>" in picture
    assert '<div class="drawing">' not in page_of(document)
    assert '<div class="drawing"><svg' in profile_html(found, [], machine)
    assert links(read(made_up.harmless()), machine) is None, "nothing is on a GPU"
    assert links(read(made_up.halo()), machine) is None, "two hosts"
    part_of_them = made_up.ddp()
    part_of_them["rows"][0]["communicator_size"] = 2
    some = links(read(part_of_them), machine)
    assert some is not None
    assert some.sentences[-1].endswith("of collectives among some of the ranks are not in it.")


def test_bytes_take_the_fastest_way() -> None:
    machine = parse(Machine, json.loads((ROOT / "machines/hgx-h200-4.json").read_text()), "it")
    assert route(machine, "gpu0", "gpu2") == [("gpu0", "nvswitch0"), ("nvswitch0", "gpu2")]
    assert route(machine, "gpu0", "host0") == [("gpu0", "host0")]
    assert route(machine, "gpu0", "gpu0") == []
    assert route(machine, "gpu0", "none") == []


# ---- in Python ----------------------------------------------------------------------------------------------------


def test_a_profile_is_loaded_as_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "profile.json").write_text(json.dumps(made_up.halo()))
    run = sennit.profile.load(tmp_path)
    assert len(run.ranks) == 16
    assert max(run.rows, key=lambda row: row["rank_seconds_mean"])["function"] == "MPI_Waitall"
    assert run.partners[0].keys() == {"from", "to", "messages", "bytes"}
    assert run.skew[0]["latest_rank"] == 5
    assert run.document == made_up.halo()

    def missing(_name: str) -> Any:
        raise ImportError

    monkeypatch.setattr(load_profile, "import_module", missing)
    for convert in (run.rows.to_pandas, run.rows.to_arrow, lambda: run.rows.to_parquet(tmp_path / "rows")):
        with pytest.raises(Problem, match="is not installed"):
            convert()

    class Pandas:
        DataFrame = tuple

    monkeypatch.setattr(load_profile, "import_module", lambda _: Pandas)
    assert run.ranks.to_pandas()[3]["rank"] == 3
    written = {}

    class Arrow:
        class Table:
            from_pylist = list

        @staticmethod
        def write_table(table: Any, file: Path) -> None:
            written[file] = table

    monkeypatch.setattr(load_profile, "import_module", lambda _: Arrow)
    run.ranks.to_parquet(tmp_path / "ranks.parquet")
    assert written[tmp_path / "ranks.parquet"][5]["rank"] == 5
    with pytest.raises(Problem, match="does not exist"):
        sennit.profile.load(tmp_path / "none")


def test_sizes_are_those_of_the_bins() -> None:
    (part,) = (part for part in parts(read(made_up.ddp())) if part.title == "By size")
    lines = {line[0]: line for line in part.table.lines}
    assert f"{units.size(16 << 20)} to {units.size(32 << 20)}" in lines
    assert lines["16 MiB to 32 MiB"][1:] == ["16000", "4 %"]
