"""The command line in a process of its own that is forked, not started: what it stands on is imported once."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from typing import BinaryIO, NoReturn

from sennit.__main__ import VERBS, main

for verb in VERBS.values():
    import_module(f"sennit.verbs.{verb.module}")


def sennit(
    *arguments: str, environment: Mapping[str, str], folder: Path | None = None, limit: int = 60
) -> CompletedProcess[str]:
    """What `sennit ARGUMENTS` does there, through pipes. After `limit` seconds SIGALRM ends it."""
    with TemporaryFile() as out, TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _become(["sennit", *arguments], environment, folder, (out, err), limit)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (out, err):
            file.seek(0)
        return CompletedProcess(["sennit", *arguments], code, out.read().decode(), err.read().decode())


def _become(
    arguments: list[str], environment: Mapping[str, str], folder: Path | None, streams: Sequence[BinaryIO], limit: int
) -> NoReturn:
    """The whole life of the child: it never returns into the test that forked it."""
    code: object = 70
    try:
        signal.alarm(limit)
        for number, stream in enumerate(streams, 1):
            os.dup2(stream.fileno(), number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder or ".")
        sys.argv = arguments
        code = 0
        main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # as Python's own last handler does
        traceback.print_exc()
        code = 1
    finally:
        if not isinstance(code, int):
            sys.stderr.write(f"{code}\n")
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
