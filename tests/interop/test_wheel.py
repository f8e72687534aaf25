"""The wheel, as somebody uses it who has no compiler and no source tree: installed into an environment of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import c_programs
import drop_in
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def without_ours() -> dict[str, str]:
    """An environment in which nothing leads to the source tree."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("SENNIT_", "PYTHON", "LD_"))}


@dataclass(frozen=True)
class Installed:
    """The environment that the wheel is installed in, and the wheel."""

    folder: Path
    wheel: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def sennit(self, *arguments: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bin" / "sennit"), *arguments],
            env=without_ours() | {"SENNIT_CACHE": str(self.folder / "cache"), "COLUMNS": "200"} | dict(more or {}),
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The wheel, of the kernels that the release build has: the compiler cache has its objects then."""
    cache = ROOT / "build" / "release" / "CMakeCache.txt"
    if not drop_in.FOLDER or not cache.exists():
        pytest.skip("there is no release build here whose objects the wheel could take; make test makes it")
    told = dict(re.findall(r"^(SENNIT_CUDA|SENNIT_CUDA_ARCHITECTURES):\w+=(.*)$", cache.read_text(), re.MULTILINE))
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [str(ROOT / "scripts" / "wheel"), str(folder)],
        env=os.environ | {"CUDA": told["SENNIT_CUDA"].lower(), "ARCHITECTURES": told["SENNIT_CUDA_ARCHITECTURES"]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "environment", with_pip=True)
    made = Installed(folder / "environment", wheel)
    subprocess.run(
        [made.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)],
        env=without_ours(), capture_output=True, check=True,
    )  # fmt: skip
    yield made
    shutil.rmtree(folder)


def test_it_is_for_every_python_and_older_systems(installed: Installed) -> None:
    found = re.fullmatch(r"sennit-[\d.]+-py3-none-manylinux_2_(\d+)_x86_64\.whl", installed.wheel.name)
    assert found, installed.wheel.name
    assert int(found[1]) <= 35, "Ubuntu 22.04 has glibc 2.35"
    assert installed.wheel.stat().st_size < 30e6


def test_it_has_its_programs_and_machines_and_nothing_of_the_source_tree(installed: Installed) -> None:
    said = installed.sennit("version").stdout
    assert f"programs: {installed.folder}/lib" in said, said
    assert "GPU kernels: " in said, said
    assert "hgx-h200-4" in installed.sennit("topo", "--list").stdout
    doctor = installed.sennit("doctor", "--json")
    assert doctor.returncode in (0, 1), doctor.stderr  # 1: this machine has no GPU, say
    assert '"checks"' in doctor.stdout, doctor.stdout + doctor.stderr
    (package,) = installed.folder.glob("lib/python*/site-packages/sennit")
    files = [path for path in package.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert not [path for path in files if str(ROOT).encode() in path.read_bytes()]


def test_kernels_are_in_it_once(installed: Installed) -> None:
    (package,) = installed.folder.glob("lib/python*/site-packages/sennit")
    files = [path for folder in ("bin", "lib") for path in (package / folder).rglob("*") if path.is_file()]
    assert len(files) > 10
    has_cuda = "GPU kernels: compute capability" in installed.sennit("version").stdout
    with_kernels = [path.name for path in files if b".nv_fatbin" in path.read_bytes()]
    assert with_kernels == (["libsennit-cuda.so"] if has_cuda else [])


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_programs_run_under_it(installed: Installed, name: str) -> None:
    program = c_programs.compiled(name, "c_reductions.c")
    if isinstance(program, str):
        pytest.skip(program)
    settings = drop_in.environment(program.found, installed.folder, None)
    alone = {key: value for key, value in settings.items() if key not in os.environ or os.environ[key] != value}
    done = installed.sennit(
        "run", "--", *program.start(2), more=alone | {"SENNIT_EMULATE": "1", "SENNIT_REPORT": "1"}
    )
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout[-2000:] + done.stderr[-4000:]
    assert re.search(r"^allreduce .* one_shot_packets", done.stderr, re.MULTILINE), done.stderr[-4000:]


def test_its_c_library_and_its_face_in_python_are_found(installed: Installed, tmp_path: Path) -> None:
    """A C program is compiled by what pkg-config says of the installed package."""
    (site,) = installed.folder.glob("lib/python*/site-packages/sennit")
    source = tmp_path / "version.c"
    source.write_text("#include <sennit/sennit.h>\n#include <stdio.h>\nint main(void) { puts(sennit_version()); }\n")
    flags = [f"-I{site / 'include'}", f"-L{site / 'lib'}", "-lsennit", f"-Wl,-rpath,{site / 'lib'}"]
    subprocess.run(["cc", str(source), "-o", str(tmp_path / "version"), *flags], check=True)
    told = subprocess.run([str(tmp_path / "version")], check=True, capture_output=True, text=True, env=without_ours())
    asked = "from sennit.capi.library import library; import sennit; library(); print(sennit.__version__)"
    python = subprocess.run(
        [installed.python, "-c", asked], check=True, capture_output=True, text=True, env=without_ours()
    )
    assert told.stdout == python.stdout


def test_its_face_for_torch_says_what_is_missing(installed: Installed) -> None:
    done = subprocess.run(
        [installed.python, "-c", "import sennit.torch"],
        env=without_ours(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "pip install torch" in done.stderr.splitlines()[-1], done.stderr
