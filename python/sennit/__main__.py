"""The command line: `sennit`, or `python -m sennit`."""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from sennit.programs import console
from sennit.programs.problem import Problem
from sennit.verbs.options import examples

HELP = "One message, every path: measures how a machine's GPUs are really linked, and plans every transfer by it."


@dataclass(frozen=True)
class Verb:
    """Where a verb is: a function in a module of sennit.verbs, or, without one, what that module has below it. `does`
    stands in the list of all verbs, which reads none of their modules."""

    does: str
    module: str
    function: str = ""
    examples: str = "EXAMPLES"
    own_arguments: bool = True  # else what follows its first argument is somebody else's, dashes included

    def add(self, app: typer.Typer, name: str) -> None:
        """Imports it: what a verb stands on may take a good part of a second."""
        module: Any = import_module(f"sennit.verbs.{self.module}")
        if not self.function:
            app.add_typer(module.app, name=name)
            return
        verb = getattr(module, self.function)
        app.command(
            name,
            # One line a paragraph: the screen breaks lines, wherever the source does.
            help=re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(verb) or ""),
            epilog=getattr(module, self.examples),
            context_settings={"allow_interspersed_args": self.own_arguments},
        )(verb)


# In the order in which they are listed.
VERBS = {
    "doctor": Verb("Say what works on this machine, what does not, and the exact fix.", "doctor", "doctor"),
    "topo": Verb("Show a machine: its devices, their links, and what each link really delivers.", "topo", "topo"),
    "tune": Verb("Measure what is fastest on this machine, and keep it.", "tune", "tune"),
    "table": Verb("Show, compare and check what was tuned.", "table"),
    "bench": Verb("Measure how fast it is, and against what.", "bench"),
    "compare": Verb("Compare two results, or two profiles, row by row.", "compare", "compare"),
    "explain": Verb("Say why a message travels, or a collective works, as it does.", "explain"),
    "sim": Verb("Say what a collective would take on a machine, and what limits it.", "sim"),
    "check": Verb("Prove every algorithm right.", "sim", "check", "CHECK_EXAMPLES"),
    "reproduce": Verb(
        "Replay what was measured on a machine, or do a paper's experiments again.", "reproduce", "reproduce"
    ),
    "run": Verb(
        "Run an MPI or NCCL program with sennit between it and its library.", "run", "run", own_arguments=False
    ),
    "profile": Verb(
        "Run a program, and write down what it communicates.", "profile", "profile", own_arguments=False
    ),
    "map": Verb("Say which rank belongs on which GPU.", "map", "map_ranks"),
    "report": Verb("Show a profile, or any other document of sennit.", "report", "report"),
    "version": Verb(
        "Print the version, where its programs are, and which GPUs they have kernels for.", "version", "version"
    ),
}  # fmt: skip


class InOrder(TyperGroup):
    """Lists verbs in the order of VERBS, which typer does not: groups come last there."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return [name for name in VERBS if name in self.commands]


def _version(asked: bool) -> None:
    if asked:
        import_module("sennit.verbs.version").version()
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="As the verb version.")
    ] = False,
) -> None:
    """Nothing of its own: the verbs do everything. Named here so that typer always expects a verb."""


def command_line(arguments: Sequence[str]) -> typer.Typer:
    """What understands these arguments: the verb that they begin with alone, else the list of all verbs."""
    app = typer.Typer(
        name="sennit",
        cls=InOrder,
        help=HELP,
        epilog=examples("sennit doctor", "sennit topo --measure", "sennit tune", "sennit bench put --html put.html"),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    # Behind "--", too, the first is a verb.
    first = next((each for each in arguments if each != "--"), "")
    if first in VERBS:
        VERBS[first].add(app, first)
        return app
    for name, verb in VERBS.items():
        app.command(name, help=verb.does)(_root)
    return app


ENDING = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """Somebody wants this process to end: what it has started is ended first."""

    def __init__(self, number: int) -> None:
        self.number = number


def _end(number: int, _frame: FrameType | None) -> None:
    # timeout asks the process and then its group: a second time would end what is done at the first.
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise Ended(number)


def main() -> None:
    """Runs the command line. Problems become two lines on stderr and their exit code; a reader that closes the pipe
    early (head, less) is no problem. SIGTERM and SIGHUP (timeout, a closed terminal) leave nothing behind."""
    for number in ENDING:
        signal.signal(number, _end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a letter that its encoding lacks is no reason to end
            stream.reconfigure(errors="replace")
    try:
        command_line(sys.argv[1:])(prog_name="sennit")
    except Problem as problem:
        screen = console.messages()
        screen.print(Text.assemble(("sennit: ", "bold red"), problem.what), soft_wrap=True)
        if problem.remedy:
            screen.print(Text(f"  {problem.remedy}"), soft_wrap=True)
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except Ended as ended:
        sys.exit(128 + ended.number)
    except BrokenPipeError:
        # Python would complain once more when it flushes stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


if __name__ == "__main__":
    main()
