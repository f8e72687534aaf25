"""A profile beside what its machine's links allow: the least times are sennit-sim's."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sennit.model.document import parse, read_json
from sennit.model.machine import Machine
from sennit.model.profile import Profile
from sennit.model.profile_links import Asked, all_asked, with_links
from sennit.model.sim import Bounds
from sennit.programs import process
from sennit.programs.machines import this_machine
from sennit.programs.problem import Problem

PROGRAM = "sennit-sim"
MACHINE = "machine.json"  # in a profile's folder


def beside_links(document: Any, profile: Profile, machine: Any | None) -> Any:
    """The document with what its calls reached of what the links of the machine (its document) allow. Where that is
    not known any more, what was found before stays."""
    if machine is None and profile.links is not None:
        return document
    wanted = all_asked(profile) if machine is not None else []
    found = least_us(wanted, machine) if wanted else {}
    return with_links(document, profile, parse(Machine, machine, "the machine") if machine else None, found)


def machine_of(profile: Profile, folder: Path) -> Any | None:
    """The document of the machine that a profile was made on: the one in its folder, else this machine's, as far as
    it is known without measuring, where this is the one and its GPUs were used. Raises Problem where the folder's
    cannot be read."""
    if (folder / MACHINE).is_file():
        return read_json(folder / MACHINE)
    if not any(row.on_gpu for row in profile.rows) or not is_of_this_machine(profile):
        return None
    try:
        return this_machine()
    except Problem:
        return None


def is_of_this_machine(profile: Profile) -> bool:
    """Whether all its ranks ran here."""
    return {rank.host for rank in profile.ranks} == {socket.gethostname()}


def least_us(wanted: Sequence[Asked], machine: Any) -> dict[Asked, float | str]:
    """The µs of each, or why they are not known."""
    with tempfile.TemporaryDirectory(prefix="sennit-bound-") as folder:
        rows, file = Path(folder) / "rows", Path(folder) / "machine.json"
        rows.write_text("".join(f"{each.operation} {each.bytes} {each.ranks}\n" for each in wanted), encoding="utf-8")
        file.write_text(json.dumps(machine), encoding="utf-8")
        try:
            document, _ = process.document(PROGRAM, "bound", "--rows", str(rows), "--machine", str(file),
                                           title="reckoning what the links allow")  # fmt: skip
            found = parse(Bounds, document, f"the document of {PROGRAM}").rows
        except Problem as problem:
            return dict.fromkeys(wanted, problem.what)
    return {each: row.why if row.bound_us is None else row.bound_us for each, row in zip(wanted, found, strict=False)}
