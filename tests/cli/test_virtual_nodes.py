"""Virtual nodes: namespaces of one host with a network between them, and `sennit bench mpi` on them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import ROOT, data, shown
from sennit import virtual_nodes
from sennit.compare.groups import title
from sennit.model.result import Result
from sennit.programs.launcher import HYDRA, OPENMPI, OTHER, Launcher
from sennit.programs.problem import Exit, Problem
from sennit.verbs import mpi
from sennit.views.sections import print_result
from test_mpi import Tree


@contextmanager
def networks(count: int, gpus: tuple[str, ...] = ()) -> Iterator[list[virtual_nodes.Node]]:
    try:
        with virtual_nodes.networks(count, gpus) as made:
            yield made
    except Problem as problem:
        pytest.skip(problem.what)


def said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout


SEND = "import socket, sys; socket.create_connection((sys.argv[1], 5000), 10).sendall(bytes(100_000))"
RECEIVE = (
    "import socket; end = socket.create_server(('', 5000)); print('listens', flush=True); taken = end.accept()[0]; "
    "print(sum(len(part) for part in iter(lambda: taken.recv(65536), b'')))"
)


def test_nodes_have_a_network_between_them_and_gpus_of_their_own() -> None:
    with networks(3, ("4", "5", "6", "7")) as nodes:
        shows = [said([*node.enter(), "sh", "-c", "hostname; echo $CUDA_VISIBLE_DEVICES; pwd"]) for node in nodes]
        assert len({text.split()[0] for text in shows}) == 3
        assert [text.split()[1:] for text in shows] == [[gpu, str(Path.cwd())] for gpu in ("4", "5", "6")]
        receiver = subprocess.Popen([*nodes[1].enter(), sys.executable, "-c", RECEIVE], stdout=subprocess.PIPE)
        assert receiver.stdout is not None
        with receiver.stdout as told:
            assert told.readline() == b"listens\n"
            # From one node to another, as daemons are started.
            via = [*nodes[0].enter(), *nodes[2].reach()]
            subprocess.run([*via, sys.executable, "-c", SEND, nodes[1].address], check=True, timeout=20)
            assert told.readline() == b"100000\n"
        assert receiver.wait(20) == 0
        assert nodes[2].bytes_sent() > 100_000 > nodes[0].bytes_sent()


ENDLESS = """
import subprocess
from sennit import virtual_nodes
with virtual_nodes.networks(2) as nodes:
    sleep = [*nodes[1].enter(), "sh", "-c", "echo; exec 1>&2; sleep 1000; :"]
    begun = subprocess.Popen(sleep, stdout=subprocess.PIPE)
    begun.stdout.readline()
    print(nodes[0].around.process, flush=True)
    input()
"""


def test_nothing_outlives_its_maker() -> None:
    with networks(2) as nodes:
        process = Path(f"/proc/{nodes[0].around.process}")
        assert process.exists()
    assert not process.exists()
    read, write = os.pipe()
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          stderr=write, env=os.environ | {"PYTHONPATH": str(ROOT / "python")}) as maker:  # fmt: skip
        os.close(write)
        assert maker.stdout is not None
        number = maker.stdout.readline().strip()
        maker.send_signal(signal.SIGKILL)
    # The pipe ends when all processes in the nodes have.
    with os.fdopen(read) as told:
        assert told.read() == ""
    end = time.monotonic() + 5
    while Path(f"/proc/{number}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{number}").exists()


@pytest.mark.parametrize(("count", "code"), [(1, Exit.USAGE), (65, Exit.USAGE)])
def test_so_many_nodes_cannot_be_made(count: int, code: Exit) -> None:
    with pytest.raises(Problem, match=f"{count} virtual nodes") as caught, virtual_nodes.networks(count):
        pass
    assert caught.value.exit_code == code


def test_what_a_system_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lacking = r"ip \(Debian: iproute2\) and unshare \(Debian: util-linux\)"
    with pytest.raises(Problem, match=lacking) as caught, virtual_nodes.networks(2):
        pass
    assert caught.value.exit_code == Exit.ENVIRONMENT
    for name in ("ip", "nsenter", "hostname"):
        (tmp_path / name).symlink_to("/bin/true")
    (tmp_path / "unshare").write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\n")
    (tmp_path / "unshare").chmod(0o755)
    why = "make no network namespaces: unshare: unshare failed"
    with pytest.raises(Problem, match=why) as caught, virtual_nodes.networks(2):
        pass
    assert "--ranks-per-node" in caught.value.remedy


NODES = [virtual_nodes.Node(virtual_nodes.Around(70, True), 7 + i, f"10.213.7.{i + 1}", (str(i),)) for i in range(2)]


@pytest.mark.parametrize(("kind", "expected"), [
    (OPENMPI, ["--map-by", "ppr:2:node:OVERSUBSCRIBE", "--host", "10.213.7.1:2,10.213.7.2:2"]),
    (HYDRA, ["-genv", "UCX_TLS", "tcp,self", "-ppn", "2", "-hosts", "10.213.7.1,10.213.7.2"]),
])  # fmt: skip
def test_a_launcher_starts_its_daemons_in_the_nodes(kind: str, expected: list[str], tmp_path: Path) -> None:
    start = Launcher(tmp_path / "mpirun", kind, ("--own",))
    command = virtual_nodes.between(start, NODES, 4, tmp_path).command(["program"], {"LD_PRELOAD": "s.so"})
    entered = ["nsenter", "--target=70", "--user", "--preserve-credentials", "--mount", "--pid", "--", "nsenter",
               "--target=7"]  # fmt: skip
    assert command[: len(entered)] == entered
    at = command.index(str(tmp_path / "mpirun"))
    assert " ".join([*expected, "--own", "-n", "4", "program"]) in " ".join(command[at:])
    # What stands for ssh runs a command on the node that it is told, and leaves options out.
    fake = tmp_path / "nsenter"
    fake.write_text('#!/bin/sh\necho "$@"\n')
    fake.chmod(0o755)
    done = subprocess.run([str(tmp_path / "shell"), "-x", "10.213.7.2", "a  b", "c"], capture_output=True, text=True,
                          env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True)  # fmt: skip
    assert "--target=8 --net --uts --mount -- env CUDA_VISIBLE_DEVICES=1" in done.stdout
    assert done.stdout.endswith("sh -c a  b c\n")


def test_ranks_and_launchers_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="3 ranks are no whole number of ranks on each of 2") as caught:
        virtual_nodes.between(Launcher(tmp_path / "mpirun", OPENMPI), NODES, 3, tmp_path)
    assert caught.value.remedy == "Use a multiple of 2: -n 4"
    with pytest.raises(Problem, match="srun starts no ranks on virtual nodes"):
        virtual_nodes.between(Launcher(tmp_path / "srun", OTHER), NODES, 2, tmp_path)


# ---- the verb -----------------------------------------------------------------------------------------------------


def test_the_verb_runs_a_job_on_each_number_of_nodes(tmp_path: Path) -> None:
    with networks(2):
        pass
    tree = Tree(tmp_path)
    document = data("mpi") | {"settings": {"executor": "cuda", "ranks": 2}, "warnings": ["as ever"]}
    tree.add(mpi.PROGRAM, document)
    done = tree.bench("--operations", "latency", "--virtual-nodes", "2,3", "--vs", "by_hand", "--json", "r.json",
                      CUDA_VISIBLE_DEVICES="0,1,2,3,4,5")  # fmt: skip
    assert done.returncode == 0, done.stderr
    kept = json.loads((tree.folder / "r.json").read_text())
    assert kept["rows"] == document["rows"] * 2
    assert kept["warnings"] == [mpi.ON_ONE_HOST, "as ever"]
    assert kept["settings"]["virtual_nodes"] == [2, 3]
    first, second = tree.started()
    assert "--map-by ppr:3:node:OVERSUBSCRIBE --host 10.213.7.1:3,10.213.7.2:3 -n 6" in first
    assert "--map-by ppr:2:node:OVERSUBSCRIBE" in second
    assert " -n 6 " in second
    assert first.partition("|")[0], "the drop-in is preloaded there too"
    assert not list(Path(os.environ.get("TMPDIR", "/tmp")).glob("sennit-nodes-*/shell"))


@pytest.mark.parametrize(("arguments", "what"), [
    (["--virtual-nodes", "2", "--ranks-per-node", "1"], "Use one of the two"),
    (["--virtual-nodes", "two"], "no list of numbers"),
    (["--virtual-nodes", "1"], "1 virtual nodes cannot be made"),
    (["--virtual-nodes", "2", "-n", "3"], "-n 4"),
])  # fmt: skip
def test_wrong_usage_is_told_before_ranks_start(tmp_path: Path, arguments: list[str], what: str) -> None:
    if not shutil.which("unshare"):
        pytest.skip("unshare is not on PATH")
    tree = Tree(tmp_path)
    done = tree.bench(*arguments)
    assert what in " ".join(done.stderr.split())
    assert not (tree.folder / "started").exists()


def test_rows_of_other_numbers_of_nodes_stand_apart() -> None:
    rows = [row | {"nodes": nodes, "ranks": 4} for nodes in (2, 4) for row in data("mpi")["rows"]]
    result = Result.model_validate(data("mpi") | {"rows": rows})
    assert {"on 2 nodes", "on 4 nodes"} <= {title(row).partition(" ranks ")[2] for row in result.rows}
    text = shown(lambda console: print_result(result, console))
    assert "4 ranks on 2 nodes" in text
    assert "4 ranks on 4 nodes" in text
