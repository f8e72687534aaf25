"""Files of packages from the package index, fetched once for all tests and workers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

from folder_lock import locked


@cache
def unpacked(name: str, folder: Path, options: tuple[str, ...], unpack: Callable[[Path, Path], None]) -> Path | str:
    """A folder, in `folder`, of what `unpack(file, folder)` makes of the installed version's package; or why it is
    not there. `options`: of pip download. A process asks the index once."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"the package {name} is not installed"
    made = folder / f"{name}-{version}"
    with locked(made):
        if made.is_dir():
            return made
        new, files = made.with_name(f"{made.name}.new"), made.with_name(f"{made.name}.files")
        command = [sys.executable, "-m", "pip", "download", "-q", "--retries", "1", "--no-deps", *options, "-d"]
        try:
            subprocess.run([*command, str(files), f"{name}=={version}"], capture_output=True, timeout=120, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            return f"the package {name} {version} cannot be had: {error}"
        (file,) = files.iterdir()
        new.mkdir(exist_ok=True)
        unpack(file, new)
        new.rename(made)
        file.unlink()
        files.rmdir()
    return made
