"""The command line: `sennit`, or `python -m sennit`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import typer
from rich.text import Text

from sennit import console
from sennit.problem import Problem
from sennit.verbs import bench, compare, doctor, explain, reproduce, run, sim, table, topo, tune, version
from sennit.verbs.options import examples

app = typer.Typer(
    name="sennit",
    help="One message, every path: measures how a machine's GPUs are really linked, and plans every transfer by it.",
    epilog=examples("sennit doctor", "sennit topo --measure", "sennit tune", "sennit bench put --html put.html"),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command("topo", epilog=topo.EXAMPLES)(topo.topo)
app.command("tune", epilog=tune.EXAMPLES)(tune.tune)
app.add_typer(table.app, name="table")
app.add_typer(bench.app, name="bench")
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.add_typer(explain.app, name="explain")
app.add_typer(sim.app, name="sim")
app.command("check", epilog=sim.CHECK_EXAMPLES)(sim.check)
app.command("reproduce", epilog=reproduce.REPRODUCE_EXAMPLES)(reproduce.reproduce)
# What follows the command is its own, dashes included.
app.command("run", epilog=run.EXAMPLES, context_settings={"allow_interspersed_args": False})(run.run)
app.command("version", epilog=version.EXAMPLES)(version.version)


@app.callback()
def _root() -> None:
    """Nothing of its own: the verbs do everything. Named here so that typer always expects a verb."""


class Ended(BaseException):
    """Somebody wants this process to end: what it has started is ended first."""

    def __init__(self, number: int) -> None:
        self.number = number


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)


def main() -> None:
    """Runs the command line. Problems become two lines on stderr and their exit code; a reader that closes the pipe
    early (head, less) is no problem. SIGTERM and SIGHUP (timeout, a closed terminal) leave nothing behind."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        app(prog_name="sennit")
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
