"""`sennit doctor`."""

from __future__ import annotations

import typer

from sennit.model.doctor import Doctor
from sennit.model.document import parse
from sennit.programs import console, process
from sennit.programs.problem import Exit
from sennit.verbs.doctor_partitioned import partitioned_checks
from sennit.verbs.options import AsJson, OnExecutor, examples, executor_arguments, print_json
from sennit.views.doctor_text import print_doctor

EXAMPLES = examples("sennit doctor", "sennit doctor --json | jq '.checks[] | select(.state == \"missing\")'")


def doctor(executor: OnExecutor = None, as_json: AsJson = False) -> None:
    """Say what works on this machine, what does not, and the exact fix.

    Exit code 3 when something that is needed is missing."""
    document, _ = process.document("sennit-doctor", *executor_arguments(executor), title="looking at this machine")
    found = parse(Doctor, document, "the document of sennit-doctor")
    more = partitioned_checks()
    found.checks += more
    if as_json:
        print_json(document | {"checks": [*document["checks"], *(check.model_dump() for check in more)]})
    else:
        print_doctor(found, console.results())
    if found.missing:
        raise typer.Exit(Exit.ENVIRONMENT)
