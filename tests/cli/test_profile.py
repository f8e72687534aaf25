"""`sennit profile` and `sennit report`: folders, refusals, and what is shown of a profile."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import jsonschema
import made_up_profiles as made_up
import pytest
from conftest import ROOT, Programs, check_snapshot, data, shown
from sennit.model.document import parse
from sennit.model.profile import Profile
from sennit.programs.problem import Problem
from sennit.verbs import profile as verb
from sennit.verbs.profile import is_of_launcher, make_folder, seconds_of
from sennit.views.profile.sections import parts
from sennit.views.profile_text import headline, print_profile


def profile(**changes: Any) -> Profile:
    return parse(Profile, data("profile") | changes, "it")


def test_a_profile_is_shown() -> None:
    check_snapshot("profile.txt", shown(lambda console: print_profile(profile(), console)))


def test_the_document_follows_its_schema() -> None:
    schema = json.loads((ROOT / "schemas" / "profile.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = data("profile")
    validator.validate(document)
    del document["rows"][0]["calls"]
    assert not validator.is_valid(document)


def test_the_first_sentence_says_where_the_time_went() -> None:
    found = profile()
    assert headline(found).endswith(
        "48 % into MPI_Allreduce of 4 MiB to 8 MiB in GPU memory; 33 % was waiting for the last rank."
    )
    found.rows[0].function += "_c"
    assert " into MPI_Allreduce of 4 MiB" in headline(found), "as programs and manuals name it"
    for row in found.rows:
        row.rank_seconds.mean /= 1000
    assert headline(found).endswith("there is little to gain.")
    found.rows[0].function = "ncclAllReduce"
    assert "what NCCL did on the GPUs meanwhile is not in it" in headline(found), (
        "nothing is claimed that is not known"
    )
    assert "called neither MPI nor NCCL" in headline(profile(rows=[]))


def test_what_is_missing_is_said() -> None:
    document = data("profile")
    document["ranks"][1]["ended"] = "killed"
    document["ranks"][2]["calls_lost"] = 7
    document |= {"missing": [3], "unreadable": [{"file": "node1-7.sennit-profile", "why": "the file is cut off"}]}
    said = shown(lambda console: print_profile(parse(Profile, document, "it"), console))
    assert "Ranks 3 wrote no file" in said
    assert "node1-7.sennit-profile is left out: the file is cut off." in said
    assert "Ranks 1 were killed" in said
    assert "Of 7 calls only the sums were kept" in said


def test_requests_polls_and_phases_are_shown() -> None:
    document = data("profile")
    for row in document["rows"]:
        if row["function"] in ("MPI_Isend", "MPI_Irecv"):
            row |= {"requests": row["calls"], "flight_seconds": 4e-4, "waited_seconds": 1e-4, "phase": "exchange"}
    spread = {"least": 0.0, "mean": 3.87, "most": 7.74}
    polls = {"calls": 500, "misses": 499, "seconds": 12, "missed_seconds": 11.6, "rank_missed_seconds": spread}
    document["polls"] = [{"function": "MPI_Iprobe", **polls}]
    said = shown(lambda console: print_profile(parse(Profile, document, "it"), console))
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "MPI_Isend 3 133 33.3 75 %" in lines, said
    assert "MPI_Iprobe 500 499 0 % 10 % 20 %" in lines, said
    assert "exchange <1 % 0.000 6" in lines, said


def test_registered_memory_is_shown() -> None:
    document = data("profile")
    document["ranks"][2]["registered_most_bytes"] = 3 << 20
    document["registered"] = [{"function": "ncclCommRegister", "processes": 4, "calls": 9, "bytes": 8 << 20,
                               "most_bytes": 3 << 20, "left_bytes": 0}]  # fmt: skip
    found = parse(Profile, document, "it")
    said = shown(lambda console: print_profile(found, console))
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "ncclCommRegister 4 9 8 MiB 3 MiB 0 B" in lines, said
    assert "Rank 2 had most at once: 3 MiB." in said
    (part,) = (part for part in parts(found) if part.title == "Memory registered")
    assert "ncclCommRegister" in part.pictures["registered"]


def test_times_on_gpus_come_first() -> None:
    document = data("profile")
    row = document["rows"][0] | {
        "function": "ncclAllReduce",
        "device_calls": 3000,
        "device_seconds": 30.0,
        "calls": 3000,
    }
    document["rows"][0] = row
    document["rows"][0]["bytes_in"] = document["rows"][0]["bytes_out"] = 3000 * 8_000_000
    said = shown(lambda console: print_profile(parse(Profile, document, "it"), console))
    assert "NCCL was at work on the GPUs for 26 % of run time, 26 % in ncclAllReduce of 4 MiB to 8 MiB" in said
    lines = [" ".join(each.split()) for each in said.splitlines()]
    assert "ncclAllReduce 4 MiB to 8 MiB 2 3000 10000 0.800 machine unknown 26 %" in lines, said


def test_a_folder_is_new_and_its_owners_alone(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "run", is_rank=False)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(Problem, match="is there already"):
        make_folder(folder, is_rank=False)
    assert make_folder(folder, is_rank=True) == folder, "ranks share it"
    with pytest.raises(Problem, match="need one folder"):
        make_folder(None, is_rank=True)
    with pytest.raises(Problem, match="cannot be made"):
        make_folder(tmp_path / "none" / "run", is_rank=False)


def test_a_full_disk_takes_the_document_and_not_the_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(file: Path, text: str, **_: Any) -> int:
        with file.open("w") as half:
            half.write(text[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(verb, "merged", lambda _: data("profile"))
    monkeypatch.setattr(verb, "machine_of", lambda *_: None)
    monkeypatch.setattr(Path, "write_text", full)
    verb.summarize(tmp_path)
    said = " ".join(capfd.readouterr().err.split())
    assert "of run time went into communication" in said
    assert f"sennit: no report: {tmp_path / 'profile.json'}: No space left on device" in said
    assert not [*tmp_path.iterdir()], "half a document is none"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"SLURM_LOCALID": "0"}, False),  # a batch script
        ({"SLURM_LOCALID": "0", "SLURM_STEP_ID": "3"}, True),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1"}, True),
        ({"MPI_LOCALRANKID": "1"}, True),
    ],
)
def test_ranks_of_launchers_are_told_apart(environment: dict[str, str], expected: bool) -> None:
    assert is_of_launcher(environment) == expected


def test_a_report_is_of_a_folder_or_its_document(programs: Programs) -> None:
    folder = programs.folder / "run"
    folder.mkdir()
    programs.add("sennit-profile", data("profile"))
    assert "By function" in programs.sennit("report", "run").stdout
    (folder / "profile.json").write_text(json.dumps(data("profile")))
    done = programs.sennit("report", "run/profile.json", "--json")
    assert json.loads(done.stdout) == data("profile")
    assert len(programs.calls("sennit-profile")) == 1
    missing = programs.sennit("report", "nowhere")
    assert missing.returncode == 2
    assert "nowhere does not exist" in missing.stderr


def test_nothing_starts_without_a_command(programs: Programs) -> None:
    done = programs.sennit("profile")
    assert done.returncode == 2
    assert "no command is given" in done.stderr
    done = programs.sennit("profile", "--", "true")
    assert done.returncode == 3
    assert "libsennit-recorder.so" in done.stderr
    assert not list(programs.folder.glob("sennit-profile-*")), "no folder is left behind"


def test_kernels_are_collected_for_whole_seconds() -> None:
    assert seconds_of("5s") == seconds_of("5") == 5
    for wrong in ("0s", "soon", "-1s", "1.5s", "s"):
        with pytest.raises(Problem, match="is no time"):
            seconds_of(wrong)


@pytest.mark.parametrize(
    ("calls", "captured", "replayed", "timed", "expected"),
    [(100, 0, 0, 0, 0.0), (100, 0, 0, 100, 2.0), (90, 0, 0, 100, 1.8), (3, 2, 10, 11, 2.0), (3, 2, 10, 22, 1.0),
     (3, 2, 0, 10, 2.0)],
)  # fmt: skip
def test_time_on_gpus_is_of_the_calls_that_were_done(
    calls: int, captured: int, replayed: int, timed: int, expected: float
) -> None:
    row = made_up.row("ncclAllReduce", 1, calls=calls, seconds=1, captured=captured, replayed=replayed)
    row |= {"device_calls": timed, "device_seconds": 2.0 if timed else 0.0}
    found = parse(Profile, made_up.profile([made_up.rank(0, "node", 10.0, 1.0)], [row]), "it")
    assert found.rows[0].gpu_seconds == pytest.approx(expected)
