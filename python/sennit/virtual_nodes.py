"""Nodes that have nothing but a network between them, on one host: Linux namespaces, tied by veth pairs to a bridge.

Each node has a network, a /sys and a host's name of its own, so that an MPI's daemons in it take it for another host,
and so do sennit's ranks. Memory, cores and GPUs stay the host's. As root it needs no more; others need a system that
lets them make user namespaces. Nothing outlives the process that made them, however that ends: all nodes are in one
process namespace, whose first process reads a pipe of their maker's, and the kernel ends others with the first."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sennit.programs.launcher import HYDRA, OPENMPI, Launcher
from sennit.programs.problem import Exit, Problem

MOST = 64  # a default: each node takes a daemon's memory, and the host's cores are divided among all
ELSEWHERE = "Take each N ranks for a node instead: --ranks-per-node N"

# A namespace's first process says which one it is, by the /proc that it finds, and when it is ready; it ends when its
# input does.
FIRST = 'read -r number rest < /proc/self/stat && echo "$number" && hostname "$0" && {} && echo ready && exec cat'
OF_ALL = FIRST.format("mount -t proc proc /proc")
OF_A_NODE = FIRST.format("mount -t sysfs sysfs /sys && ip link set lo up")


@dataclass(frozen=True)
class Around:
    """The namespaces around all nodes, of their processes and the switch between them: their first process, as their
    maker numbers it. `rootless`: that is not root, and they are in a user namespace."""

    process: int
    rootless: bool

    def enter(self, *namespaces: str) -> list[str]:
        """What starts a command there. Processes have the numbers there that nodes know them by."""
        user = ["--user", "--preserve-credentials"] if self.rootless else []
        return ["nsenter", f"--target={self.process}", *user, "--mount", "--pid", *namespaces, "--"]


@dataclass(frozen=True)
class Node:
    """A node: the first process in it, and its address."""

    around: Around
    process: int
    address: str = ""
    gpus: tuple[str, ...] | None = None  # that CUDA shows there; None: all

    def reach(self) -> list[str]:
        """What starts a command there, in this process's folder: from this or another node."""
        shown = [] if self.gpus is None else [f"CUDA_VISIBLE_DEVICES={','.join(self.gpus)}"]
        there = ["env", *shown, "sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd())]
        return ["nsenter", f"--target={self.process}", "--net", "--uts", "--mount", "--", *there]

    def enter(self) -> list[str]:
        """The same from outside."""
        return [*self.around.enter(), *self.reach()]

    def bytes_sent(self) -> int:
        """What its wire has carried away from it."""
        told = subprocess.run([*self.enter(), "cat", "/sys/class/net/wire/statistics/tx_bytes"],
                              capture_output=True, check=True)  # fmt: skip
        return int(told.stdout)


def missing_programs() -> list[str]:
    """Those of the programs that namespaces need that are not here, with what brings them."""
    needed = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "hostname": "hostname"}
    return [f"{name} (Debian: {package})" for name, package in needed.items() if not shutil.which(name)]


def refused(why: str) -> Problem:
    """`why`: what the system said."""
    who = "root" if os.geteuid() == 0 else "this user"
    return Problem(
        f"this system lets {who} make no network namespaces: {why or 'it says no more'}",
        f"{'Leave the container, or give it CAP_SYS_ADMIN' if who == 'root' else 'Run it as root'}. {ELSEWHERE}",
        Exit.ENVIRONMENT,
    )


def _start(stack: ExitStack, begin: Sequence[str], first: str, name: str) -> int:
    """Makes namespaces by a command; the number of their first process. Raises Problem (environment)."""
    made = subprocess.Popen(
        [*begin, "sh", "-c", first, name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip

    @stack.callback
    def end() -> None:
        for stream in (made.stdin, made.stdout, made.stderr):
            assert stream is not None
            stream.close()
        made.wait()

    assert made.stdout is not None
    number, ready = made.stdout.readline().strip(), made.stdout.readline().strip()
    if ready != "ready":
        assert made.stderr is not None
        raise refused(made.stderr.read().strip().partition("\n")[0])
    return int(number)


def _ip(enter: Sequence[str], *commands: str) -> None:
    """Runs commands of `ip` in a network. Raises Problem (environment)."""
    done = subprocess.run([*enter, "ip", "-batch", "-"], input="\n".join(commands) + "\n",
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        raise refused(done.stderr.strip().partition("\n")[0])


@contextmanager
def networks(count: int, gpus: Sequence[str] = ()) -> Iterator[list[Node]]:
    """So many nodes, with wires to a switch. `gpus`: of this host, as CUDA_VISIBLE_DEVICES names them; each node is
    shown as many. Raises Problem: usage (too many nodes), environment (no namespaces to be had)."""
    if not 2 <= count <= MOST:
        raise Problem(f"{count} virtual nodes cannot be made", f"Use 2 to {MOST}", Exit.USAGE)
    if missing := missing_programs():
        raise Problem(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not on PATH, which virtual "
                      "nodes need", f"Install what is missing. {ELSEWHERE}", Exit.ENVIRONMENT)  # fmt: skip
    rootless = os.geteuid() != 0
    host = socket.gethostname()[:48]  # a name has at most 64 bytes
    with ExitStack() as stack:
        begin = ["unshare", *(["--user", "--map-root-user"] if rootless else []), "--mount", "--pid", "--fork"]
        around = Around(_start(stack, [*begin, "--net", "--uts"], OF_ALL, f"{host}-switch"), rootless)
        begin = [*around.enter(), "unshare", "--net", "--uts", "--mount"]
        each = len(gpus) // count
        nodes = [
            Node(around, _start(stack, begin, OF_A_NODE, f"{host}-{i + 1}"), f"10.213.7.{i + 1}",
                 tuple(gpus[i * each : (i + 1) * each]) if gpus else None)
            for i in range(count)
        ]  # fmt: skip
        wires = [part for i, node in enumerate(nodes) for part in (
            f"link add port{i} type veth peer name wire netns {node.process}",
            f"link set port{i} master switch up",
        )]  # fmt: skip
        _ip(around.enter("--net"), "link add switch type bridge", "link set switch up", *wires)
        for node in nodes:
            _ip(node.enter(), f"addr add {node.address}/24 dev wire", "link set wire up")
        yield nodes


@dataclass(frozen=True)
class Between:
    """A launcher of an MPI between nodes; see between()."""

    launcher: Launcher
    nodes: Sequence[Node]
    ranks: int
    options: tuple[str, ...]

    def command(self, program: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        """What starts the ranks of a program. `variables`: for all of them."""
        there = replace(self.launcher, options=(*self.options, *self.launcher.options))
        # Whoever made the namespaces is root in them.
        return [*self.nodes[0].enter(), *there.command(self.ranks, program, variables, root=True, cores=self.ranks)]


def between(launcher: Launcher, nodes: Sequence[Node], ranks: int, folder: Path) -> Between:
    """Has an MPI's launcher start as many of the ranks on each node, by daemons of its own that it starts there; the
    messages between nodes go over TCP. `folder`: for a file that the launcher needs. Raises Problem (usage): ranks
    that are no multiple of the nodes, or a launcher that is neither Open MPI's nor MPICH's."""
    count = len(nodes)
    if launcher.kind not in (OPENMPI, HYDRA):
        raise Problem(f"{launcher.program.name} starts no ranks on virtual nodes",
                      "Name Open MPI's mpirun or MPICH's mpiexec by --launcher", Exit.USAGE)  # fmt: skip
    if ranks % count != 0:
        raise Problem(f"{ranks} ranks are no whole number of ranks on each of {count} virtual nodes",
                      f"Use a multiple of {count}: -n {(ranks // count + 1) * count}", Exit.USAGE)  # fmt: skip
    each = ranks // count
    # What both launchers take for ssh: its last arguments are the address and a command.
    shell = folder / "shell"
    cases = "\n".join(f'{node.address}) exec {shlex.join(node.reach())} sh -c "$*";;' for node in nodes)
    shell.write_text(
        "#!/bin/sh\n"
        'while [ "${1#-}" != "$1" ]; do shift; done\n'
        "address=$1\nshift\n"
        f'case "$address" in\n{cases}\nesac\n'
    )
    shell.chmod(0o755)
    if launcher.kind == OPENMPI:
        options = ["--prtemca", "plm_ssh_agent", str(shell), "--map-by", f"ppr:{each}:node:OVERSUBSCRIBE"]
        options += ["--host", ",".join(f"{node.address}:{each}" for node in nodes)]
    else:
        # Else its UCX takes shared memory, which does not end with a network.
        options = ["-launcher", "ssh", "-launcher-exec", str(shell), "-genv", "UCX_TLS", "tcp,self"]
        options += ["-ppn", str(each), "-hosts", ",".join(node.address for node in nodes)]
    return Between(launcher, nodes, ranks, tuple(options))
