"""A machine as text, matrices and a picture."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import ROOT, check_snapshot, data, shown
from sennit.model.machine import Machine
from sennit.model.reach import Cell, bandwidth, latency
from sennit.views.machine_layout import place
from sennit.views.machine_svg import BOX_WIDTH, COLUMN, machine_svg
from sennit.views.machine_text import print_machine

MACHINES = sorted((ROOT / "machines").glob("*.json"))


@pytest.fixture
def machine() -> Machine:
    """The made-up machine."""
    return Machine.model_validate(data("machine"))


def test_a_measured_pair_shows_the_faster_method_at_its_best_size(machine: Machine) -> None:
    assert bandwidth(machine)["gpu0", "gpu1"] == Cell((64 << 20) / 1500 / 1e3, measured=True)
    assert latency(machine) == {("gpu0", "gpu1"): Cell(8.0, measured=True)}


def test_another_pair_shows_its_narrowest_link(machine: Machine) -> None:
    matrix = bandwidth(machine)
    assert matrix["gpu1", "gpu0"] == Cell(44, measured=False)
    assert matrix["gpu0", "host0"] == Cell(10, measured=False)
    assert matrix["host0", "gpu0"] == Cell(11, measured=False)
    assert matrix["host0", "gpu2"] == Cell(6, measured=False)


def test_gpus_without_peer_access_do_not_reach_each_other(machine: Machine) -> None:
    assert ("gpu0", "gpu2") not in bandwidth(machine)
    assert ("gpu2", "gpu0") not in bandwidth(machine)


def test_bytes_do_not_pass_through_a_gpu(machine: Machine) -> None:
    machine.links = [link for link in machine.links if "pcie_switch0" not in (link.from_, link.to)]
    assert ("gpu0", "host0") not in bandwidth(machine)


def test_a_large_message_says_nothing_about_latency(machine: Machine) -> None:
    for curve in machine.curves:
        curve.points = curve.points[1:]
    assert latency(machine) == {}


def test_the_text(machine: Machine) -> None:
    check_snapshot("machine.txt", shown(lambda console: print_machine(machine, console)))


def test_the_picture(machine: Machine) -> None:
    check_snapshot("machine.svg", machine_svg(machine))


def test_wider_links_are_drawn_wider(machine: Machine) -> None:
    root = ElementTree.fromstring(machine_svg(machine))
    widths = {}
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        title = path.find("{http://www.w3.org/2000/svg}title")
        if title is not None and title.text:
            widths[title.text.split(":")[0]] = float(path.attrib["stroke-width"])
    assert widths["gpu0 – gpu1"] > widths["host0 – host1"] > widths["gpu2 – host1"]


@pytest.mark.parametrize("file", MACHINES, ids=lambda file: file.stem)
def test_devices_of_every_shipped_machine_stand_apart(file: Path) -> None:
    machine = Machine.model_validate(json.loads(file.read_text(encoding="utf-8")))
    places = place(machine)
    assert places.keys() == {device.id for device in machine.devices}
    for row in {row for _, row in places.values()}:
        columns = sorted(column for column, its_row in places.values() if its_row == row)
        for left, right in pairwise(columns):
            assert (right - left) * COLUMN >= BOX_WIDTH
    ElementTree.fromstring(machine_svg(machine))


def test_links_that_deliver_nothing_are_drawn(machine: Machine) -> None:
    for link in machine.links:
        link.forward_gbps.value = link.backward_gbps.value = 0
    assert 'stroke-width="1.5"' in machine_svg(machine)


def test_names_that_look_like_styles_are_shown_as_they_are(machine: Machine) -> None:
    for device in machine.devices:
        device.id = device.id.replace("gpu0", "[/bold]")
    for curve in machine.curves:
        curve.from_ = curve.from_.replace("gpu0", "[/bold]")
    assert shown(lambda console: print_machine(machine, console)).count("[/bold]") > 2


def test_a_long_chain_of_switches_is_drawn() -> None:
    names = ["host0", *(f"pcie_switch{index}" for index in range(1500))]
    rate = {"value": 10, "source": "assumed"}
    document = {
        "version": 1,
        "name": "chain",
        "devices": [{"id": name, "kind": name.rstrip("0123456789")} for name in names],
        "links": [
            {"from": one, "to": other, "kind": "pcie", "forward_gbps": rate, "backward_gbps": rate}
            for one, other in pairwise(names)
        ],
    }
    machine = Machine.model_validate(document)
    assert {column for column, _ in place(machine).values()} == {0}
    assert "pcie_switch9" in shown(lambda console: print_machine(machine, console))


def test_a_machine_of_one_device_is_drawn() -> None:
    machine = Machine.model_validate({"version": 1, "name": "one", "devices": [{"id": "host0", "kind": "host"}]})
    assert "host0" in machine_svg(machine)
    assert "host0" in shown(lambda console: print_machine(machine, console))
