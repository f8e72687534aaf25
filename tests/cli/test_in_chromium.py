"""Pages in a browser, from a file and without a network: on screens of three widths, light and dark. A browser takes
seconds to start, so one looks at all of them, in one test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import made_up_profiles as made_up
import pytest
from conftest import ROOT, data
from playwright.sync_api import Page, sync_playwright
from sennit.advice.rules import advise
from sennit.model.document import parse, read_json
from sennit.model.machine import Machine
from sennit.model.map import RankMap
from sennit.model.partitioned import Partitioned
from sennit.model.profile import Profile
from sennit.model.profile_links import Asked, all_asked, with_links
from sennit.model.recording_cost import RecordingCost
from sennit.model.result import Result
from sennit.model.sim import Simulation, Sweep
from sennit.views.map_html import map_html
from sennit.views.partitioned import partitioned_html
from sennit.views.profile.page import profile_html
from sennit.views.recording_cost import cost_html
from sennit.views.sections import html
from sennit.views.sim_html import simulation_html, sweep_html

SCREENS: list[tuple[int, Literal["light", "dark"]]] = [
    (360, "light"), (768, "light"), (1280, "light"), (768, "dark"), (360, "dark"), (1280, "dark"),
]  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STUMBLING = (Path(__file__).parent / "in_a_page.js").read_text(encoding="utf-8")
MACHINE = parse(Machine, json.loads((Path(__file__).parents[2] / "machines/hgx-h200-4.json").read_text()), "it")
STOPS = "[tabindex='0'], summary, a[href]"


def phases() -> Any:
    """What a profile has that the others lack."""
    document = made_up.halo()
    for number, row in enumerate(document["rows"]):
        row |= {"how": "staged: no such call on GPUs" if number % 2 else "direct copy", "phase": f"phase {number}"}
        row |= {"memory_in": ["gpu", "pinned", "managed", "host", "none"][number % 5]}
    document["rows"][0] |= {"requests": 9, "flight_seconds": 3.0, "waited_seconds": 1.0}
    polls = made_up.polls("MPI_Iprobe", calls=9, misses=8, seconds=[1.0] * 15 + [9.0])
    return made_up.over_time(document) | {"missing": [3], "polls": [polls]}


def beside_links() -> Any:
    """Calls on GPUs beside what links allow, but for some."""
    document = made_up.ddp(6400, 400)
    found = parse(Profile, document, "it")
    known: dict[Asked, float | str] = dict.fromkeys(all_asked(found)[1:], 2.0)
    return with_links(document, found, MACHINE, known | {all_asked(found)[0]: "more ranks than GPUs"})


def page_of(document: Any) -> str:
    found = parse(Profile, document, "it")
    return profile_html(found, advise(found))


PAGES: dict[str, Callable[[], str]] = {
    "ddp": lambda: page_of(made_up.ddp(6400, 400)),
    "halo": lambda: page_of(made_up.halo()),
    "horovod": lambda: page_of(made_up.horovod()),
    "large": lambda: page_of(made_up.large()),
    "phases": lambda: page_of(phases()),
    "of links": lambda: page_of(beside_links()),
    "parts": lambda: partitioned_html(parse(Partitioned, data("partitioned"), "it")),
    "cost": lambda: cost_html(parse(RecordingCost, data("recording_cost"), "it")),
    "links": lambda: profile_html(parse(Profile, made_up.ddp(), "it"), [], MACHINE),
    "server": lambda: page_of(made_up.server()),
    "nothing": lambda: page_of(made_up.profile([], [])),
    "result": lambda: html(Result.model_validate(data("result"))),
    "training": lambda: html(Result.model_validate(data("training"))),
    "sim": lambda: simulation_html(Simulation.model_validate(data("sim")), Machine.model_validate(data("machine"))),
    "sweep": lambda: sweep_html(Sweep.model_validate(data("sim_sweep"))),
    "map": lambda: map_html(
        RankMap.model_validate(data("map")), Machine.model_validate(read_json(ROOT / "machines" / "helios.json"))
    ),
}


LONG = ("large", "result", "training", "sim", "sweep", "map")  # or like each other: looked at on two screens


@pytest.fixture
def page() -> Iterator[Page]:
    """One page, of one browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("no Chromium is installed; scripts/setup installs Debian's")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=browser)
        context = started.new_context(offline=True)
        yield context.new_page()
        started.close()


def tab_order(page: Page) -> list[str]:
    """What is wrong with the order in which the Tab key reaches things."""
    wanted = page.evaluate(
        f"""() => [...document.querySelectorAll("{STOPS}")]
            .filter((each) => each.checkVisibility()).map((each) => each.outerHTML.slice(0, 60))"""
    )
    page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0); }")
    reached = []
    for _ in wanted:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.outerHTML.slice(0, 60)"))
    return [] if reached == wanted else [f"Tab reaches {reached}, not {wanted}"]


def test_pages_are_read_without_stumbling(page: Page, tmp_path: Path) -> None:
    told: list[str] = []
    page.on("console", lambda message: told.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: told.append(f"error: {error}"))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for name, make in PAGES.items():
        file = tmp_path / f"{name}.html"
        file.write_text(make(), encoding="utf-8")
        requests.clear()
        page.set_viewport_size({"width": 360, "height": 800})
        page.goto(file.as_uri())
        for width, scheme in SCREENS[:: 3 if name in LONG else 1]:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            told += [f"{name}, {width} {scheme}: {said}" for said in page.evaluate(STUMBLING)]
        told += [f"{name}: {said}" for said in tab_order(page)]
        told += [f"{name} asks for {url}" for url in requests if url != file.as_uri()]
    assert not told, "\n".join(told)
