"""Measures how large a profile may be, and what it withstands: results/MACHINE/profile-load.json.

    .venv/bin/python scripts/measure_profile.py build/release results/two-cores/profile-load.json

Made-up files of 64 processes with 10^6 calls each are merged and become a page, which a browser opens; a process that
records is killed 100 times; 10^6 calls a second and thread are recorded for a minute. It needs 7 GB in TMPDIR."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from sennit.advice.rules import advise
from sennit.model.document import parse
from sennit.model.profile import Profile
from sennit.views.profile.page import profile_html

RANKS, EVENTS, KILLS, SECONDS = 64, 1_000_000, 100, 60
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("result", type=Path)
    asked = parser.parse_args()
    load, merge = (str(asked.build / "bin" / name) for name in ("profile_load", "sennit-profile"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "version": 1, "kind": "profile load", "date": date.today().isoformat(), "cores": os.cpu_count(),
            "cpu": processor(), "load": os.getloadavg()[0], "kills": run(load, "kills", name, str(KILLS)),
            "rates": [run(load, "rate", str(SECONDS), str(threads)) for threads in (1, 2)],
        }  # fmt: skip
        subprocess.run([load, "files", name, str(RANKS), str(EVENTS)], check=True)
        found |= merging(merge, folder)
    asked.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def processor() -> str:
    """The model's name."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "")


def run(*command: str) -> Any:
    """Reads the JSON that a command prints."""
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def merging(merge: str, folder: Path) -> dict[str, Any]:
    """The time and the memory that the merge needs, and the page."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    document = run(merge, str(folder))
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    begin = time.monotonic()
    profile = parse(Profile, document, "the merged profile")
    page = profile_html(profile, advise(profile))
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    made = time.monotonic() - begin
    return {
        "ranks": RANKS,
        "events_of_each": EVENTS,
        "merge_seconds": seconds,
        "merge_cpu_seconds": cpu,
        "merge_peak_bytes": after.ru_maxrss * 1024,
        "page_bytes": len(page.encode()),
        "page_made_seconds": made,
        "page_opens_seconds": opening(file),
    }


def opening(file: Path) -> float | None:
    """A browser needs so long to lay the page out, from a file: the median of five. None without a browser."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return None
    times = []
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=browser)
        for _ in range(5):
            page = started.new_context(offline=True).new_page()
            begin = time.monotonic()
            page.goto(file.as_uri())
            page.evaluate("() => document.body.getBoundingClientRect().height")
            times.append(time.monotonic() - begin)
        started.close()
    return sorted(times)[2]


if __name__ == "__main__":
    main()
