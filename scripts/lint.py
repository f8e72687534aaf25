"""Formatting, lint and types of the whole tree: clang-format, clang-tidy, ruff, mypy --strict. --fix formats instead.

Exit code 1 when anything is to be changed; what, and how, is printed."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from house import BIN, ROOT, tracked
from tidy import tidy

CPP = ["*.cc", "*.h", "*.cu", "*.cuh", "*.hpp", "*.c"]


def call(command: list[str]) -> list[str]:
    """Runs one tool; its output as one complaint when it failed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [(done.stdout + done.stderr).strip()]


def clang_format(fix: bool, files: Sequence[str] = ()) -> list[str]:
    """The formatting of C++ and CUDA, in .clang-format's style; of all files unless some are given."""
    files = files or [str(file) for file in tracked(*CPP)]
    mode = ["-i"] if fix else ["--dry-run", "-Werror"]
    return call([str(BIN / "clang-format"), *mode, *files]) if files else []


def ruff(fix: bool, files: Sequence[str] = ()) -> list[str]:
    """The formatting and lint of Python; of all files unless some are given."""
    files = files or ["python", "scripts", "tests", "examples"]
    complaints = call([str(BIN / "ruff"), "check", "-q", *(["--fix"] if fix else []), *files])
    return complaints + call([str(BIN / "ruff"), "format", "-q", *([] if fix else ["--diff"]), *files])


def mypy() -> list[str]:
    """The types of the package, of the scripts, of the tests and of the examples."""
    return call(
        [
            str(BIN / "mypy"),
            "--no-error-summary",
            "python/sennit",
            "scripts",
            "tests/cli",
            "tests/gpu",
            "tests/interop",
            "examples",
        ]
    )


def checks() -> dict[str, list[str]]:
    """The complaints by tool, in the order they are reported."""
    return {
        "clang-format": clang_format(fix=False),
        "clang-tidy": tidy(),
        "ruff": ruff(fix=False),
        "mypy": mypy(),
    }


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="format in place, and say what remains")
    if parser.parse_args().fix:
        found = {"clang-format": clang_format(fix=True), "ruff": ruff(fix=True)}
    else:
        found = checks()
    for tool, complaints in found.items():
        for complaint in complaints:
            print(f"--- {tool}\n{complaint}\n")
    failed = [tool for tool, complaints in found.items() if complaints]
    remedy = f": {', '.join(failed)} (make format mends formatting)" if failed else ""
    print(f"lint: {len(found) - len(failed)} passed, {len(failed)} failed{remedy}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
