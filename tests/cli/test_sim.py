"""Pictures, pages and sweeps of `sennit sim`, and what programs ask it by. The file is long, as they share made-up
programs and machines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import sennit
from conftest import ROOT, Programs, check_snapshot, data, shown
from sennit import units
from sennit.model.machine import Link, Machine
from sennit.model.sim import Load, Messages, MessagesSweep, SimulatedPut, Simulation, Sweep
from sennit.programs.problem import Exit, Problem
from sennit.programs.sim import nodes_of, sizes_of
from sennit.views import sim_sweep, sim_text
from sennit.views.charts.bars import Bar, bar_chart
from sennit.views.charts.frame import time_axis
from sennit.views.loads import LAST_BAND, Loads, band, link_lines, ways
from sennit.views.machine_svg import machine_svg
from sennit.views.messages_sweep import picture as picture_of_messages
from sennit.views.messages_sweep import print_messages_sweep
from sennit.views.sim_html import picture, simulation_html, sweep_html

SVG = "{http://www.w3.org/2000/svg}"
# Of the made-up machine: each way, both together, through a switch, of a device, and of what is not there.
BUSY = {
    "gpu0<>gpu1": 0.95, "gpu0>gpu1": 0.9, "gpu1>gpu0": 0.3, "gpu0>pcie_switch0": 0.6, "pcie_switch0>gpu0": 0.6,
    "pcie_switch0>host0": 0.001, "host1>host0": 0.25, "host0:write": 0.8, "host0:memory": 0.1, "gpu0:memory": 0.04,
    "gpu9>gpu8": 1.0, "gpu7:memory": 0.5,
}  # fmt: skip


def loads() -> list[Load]:
    return [Load(resource=name, bytes=1e6, busy=busy) for name, busy in BUSY.items()]


@pytest.fixture
def machine() -> Machine:
    """The made-up machine."""
    return Machine.model_validate(data("machine"))


@pytest.fixture
def found() -> Simulation:
    """A made-up answer of it."""
    return Simulation.model_validate(data("sim") | {"loads": [each.model_dump() for each in loads()]})


@pytest.fixture
def sweep() -> Sweep:
    """Two sizes on two made-up machines."""
    return Sweep.model_validate(data("sim_sweep"))


def texts(svg: str) -> list[str]:
    """All that is written in a picture."""
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def looks(svg: str) -> dict[str, str]:
    """The class of each link, by its ends."""
    found = {}
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        title = path.find(f"{SVG}title")
        if title is not None and title.text:
            found[title.text.split(":")[0]] = path.attrib["class"]
    return found


def test_the_picture_of_loads(machine: Machine, found: Simulation) -> None:
    check_snapshot("sim-loads.svg", picture(found, machine))


def test_links_are_coloured_and_labelled_by_how_busy_they_were(machine: Machine, found: Simulation) -> None:
    svg = picture(found, machine)
    assert looks(svg) == {
        "gpu0 – gpu1": "link load5",
        "gpu0 – pcie_switch0": "link load3",
        "gpu1 – pcie_switch0": "link load0",
        "pcie_switch0 – host0": "link load1",
        "gpu2 – host1": "link load0",
        "host0 – host1": "link load2",
    }
    said = texts(svg)
    for label in ("→ 90 %", "← 30 %", "Σ 95 %", "↕ 60 %", "↓ <1 %", "↑ 0 %", "← 25 %", "write 80 %", "memory 4 %"):
        assert label in said
    for name in ("nothing", "below 25 %", LAST_BAND):
        assert name in said
    assert "GB/s each way of the whole bundle; dashed: not measured" not in said
    assert svg.index("gpu1 – pcie_switch0") < svg.index("gpu0 – gpu1:")  # the busiest above the others


def test_a_picture_under_a_what_if_says_whose_widths_it_has(machine: Machine, found: Simulation) -> None:
    assert "Widths are of the machine without the what-if." in texts(picture(found, machine))
    assert "if nvlink.bandwidth=2x" in picture(found, machine)
    found.what_if = []
    assert "what-if" not in picture(found, machine)


def test_a_machine_that_carried_nothing_is_drawn(machine: Machine) -> None:
    svg = machine_svg(machine, Loads([], "nothing to do", ""))
    assert set(looks(svg).values()) == {"link load0"}


@pytest.mark.parametrize("file", sorted((ROOT / "machines").glob("*.json")), ids=lambda file: file.stem)
def test_every_shipped_machine_is_drawn_with_loads(file: Path) -> None:
    machine = Machine.model_validate(json.loads(file.read_text(encoding="utf-8")))
    all_links = [Load(resource=f"{link.from_}>{link.to}", bytes=1, busy=0.5) for link in machine.links]
    svg = machine_svg(machine, Loads(all_links, "half", ""))
    assert set(looks(svg).values()) == {"link load3"}


@pytest.mark.parametrize(
    ("busy", "which"), [(0, 0), (1e-9, 1), (0.244, 1), (0.246, 2), (0.5, 3), (0.749, 4), (0.899, 5), (1e18, 5)]
)
def test_a_colour_is_that_of_the_per_cent_that_are_written(busy: float, which: int) -> None:
    assert band(busy) == which


def test_links_side_by_side_and_named_the_other_way_round() -> None:
    rate = {"value": 1, "source": "assumed"}
    link = Link.model_validate({"from": "a", "to": "b", "kind": "pcie", "forward_gbps": rate, "backward_gbps": rate})
    given = [("a>b", 0.1), ("a>b", 0.4), ("b<>a", 0.5), ("a:read", 0.2), ("a:write", 0.7), ("ab:write", 0.9)]
    loads = Loads([Load(resource=name, bytes=1, busy=busy) for name, busy in given], "", "")
    assert loads.of(link) == (0.4, 0, 0.5)
    assert loads.told(link) == "a>b 40 %, b>a 0 %, both ways together 50 %"
    assert loads.limits("a") == [("write", 0.7), ("read", 0.2)]


def test_ways_point_where_the_picture_has_the_ends() -> None:
    assert [ways(1, 0), ways(-1, 0), ways(5, 1), ways(5, -1)] == ["→←↔", "←→↔", "↓↑↕", "↑↓↕"]
    assert link_lines(0.5, 0.5, 0.9, "↓↑↕") == ["↕ 50 %", "Σ 90 %"]
    assert link_lines(0.5, 0.2, 0.5, "↓↑↕") == ["↓ 50 %", "↑ 20 %"]
    assert link_lines(0, 0, 0, "↓↑↕") == []


def test_the_page_of_a_simulation(machine: Machine, found: Simulation) -> None:
    page = simulation_html(found, machine)
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert page.count("<svg") == 2
    assert "<h1>sennit sim: allreduce 1 MiB, 4 ranks on made-up-4, if nvlink.bandwidth=2x</h1>" in page
    for said in ("Simulated, not measured", "segmented_ring 32x256", "<td>39 %</td><td>13.6 µs</td><td>signals</td>"):
        assert said in page
    assert "<td>hierarchical 16x256</td>" in page
    assert page.count("<td>segmented_ring") == 1  # of each algorithm the fastest plan


def test_pages_escape_what_documents_say(machine: Machine, found: Simulation, sweep: Sweep) -> None:
    found.machine = sweep.simulations[0].machine = "<script>alert(1)</script>"
    found.what_if = ["<b>"]
    found.critical[0].what = found.loads[0].resource = "<i>"
    machine.description = "<u>"
    for page in (simulation_html(found, machine), sweep_html(sweep)):
        for tag in ("<script", "<b>", "<i>", "<u>"):
            assert tag not in page


def test_a_long_list_of_loads_is_cut_in_the_chart_only(machine: Machine, found: Simulation) -> None:
    found.loads = [Load(resource=f"gpu{index}:engines", bytes=1, busy=0.5) for index in range(40)]
    page = simulation_html(found, machine)
    assert "The 24 busiest of 40" in page
    assert "<td>gpu39:engines</td>" in page
    assert "<td>–</td><td>gpu0:engines</td>" in page  # a time, no bytes


def test_a_what_if_shows_before_after_and_how_many_times(found: Simulation, machine: Machine, sweep: Sweep) -> None:
    assert "before" not in shown(lambda console: sim_text.print_simulation(found, console))
    for plan in found.plans:
        plan.before_us = 2.5 * plan.us
    found.before = found.plans[1].model_copy(update={"us": 3 * found.plans[0].us})
    found.in_step_us = 2 * found.plans[0].once_us
    text = shown(lambda console: sim_text.print_simulation(found, console))
    assert re.search(r"back to back +before +× before +× fastest", text)
    assert re.search(rf"{re.escape(units.time(2.5 * found.plans[0].us))} +2\.50 +1\.00", text)
    assert f"Before, the fastest was {found.before.plan}, " in text
    assert "now it is 3.00 times as fast." in text
    assert "Had its blocks stayed in step, it would be" in text
    assert "<th>× before</th>" in simulation_html(found, machine)
    sweep.simulations[0].before = found.before
    assert "× before" in shown(lambda console: sim_sweep.print_sweep(sweep, console))
    messages = Messages.model_validate(data("sim_messages") | {"what_if": ["nvlink.bandwidth=2x"]})
    for algorithm in messages.algorithms:
        algorithm.before_us = 1.5 * algorithm.us
    assert re.search(r"before +× before", shown(lambda console: sim_text.print_messages(messages, console)))
    put = SimulatedPut.model_validate(data("sim_put") | {"before_us": 2 * data("sim_put")["us"]})
    assert "now it is 2.00 times as fast" in shown(lambda console: sim_text.print_put(put, console))


def test_a_sweep_as_a_table(sweep: Sweep) -> None:
    check_snapshot("sim-sweep.txt", shown(lambda console: sim_sweep.print_sweep(sweep, console)))


def test_a_sweep_on_one_machine_names_it_once(sweep: Sweep) -> None:
    sweep.simulations = [each for each in sweep.simulations if each.machine == "other"]
    text = shown(lambda console: sim_sweep.print_sweep(sweep, console))
    assert text.count("other") == 1
    assert "machine" not in text


def test_bandwidths_are_those_of_benchmarks(sweep: Sweep) -> None:
    first = sweep.simulations[0]
    fastest = first.plans[0]
    # Of an allgather the larger buffer holds the messages of all ranks.
    assert first.algbw_gbps(fastest) == pytest.approx(4 * 65536 / 8.0 / 1e3)
    assert first.busbw_gbps(fastest) == pytest.approx(4 * 65536 / 8.0 / 1e3 * 3 / 4)
    first.operation = "allreduce"
    assert first.busbw_gbps(fastest) == pytest.approx(65536 / 8.0 / 1e3 * 3 / 2)
    fastest.us = 0
    assert first.algbw_gbps(fastest) == 0


def test_a_plot_has_a_line_for_each_machine_or_each_algorithm(sweep: Sweep) -> None:
    assert [name for name, _ in sim_sweep.chart_lines(sweep)] == ["made-up-2", "other"]
    sweep.simulations = sweep.simulations[::2]
    assert [name for name, _ in sim_sweep.chart_lines(sweep)] == ["direct", "ring"]
    for draw in (sim_sweep.bandwidth, sim_sweep.time):
        root = ElementTree.fromstring(draw(sweep))
        circles = list(root.iter(f"{SVG}circle"))
        assert len(circles) == 4
        for circle in circles:
            assert 0 <= float(circle.attrib["cx"]) <= 620
            assert 0 <= float(circle.attrib["cy"]) <= 320
    assert "16 MiB: 1190 µs, 42.3 GB/s, ring 128x256" in sim_sweep.time(sweep)


def test_a_plot_has_no_more_lines_than_there_are_colours(sweep: Sweep) -> None:
    for found in sweep.simulations:
        found.machine = "one"
        ring = found.plans[0]
        found.plans += [ring.model_copy(update={"algorithm": f"slow{i}", "us": ring.us * (9 - i)}) for i in range(8)]
    names = [name for name, _ in sim_sweep.chart_lines(sweep)]
    assert names[:3] == ["direct", "ring", "slow7"]
    assert len(names) == 8
    # A legend of three lines has room.
    height = float(ElementTree.fromstring(sim_sweep.bandwidth(sweep)).attrib["viewBox"].split()[3])
    legend = [
        float(each.attrib["y"])
        for each in ElementTree.fromstring(sim_sweep.bandwidth(sweep)).iter(f"{SVG}text")
        if each.text in names
    ]
    assert len(legend) == 8
    assert max(legend) < height


def test_the_page_of_a_sweep(sweep: Sweep) -> None:
    page = sweep_html(sweep)
    assert page.count("<svg") == 2
    assert "<h1>sennit sim: allgather on made-up-2 and other</h1>" in page
    assert "<td>75 % gpu0&gt;gpu1 is full</td><td>ring 128x256</td>" in page
    assert page.count("<details>") == 5  # each case, and how it was simulated


def test_axes_of_time_have_few_ticks_at_powers_of_ten() -> None:
    assert time_axis([80.0, 1190.0]).ticks == [(10, "10 µs"), (100, "100 µs"), (1e3, "1 ms"), (1e4, "10 ms")]
    assert time_axis([0.5, 0.5]).ticks == [(0.1, "0.1 µs"), (1, "1 µs")]
    assert len(time_axis([1e-9, 1e19]).ticks) <= 9


def test_bars_have_their_names_and_stay_inside() -> None:
    root = ElementTree.fromstring(bar_chart("Busy", [Bar("x" * 99, 2.0, "200 %"), Bar("<a>", 0, "0 %")]))
    width = float(root.attrib["viewBox"].split()[2])
    ends = [float(bar.attrib["x"]) + float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect")]
    assert all(0 < end < width for end in ends)
    assert "<a>" in [each.text for each in root.iter(f"{SVG}text")]
    ElementTree.fromstring(bar_chart("none", []))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("64M", ["64M"]),
        ("64K, 1M,64K", ["64K", "1M"]),
        ("64K:1M", ["65536", "262144", "1048576"]),
        ("1K:5000,1G", ["1024", "4096", "5000", "1G"]),
        ("7:7", ["7"]),
        ("fast", ["fast"]),  # the program says what it reads
    ],
)
def test_sizes_are_a_list_with_ranges(text: str, sizes: list[str]) -> None:
    assert sizes_of(text) == sizes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("64K:fast", "'64K:fast' is no range of sizes: 'fast' is not a size"), ("1M:64K", "ends before it starts"),
        ("0:64K", "starts at 0"), (":", "no range of sizes"), ("1:2:3", "'1:2:3' is no range of sizes"),
        ("64K,,1M", "'64K,,1M' is no list of sizes"), ("", "'' is no list of sizes"), ("1:9999999T", "too large"),
    ],
)  # fmt: skip
def test_what_is_no_range_is_named(text: str, said: str) -> None:
    with pytest.raises(Problem) as caught:
        sizes_of(text)
    assert said in caught.value.what
    assert "64K:64M" in caught.value.remedy
    assert caught.value.exit_code == Exit.USAGE


def test_sizes_are_read_as_the_programs_read_them() -> None:
    read = {"4096": 4096, "64K": 65536, "1.5MiB": 3 << 19, "2 gb": 2 << 30, "1T": 1 << 40, " 7B ": 7, ".5k": 512}
    assert {text: units.bytes_of(text) for text in read} == read
    for wrong in ("", "K", "-1", "1Q", "1ib", "1e400", "٣"):
        with pytest.raises(ValueError, match="is not a size"):
            units.bytes_of(wrong)


@pytest.fixture
def made_up(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Programs that this process finds too."""
    programs.add("sennit-sim", data("sim"))
    programs.add("sennit-machine", data("machine"), to="show")
    monkeypatch.setenv("SENNIT_PROGRAMS", str(programs.folder))
    return programs


def test_programs_ask_as_the_command_line_does(made_up: Programs) -> None:
    found = sennit.simulate("allreduce", "64M", machine="mist", algorithm="ring", what_if="nvlink.bandwidth=2x")
    assert found == Simulation.model_validate(data("sim"))
    options = ["--algorithm", "ring", "--what-if", "nvlink.bandwidth=2x"]
    assert made_up.sennit("sim", "allreduce", "64M", "--machine", "mist", *options).returncode == 0
    asked, told = made_up.calls("sennit-sim")
    assert asked == told
    sennit.simulate("reduce-scatter", 4096, out_of_place=True, registered=True, timeline="t.json", what_if=["a", "b"])
    assert made_up.calls("sennit-sim")[-1] == [
        "collective", "--operation", "reduce_scatter", "--bytes", "4096", "--timeline", "t.json",
        "--what-if", "a", "--what-if", "b", "--registered", "--out-of-place",
    ]  # fmt: skip


def test_programs_get_problems(made_up: Programs) -> None:
    error = {"code": "invalid_argument", "what": "no machine is called 'mits'", "where": "", "remedy": "Use mist"}
    made_up.add("sennit-sim", stderr=json.dumps({"error": error}) + "\n", code=2)
    with pytest.raises(Problem, match="'mits'") as caught:
        sennit.simulate("allreduce", "64M", machine="mits")
    assert (caught.value.remedy, caught.value.exit_code) == ("Use mist", Exit.USAGE)


def test_the_package_reads_no_models_before_they_are_asked_for() -> None:
    code = "import sys, sennit; print('pydantic' in sys.modules, hasattr(sennit, 'no'), sennit.simulate.__name__)"
    environment = {"PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False False simulate\n"


def test_one_size_on_one_machine_is_drawn(made_up: Programs) -> None:
    files = ["--svg", "pictures/loads.svg", "--html", "page.html"]
    done = made_up.sennit("sim", "allreduce", "64M", "--machine", "mist", *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout == made_up.sennit("sim", "allreduce", "64M", "--machine", "mist").stdout
    assert "wrote pictures/loads.svg" in done.stderr
    assert "allreduce 1 MiB, 4 ranks on made-up-4" in (made_up.folder / "pictures" / "loads.svg").read_text()
    assert (made_up.folder / "page.html").read_text().startswith("<!doctype html>")
    assert made_up.calls("sennit-machine") == [["show", "mist"]]


def test_the_machine_that_is_drawn_is_the_one_that_was_reckoned_with(made_up: Programs) -> None:
    made_up.add("sennit-machine", data("machine"), to="cached")
    done = made_up.sennit("sim", "allreduce", "64M", "--svg", "a.svg")
    assert done.returncode == 0, done.stderr
    made_up.sennit("sim", "allreduce", "64M", "--svg", "a.svg", SENNIT_MACHINE="mist")
    assert made_up.calls("sennit-machine") == [["cached"], ["show", "mist"]]


def test_several_sizes_and_machines_are_one_document(made_up: Programs) -> None:
    done = made_up.sennit("sim", "allreduce", "64K:1M", "--machine", "mist", "--ranks", "2", "--json")
    document = json.loads(done.stdout)
    assert document == {"version": 1, "kind": "sim sweep", "simulations": [data("sim")] * 3}
    assert Sweep.model_validate(document)
    asked = [call[4] for call in made_up.calls("sennit-sim")]
    assert asked == ["65536", "262144", "1048576"]
    assert all(call[-2:] == ["--ranks", "2"] for call in made_up.calls("sennit-sim"))


def test_a_sweep_is_plotted(made_up: Programs) -> None:
    done = made_up.sennit("sim", "allreduce", "1M,2M", "--machine", "mist", "--svg", "a.svg", "--html", "a.html")
    assert done.returncode == 0, done.stderr
    assert re.search(r"1 MiB +4 +34.5 µs +32.8 µs +32.0 +48.0 +hierarchical 16x256", done.stdout)
    root = ElementTree.parse(made_up.folder / "a.svg").getroot()
    assert root.find(f"{SVG}style") is not None
    assert (made_up.folder / "a.html").read_text().count("<svg") == 2
    assert made_up.calls("sennit-machine") == []


def test_what_is_wrong_in_a_sweep_says_where(made_up: Programs) -> None:
    error = {"code": "invalid_argument", "what": "no machine is called 'mits'", "where": "", "remedy": "Use mist"}
    made_up.add("sennit-sim", stderr=json.dumps({"error": error}) + "\n", code=2)
    done = made_up.sennit("sim", "allreduce", "64K,1M", "--machine", "mits")
    assert done.returncode == 2
    assert done.stderr == "sennit: 64K on mits: no machine is called 'mits'\n  Use mist\n"
    done = made_up.sennit("sim", "allreduce", "64K:", "--machine", "mits")
    assert done.returncode == 2
    assert "'64K:' is no range of sizes" in done.stderr


@pytest.mark.parametrize("option", ["--timeline", "--schedule"])
def test_a_sweep_writes_no_file_of_one_call(made_up: Programs, option: str) -> None:
    done = made_up.sennit("sim", "allreduce", "64K,1M", "--machine", "mist", option, "t.json")
    assert done.returncode == 2
    assert f"{option} writes one call to t.json" in done.stderr
    assert made_up.calls("sennit-sim") == []


def test_machines_of_one_name_are_not_mixed_up(made_up: Programs) -> None:
    done = made_up.sennit("sim", "allreduce", "64K", "--machine", "mist", "--machine", "mine/mist.json")
    assert done.returncode == 2
    assert "mist and mine/mist.json are both called 'made-up-4'" in done.stderr
    done = made_up.sennit("sim", "allreduce", "64K", "--machine", "mist", "--machine", "mist", "--json")
    assert json.loads(done.stdout) == data("sim")


@pytest.mark.parametrize(
    ("text", "numbers"), [("4", [4]), ("2:16", [2, 4, 8, 16]), ("3:10", [3, 6, 10]), ("1:1", [1])]
)
def test_numbers_of_nodes_double_up_to_the_last(text: str, numbers: list[int]) -> None:
    assert nodes_of(text) == numbers


@pytest.mark.parametrize("text", ["", "a", "1:2:3", "-1", "2:", "٣"])
def test_what_is_no_number_of_nodes_is_named(text: str) -> None:
    with pytest.raises(Problem, match="no number of nodes") as caught:
        nodes_of(text)
    assert "2:16" in caught.value.remedy


def test_a_range_of_nodes_that_is_none_is_named() -> None:
    with pytest.raises(Problem, match="ends before it starts"):
        nodes_of("4:2")
    with pytest.raises(Problem, match="starts at 0"):
        nodes_of("0:2")


def of_broadcast(nodes: int, size: int) -> dict[str, object]:
    """A made-up answer: the chain grows with the nodes, the multicast does not."""
    times = {"chain": 10.0 * nodes * size / 1024, "multicast": 40.0 * size / 1024}
    sent = [
        {"algorithm": name, "us": us, "closed_form_us": us * 0.9, "messages": nodes, "chunks": 2, "folded": False}
        for name, us in sorted(times.items(), key=lambda each: each[1])
    ]
    kept = {"operation": "broadcast", "bytes": size, "nodes": nodes, "ranks": nodes, "machine": "ri2"}
    return {**data("sim_messages"), **kept, "algorithms": sent}


def test_a_sweep_over_nodes_is_a_table_and_a_plot_of_each_size() -> None:
    sweep = MessagesSweep.model_validate({
        "version": 1, "kind": "sim messages sweep",
        "simulations": [of_broadcast(nodes, size) for size in (2048, 8192) for nodes in (2, 4, 8)],
    })  # fmt: skip
    text = shown(lambda console: print_messages_sweep(sweep, console))
    assert re.search(r"size +nodes +ranks +multicast +chain", text)
    assert re.search(r"8 KiB +8 +8 +320 µs +640 µs", text)
    root = ElementTree.fromstring(picture_of_messages(sweep))
    assert len(list(root.iter(f"{SVG}circle"))) == 2 * 2 * 3
    assert len([each for each in texts(picture_of_messages(sweep)) if "over ranks of ri2" in each]) == 2
    assert "equation of the fastest" in texts(picture_of_messages(sweep))
    sweep.simulations = [each for each in sweep.simulations if each.nodes == 4]
    assert "nodes" not in shown(lambda console: print_messages_sweep(sweep, console)).splitlines()[1]
    assert "8 KiB" in texts(picture_of_messages(sweep))


def test_several_sizes_and_nodes_are_asked_one_by_one(made_up: Programs) -> None:
    made_up.add("sennit-sim", data("sim_messages"))
    options = ["--machine", "dgx-h100", "--nodes", "2:4", "--sources", "all", "--k", "8"]
    done = made_up.sennit("sim", "broadcast", "2K,8K", *options, "--json", "--svg", "a.svg")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "sim messages sweep"
    assert (made_up.folder / "a.svg").read_text().startswith("<svg")
    asked = made_up.calls("sennit-sim")
    assert [(call[4], call[call.index("--nodes") + 1]) for call in asked] == [
        ("2K", "2"), ("2K", "4"), ("8K", "2"), ("8K", "4"),
    ]  # fmt: skip
    assert all("--sources all --k 8" in " ".join(call) for call in asked)


def test_sources_are_of_whole_messages(made_up: Programs) -> None:
    done = made_up.sennit("sim", "broadcast", "2K", "--machine", "mist", "--sources", "2")
    assert (done.returncode, made_up.calls("sennit-sim")) == (2, [])
    assert "--sources and --k are of whole messages" in done.stderr


def test_messages_show_what_only_some_have() -> None:
    found = Messages.model_validate(of_broadcast(4, 2048) | {"sources": 4, "unreachable": ["linear"]})
    found.algorithms[0].overlap = 0.25
    text = shown(lambda console: sim_text.print_messages(found, console))
    assert "broadcast 2 KiB from 4 roots, 4 ranks on 4 × ri2 (simulated)" in text
    assert re.search(r"chunks +messages +overlap +equation", text)
    assert re.search(r"2 +4 +25 % +\d", text)
    assert "Left out, as no links join some GPUs: linear." in text


def test_equations_say_what_schemes_between_nodes_should_take(made_up: Programs) -> None:
    made_up.add("sennit-sim", of_broadcast(4, 2048) | {"equations": True, "unreachable": ["linear"]})
    done = made_up.sennit("explain", "broadcast", "2K", "--machine", "ri2", "--nodes", "4")
    assert done.returncode == 0, done.stderr
    assert "broadcast 2 KiB, 4 ranks on 4 × ri2 (by equations)" in done.stdout
    assert re.search(r"scheme +should take +× fastest +chunks +equation", done.stdout)
    assert re.search(r"chain +80.0 µs +1.00 +2 +1, 2\n", done.stdout)
    assert "sennit sim broadcast 2048 --machine ri2 --nodes 4" in done.stdout
    assert made_up.calls("sennit-sim")[-1][-1] == "--equations"
    done = made_up.sennit("explain", "broadcast", "2K", "--nodes", "4", "--ranks", "2")
    assert done.returncode == 2
    assert "--ranks is of one node" in done.stderr
